// Kernels that compute one element of their outputs after another, and who looks at these while they lie in cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "isobit/kernels/context.h"
#include "isobit/kernels/reduce/parallel.h"

namespace isobit::kernels {

// Changes elements of outputs once they are there, in place: the rounding of logged arithmetic.
class Finisher {
 public:
  // By default eight tensors' elements that are finished together lie in the second-level cache of any machine.
  explicit Finisher(int64_t elements_together = 2048) : together(elements_together) {}
  virtual ~Finisher() = default;
  // Elements [begin, end) of every output that has n are as the kernel leaves them. Ranges of one n are disjoint and
  // cover [0, n). On any thread of the pool, several at a time.
  virtual void finish(int64_t n, int64_t begin, int64_t end) = 0;

  const int64_t together;  // >= 1: how many elements at a time, about
};

// f(begin, end) computes elements [begin, end) of every output that has n, and reads none of another range that it
// writes over. Calls it as ThreadPool::parallel_for does, and the context's finisher behind it. A kernel whose table
// entry says that it finishes (runtime/kernel_call.h) calls this once.
template <class F>
void for_elements(const KernelContext& ctx, int64_t n, int64_t grain, F&& f) {
  if (ctx.finisher == nullptr) return ctx.pool->parallel_for(n, grain, f);
  ctx.pool->parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b += ctx.finisher->together) {
      const int64_t e = std::min(end, b + ctx.finisher->together);
      f(b, e);
      ctx.finisher->finish(n, b, e);
    }
  });
}

// The same for rows of `length` elements and `work` operations each: f(begin, end) computes rows [begin, end) of every
// output that has n * length elements.
template <class F>
void for_rows(const KernelContext& ctx, int64_t n, int64_t length, int64_t work, F&& f) {
  if (ctx.finisher == nullptr) return parallel_items(ctx, n, work, f);
  const int64_t together = std::max<int64_t>(1, ctx.finisher->together / std::max<int64_t>(1, length));
  parallel_items(ctx, n, work, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b += together) {
      const int64_t e = std::min(end, b + together);
      f(b, e);
      ctx.finisher->finish(n * length, b * length, e * length);
    }
  });
}

}  // namespace isobit::kernels
