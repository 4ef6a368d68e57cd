// What becomes of the outputs of a product while they are at hand.
//
// Determinism class `ordered-1`: the bits are those of the product, of an addition (elementwise/binary.h) and of relu
// (activation.h), one after the other over all outputs.
#pragma once

#include "isobit/numerics/bits.h"

namespace isobit::kernels {

template <class T>
struct Ending {
  const T* addend = nullptr;  // added; it lies as the outputs do and overlaps none of them. Null: nothing is added
  bool relu = false;

  // Of output x, canonical, at `at` of them all.
  T of(T x, int64_t at) const {
    if (addend != nullptr) x = numerics::canonical(x + addend[at]);
    return relu && x <= 0 ? T(0) : x;
  }
};

}  // namespace isobit::kernels
