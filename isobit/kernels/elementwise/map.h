// Plain loops over a formula of one element of each operand, for every operator that has no loop of its own for each
// instruction set. Compiled for the baseline machine.
//
// A formula is a function object: numbers.h, power.h, functions.h and activation/formulas.h have them. What it returns
// becomes an element by static_cast. Truths are uint8_t: a byte of an operand that is not 0 is true; a formula writes 0
// or 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "isobit/kernels/context.h"
#include "isobit/kernels/elements.h"
#include "isobit/kernels/elementwise/broadcast.h"

namespace isobit::kernels {

// Some formulas cost as much as fifty memory accesses: parts of this many elements are worth a thread.
inline constexpr int64_t kFormulaGrain = 4096;

namespace elementwise {

// Pointers are parameters, not captures: a byte that is written could otherwise be part of one.
template <class F, class S, class D>
void formula_range(const F& f, int64_t n, const S* src, D* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<D>(f(src[i]));
}

// dst[i] = f(a[i * step[0]], b[i * step[1]], ...)
template <class F, class D, size_t... K, class... S>
void formula_row(const F& f, int64_t n, D* dst, std::array<int64_t, sizeof...(K)> step, std::index_sequence<K...>,
                 const S*... src) {
  if (((step[K] == 1) && ...)) {
    for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<D>(f(src[i]...));
  } else {
    for (int64_t i = 0; i < n; ++i) dst[i] = static_cast<D>(f(src[i * step[K]]...));
  }
}

template <class F, class D, size_t... K, class... S>
void zip_operands(const KernelContext& ctx, const F& f, const BroadcastPlan& plan, D* dst,
                  std::index_sequence<K...> operands, const S*... src) {
  constexpr size_t kOperands = sizeof...(K);
  const std::array<int64_t, kOperands> step{plan.row_step(K)...};
  for_elements(ctx, plan.elements, kFormulaGrain, [&](int64_t begin, int64_t end) {
    for_each_row<kOperands>(plan, begin, end, [&](int64_t first, int64_t n, const std::array<int64_t, kOperands>& at) {
      formula_row(f, n, dst + first, step, operands, (src + at[K])...);
    });
  });
}

}  // namespace elementwise

// dst[i] = f(src[i]) for i < n. dst may be src.
template <class F, class S, class D>
void map(const KernelContext& ctx, const F& f, int64_t n, const S* src, D* dst) {
  for_elements(ctx, n, kFormulaGrain, [&](int64_t begin, int64_t end) {
    elementwise::formula_range(f, end - begin, src + begin, dst + begin);
  });
}

// dst[e] = f(a[e'], b[e''], ...), the row-major output of plan.elements elements. REQUIRES as many operands as the plan
// has. dst may be an operand that is not repeated; no other overlap.
template <class F, class D, class... S>
void zip(const KernelContext& ctx, const F& f, const BroadcastPlan& plan, D* dst, const S*... src) {
  elementwise::zip_operands(ctx, f, plan, dst, std::index_sequence_for<S...>{}, src...);
}

}  // namespace isobit::kernels
