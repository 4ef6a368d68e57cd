// The float32 row loops of softmax and its kin, one version per instruction set. Names as in softmax.h.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"

namespace isobit::kernels {

// exp of an element and the few float64 operations around it, in units of a plain element operation.
inline constexpr int64_t kExpWork = 8;

}  // namespace isobit::kernels

namespace isobit::kernels::softmaxes {

struct Table {
  float (*max)(int64_t n, const float* x);
  // e[i] = exp(x[i] - m), and *s = Sum(e); false when only an exact addition of e can tell s. e may be x.
  bool (*exp_sum)(int64_t n, const float* x, float m, float* e, float* s);
  // The same without keeping e.
  bool (*exp_sum_only)(int64_t n, const float* x, float m, float* s);
  bool (*sum)(int64_t n, const float* x, float* s);
  bool (*product_sum)(int64_t n, const float* y, const float* dy, float* s);
  // e / s, in place
  void (*divide)(int64_t n, float s, float* e);
  // y * (dy - s)
  void (*grad)(int64_t n, const float* y, const float* dy, float s, float* diff_src);
  // (x - m) - l
  void (*log_row)(int64_t n, const float* x, float m, float l, float* dst);
  // dy - exp(y) * s
  void (*log_grad)(int64_t n, const float* y, const float* dy, float s, float* diff_src);
  // exp((x - m) - l) * g
  void (*cross_entropy_grad)(int64_t n, const float* x, float m, float l, float g, float* diff);
};

// One for every instruction set.
template <Isa kIsa>
const Table& table();

// REQUIRES isa is available and not kReference.
const Table& table_of(Isa isa);

}  // namespace isobit::kernels::softmaxes
