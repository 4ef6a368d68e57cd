#include "isobit/kernels/matmul/kept_panels.h"

#include <new>

#include "isobit/base/scratch.h"

namespace isobit::kernels {

void KeptPanels::forget() {
  if (memory_ != nullptr) scratch::give_back(memory_, bytes_);
  memory_ = nullptr;
  is_filled_ = no_memory_ = false;
}

KeptPanels::Room KeptPanels::open(const Layout& layout, size_t bytes) {
  if (!was_called_ || !(layout == layout_)) {
    forget();
    layout_ = layout;
    was_called_ = true;
    return {};
  }
  if (is_filled_) return {memory_, true};
  if (no_memory_ || bytes == 0) return {};
  if (memory_ == nullptr) {
    try {
      memory_ = scratch::take(bytes);
      bytes_ = bytes;
    } catch (const std::bad_alloc&) {
      no_memory_ = true;
      return {};
    }
  }
  return {memory_, false};
}

}  // namespace isobit::kernels
