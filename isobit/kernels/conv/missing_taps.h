// Taps of the gradient of src that fall on no output (conv.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "isobit/numerics/bits.h"

namespace isobit::kernels {

// Whether leaving such taps out changes no bit: all `count` weights are finite. The product of +0 and any other is NaN.
template <class T>
bool may_skip_missing_taps(const T* weights, int64_t count) {
  return std::all_of(weights, weights + count, [](T weight) { return numerics::is_finite(weight); });
}

}  // namespace isobit::kernels
