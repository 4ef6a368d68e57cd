// How the memory-bound kernels split their work.
#pragma once

#include <algorithm>
#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// Items of `work` element operations each that make a part worth a thread.
inline int64_t grain_for(int64_t work) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work)); }

// f(begin, end) over disjoint ranges of [0, n), items of `work` element operations each.
template <class F>
void parallel_items(const KernelContext& ctx, int64_t n, int64_t work, F&& f) {
  ctx.pool->parallel_for(n, grain_for(work), f);
}

}  // namespace isobit::kernels
