// What the scalar references of reduce, norm, softmax, pool and embedding share: Sum, Max and the elementary functions,
// one spelling for both element types. Baseline translation units only.
#pragma once

#include <vector>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_sum.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels::reference {

using numerics::canonical;

inline float exp_of(float x) { return numerics::cr_exp(x); }
inline double exp_of(double x) { return numerics::f64_exp(x); }
inline float log_of(float x) { return numerics::cr_log(x); }
inline double log_of(double x) { return numerics::f64_log(x); }
inline float sqrt_of(float x) { return numerics::cr_sqrt(x); }
inline double sqrt_of(double x) { return numerics::f64_sqrt(x); }
inline float rsqrt_of(float x) { return numerics::cr_rsqrt(x); }
inline double rsqrt_of(double x) { return numerics::f64_rsqrt(x); }

// Sum of reduce/reduce.h.
inline float sum_of(const std::vector<float>& terms) {
  const numerics::StridedSegment segment{terms.data(), static_cast<int64_t>(terms.size()), 1};
  return numerics::sum_exactly(&segment, 1);
}
inline double sum_of(const std::vector<double>& terms) {
  return numerics::sum_ordered_f64(terms.data(), static_cast<int64_t>(terms.size()));
}

// Whether a comes after b in the order of Max: -inf < ... < -0 < +0 < ... < +inf < NaN.
template <class T>
bool greater(T a, T b) {
  if (a != a || b != b) return a != a && b == b;
  return numerics::ordinal(a) > numerics::ordinal(b);
}

}  // namespace isobit::kernels::reference
