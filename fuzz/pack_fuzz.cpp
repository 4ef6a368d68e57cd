// A packed run: what is listed of it is, byte for byte but for the contents, what pack writes.
#include <algorithm>

#include "isobit/bundle/pack.h"
#include "isobit/bundle/tar.h"

using namespace isobit;

namespace {

class Memory : public bundle::ByteSource {
 public:
  explicit Memory(ByteView data) : data_(data) {}
  uint64_t size() const override { return data_.size(); }
  Expected<size_t> read_at(uint64_t offset, std::span<uint8_t> buffer) const override {
    if (offset >= data_.size()) return size_t{0};
    const size_t n = std::min(buffer.size(), data_.size() - static_cast<size_t>(offset));
    std::copy_n(data_.begin() + static_cast<ptrdiff_t>(offset), n, buffer.begin());
    return n;
  }

 private:
  ByteView data_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  (void)bundle::decode_tar_header(input.first(std::min(size, bundle::kTarBlock)), "input");
  const auto entries = bundle::list_pack(Memory(input), "input");
  if (!entries) return 0;
  Bytes again;
  const auto append = [&](ByteView bytes) { again.insert(again.end(), bytes.begin(), bytes.end()); };
  for (const bundle::PackEntry& entry : *entries) {
    append(bundle::tar_header(entry.name, entry.size));
    append(input.subspan(static_cast<size_t>(entry.offset), static_cast<size_t>(entry.size)));
    append(Bytes(bundle::tar_padding(entry.size)));
  }
  append(Bytes(2 * bundle::kTarBlock));
  ISOBIT_CHECK(std::ranges::equal(again, input));
  return 0;
}
