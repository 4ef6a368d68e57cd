#include "isobit/kernels/softmax/log_sum_exp.h"

#include <limits>

#include "isobit/base/scratch.h"
#include "isobit/kernels/reduce/cells.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/kernels/softmax/reference.h"
#include "isobit/kernels/softmax/table.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/functions.h"

namespace isobit::kernels {
namespace {

// f(elements, how many, number of the result) for every result.
template <class T, class F>
void for_each_result(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const T* src, F f) {
  const reduce::Cells cells(dims, axes);
  parallel_items(ctx, cells.results(), cells.terms() * kExpWork, [&](int64_t begin, int64_t end) {
    ScratchVector<T> row(static_cast<size_t>(cells.dense() ? 0 : cells.terms()));
    for (int64_t r = begin; r < end; ++r) {
      if (!row.empty()) cells.gather(r, src, row.data());
      f(row.empty() ? src + cells.place(r) : row.data(), cells.terms(), r);
    }
  });
}

float of_row(const softmaxes::Table& isa, const float* x, int64_t n, float* m, float* s) {
  *m = n == 0 ? -std::numeric_limits<float>::infinity() : isa.max(n, x);
  const float a = numerics::is_finite(*m) ? *m : 0.0f;
  *s = 0;
  if (n > 0 && !isa.exp_sum_only(n, x, a, s)) {
    ScratchVector<float> e(static_cast<size_t>(n));
    isa.exp_sum(n, x, a, e.data(), s);
    *s = sum_settled(e.data(), n);
  }
  return numerics::canonical(numerics::cr_log(*s) + a);
}

}  // namespace

void log_sum_exp(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const float* src, float* dst,
                 float* max, float* sum) {
  const softmaxes::Table* isa = ctx.isa == Isa::kReference ? nullptr : &softmaxes::table_of(ctx.isa);
  for_each_result(ctx, dims, axes, src, [&](const float* x, int64_t n, int64_t r) {
    float m, s;
    dst[r] = isa == nullptr ? reference::log_sum_exp(n, x, &m, &s) : of_row(*isa, x, n, &m, &s);
    if (max) max[r] = m;
    if (sum) sum[r] = s;
  });
}

void log_sum_exp(const KernelContext& ctx, std::span<const int64_t> dims, uint64_t axes, const double* src, double* dst,
                 double* max, double* sum) {
  for_each_result(ctx, dims, axes, src, [&](const double* x, int64_t n, int64_t r) {
    double m, s;
    dst[r] = reference::log_sum_exp(n, x, &m, &s);
    if (max) max[r] = m;
    if (sum) sum[r] = s;
  });
}

}  // namespace isobit::kernels
