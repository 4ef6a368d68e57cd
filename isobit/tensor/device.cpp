#include "isobit/tensor/device.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace isobit {
namespace {

class Host final : public Device {
 public:
  std::string name() const override { return "host"; }
  std::shared_ptr<uint8_t[]> allocate(size_t bytes) override {
    if (bytes > SIZE_MAX - 63) throw std::bad_alloc();
    auto* memory = static_cast<uint8_t*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    if (memory == nullptr) throw std::bad_alloc();
    return std::shared_ptr<uint8_t[]>(memory, [](uint8_t* p) { std::free(p); });
  }
  void copy_in(uint8_t* to, ByteView from) override {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  }
  void copy_out(std::span<uint8_t> to, const uint8_t* from) const override {
    if (!to.empty()) std::memcpy(to.data(), from, to.size());
  }
};

}  // namespace

Device& host() {
  static Host the_host;
  return the_host;
}

}  // namespace isobit
