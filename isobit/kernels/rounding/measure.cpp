#include "isobit/kernels/rounding/measure.h"

#include <algorithm>
#include <mutex>

namespace isobit::kernels::rounding {

Extent measure(const KernelContext& ctx, std::span<const double> values) {
  const Table& loops = table_of(ctx.isa);
  Extent extent;
  std::mutex merging;
  ctx.pool->parallel_for(static_cast<int64_t>(values.size()), 1 << 15, [&](int64_t begin, int64_t end) {
    Extent own;
    loops.measure(end - begin, values.data() + begin, &own);
    const std::lock_guard<std::mutex> lock(merging);
    extent.peak = std::max(extent.peak, own.peak);
    extent.squares += own.squares;
  });
  return extent;
}

}  // namespace isobit::kernels::rounding
