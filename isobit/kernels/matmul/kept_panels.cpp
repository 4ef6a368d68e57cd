#include "isobit/kernels/matmul/kept_panels.h"

namespace isobit::kernels {

KeptPanels::Room KeptPanels::open(const Layout& layout, size_t bytes) {
  if (!was_called_ || !(layout == layout_)) {
    layout_ = layout;
    was_called_ = true;
    is_filled_ = may_not_ = false;
    memory_.give_back();
    return {};
  }
  if (may_not_ || bytes == 0) return {};
  if (is_filled_) {
    void* const memory = memory_.use();
    may_not_ = memory == nullptr;
    return {memory, true};
  }
  memory_.give_back();  // of a call that ended with an error
  void* const memory = memory_.take(bytes);
  may_not_ = memory == nullptr;
  return {memory, false};
}

void KeptPanels::close(bool filled) {
  is_filled_ = filled;
  memory_.leave();
}

}  // namespace isobit::kernels
