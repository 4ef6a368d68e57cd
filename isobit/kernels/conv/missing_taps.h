// Taps of the gradient of src that fall on no output (conv.h).
#pragma once

#include <algorithm>

#include "isobit/kernels/conv/conv.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {

// Whether leaving such taps out changes no bit: every weight is finite. The product of +0 and any other is NaN.
template <class T>
bool may_skip_missing_taps(const ConvShape& s, const T* weights) {
  const int64_t count = s.oc * (s.ic / s.groups) * s.kh * s.kw;
  return std::all_of(weights, weights + count, [](T weight) { return numerics::is_finite(weight); });
}

}  // namespace isobit::kernels
