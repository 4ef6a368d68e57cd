// Compiled once for every instruction set.
#include "isobit/kernels/reduce/lanes.h"
#include "isobit/kernels/softmax/table.h"
#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/inline.h"

namespace isobit::kernels::softmaxes {
namespace {

using numerics::impl::cr_exp;

// A block is written and then added while it is in the first-level cache.
constexpr int64_t kBlock = 1024;

struct ProductTerms {
  const float *x, *y;
  ISOBIT_INLINE_MEMBER void vec(int64_t i, Floats* t) const { t[0] = load(x + i) * load(y + i); }
  ISOBIT_INLINE_MEMBER void one(int64_t i, float* t) const { t[0] = x[i] * y[i]; }
};

float max(int64_t n, const float* x) { return from_order_key(max_key(x, n)); }

ISOBIT_INLINE void exp_block(int64_t n, const float* x, float m, float* e) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) e[i] = cr_exp(x[i] - m);
}

bool exp_sum(int64_t n, const float* x, float m, float* e, float* s) {
  Totals<1> totals;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t here = n - i < kBlock ? n - i : kBlock;
    exp_block(here, x + i, m, e + i);
    add_terms(totals, here, PlainTerms{e + i});
  }
  return decide(bounded(totals, 0), s);
}

bool exp_sum_only(int64_t n, const float* x, float m, float* s) {
  float e[kBlock];
  Totals<1> totals;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t here = n - i < kBlock ? n - i : kBlock;
    exp_block(here, x + i, m, e);
    add_terms(totals, here, PlainTerms{e});
  }
  return decide(bounded(totals, 0), s);
}

bool sum(int64_t n, const float* x, float* s) {
  Totals<1> totals;
  add_terms(totals, n, PlainTerms{x});
  return decide(bounded(totals, 0), s);
}

bool product_sum(int64_t n, const float* y, const float* dy, float* s) {
  Totals<1> totals;
  add_terms(totals, n, ProductTerms{y, dy});
  return decide(bounded(totals, 0), s);
}

void divide(int64_t n, float s, float* e) {
  for (int64_t i = 0; i < n; ++i) e[i] = canonical_f32(e[i] / s);
}

void grad(int64_t n, const float* y, const float* dy, float s, float* diff_src) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const float d = dy[i] - s;
    diff_src[i] = canonical_f32(y[i] * d);
  }
}

void log_row(int64_t n, const float* x, float m, float l, float* dst) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const float t = x[i] - m;
    dst[i] = canonical_f32(t - l);
  }
}

void log_grad(int64_t n, const float* y, const float* dy, float s, float* diff_src) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const float q = cr_exp(y[i]) * s;
    diff_src[i] = canonical_f32(dy[i] - q);
  }
}

void cross_entropy_grad(int64_t n, const float* x, float m, float l, float g, float* diff) {
  ISOBIT_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    const float t = x[i] - m;
    const float v = t - l;
    diff[i] = canonical_f32(cr_exp(v) * g);
  }
}

constexpr Table kTable = {max,    exp_sum, exp_sum_only, sum,      product_sum,
                          divide, grad,    log_row,      log_grad, cross_entropy_grad};

}  // namespace

ISOBIT_DEFINE_ONE_TABLE(ISOBIT_ISA)

}  // namespace isobit::kernels::softmaxes
