#include "isobit/kernels/elementwise/binary.h"

#include <array>

#include "isobit/kernels/elements.h"
#include "isobit/kernels/elementwise/table.h"

namespace isobit::kernels {
namespace {

using elementwise::Row;
using elementwise::Table;

constexpr int64_t kBinaryGrain = 16384;

}  // namespace

template <class T>
void binary(const KernelContext& ctx, BinaryOp op, const BroadcastPlan& plan, const T* a, const T* b, T* dst) {
  const Table<T>& t = elementwise::table_of<T>(ctx.isa);
  // Both steps are 0 only when the row is one element, and then either reading serves.
  const Row row = plan.row_step(0) == 0 ? Row::kScalarA : plan.row_step(1) == 0 ? Row::kScalarB : Row::kBoth;
  for_elements(ctx, plan.elements, kBinaryGrain, [&](int64_t begin, int64_t end) {
    for_each_row<2>(plan, begin, end, [&](int64_t first, int64_t count, const std::array<int64_t, 2>& at) {
      t.binary_row(op, row, count, a + at[0], b + at[1], dst + first);
    });
  });
}

template <class T>
void binary(const KernelContext& ctx, BinaryOp op, int64_t n, const T* a, const T* b, T* dst) {
  const Table<T>& t = elementwise::table_of<T>(ctx.isa);
  for_elements(ctx, n, kBinaryGrain, [&](int64_t begin, int64_t end) {
    t.binary_row(op, Row::kBoth, end - begin, a + begin, b + begin, dst + begin);
  });
}

#define ISOBIT_INSTANTIATE(T)                                                                            \
  template void binary<T>(const KernelContext&, BinaryOp, const BroadcastPlan&, const T*, const T*, T*); \
  template void binary<T>(const KernelContext&, BinaryOp, int64_t, const T*, const T*, T*);
ISOBIT_FOR_NUMBERS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
