// What a product lays out of an operand that is the same in every call, kept so that later calls only read it: the
// weights of a network that is run again and again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isobit/base/spare_memory.h"

namespace isobit::kernels {

// Of one operand of one product, for calls one after another. Nothing is kept of a first call: that may be the only
// one. The second one that lays out in the same way keeps it, the following ones find it, and one that lays out
// otherwise (of data elsewhere, on other threads) begins anew. What lies where it lay is taken for the same: only its
// address is compared. It takes as much memory as the operand, lines rounded up to whole vectors on the right side,
// which is spare (base/spare_memory.h): where there is none to be had, or where it was needed elsewhere, nothing is
// kept any more, and products are as without.
class KeptPanels {
 public:
  // All that decides where an element is laid out.
  struct Layout {
    const void *kernels = nullptr, *data = nullptr;
    int64_t lines = 0, terms = 0, batches = 0;
    int64_t period = 0, chunk = 0;
    int64_t line_stride = 0, term_stride = 0, batch_stride = 0;
    int64_t unit = 0;                 // lines of the largest panel
    int64_t parts = 0, cut_unit = 0;  // how the lines are cut for threads
    bool right = false;

    friend bool operator==(const Layout&, const Layout&) = default;
  };
  struct Room {
    void* memory = nullptr;  // aligned to 64, until close(); null: nothing is kept of this call
    bool filled = false;     // else the call has to lay out everything
  };

  // bytes: what the layout takes, always the same for the same layout. REQUIRES that the last room is closed.
  Room open(const Layout& layout, size_t bytes);
  // filled: whether everything is laid out. For a room with memory, in the end of the call.
  void close(bool filled);
  size_t bytes() const { return memory_.bytes(); }

 private:
  Layout layout_;
  scratch::Spare memory_;
  bool was_called_ = false, is_filled_ = false, may_not_ = false;
};

}  // namespace isobit::kernels
