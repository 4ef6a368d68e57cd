#include "isobit/kernels/elementwise/binary.h"

#include <algorithm>

#include "isobit/base/scratch.h"
#include "isobit/base/status.h"
#include "isobit/kernels/elementwise/table.h"

namespace isobit::kernels {
namespace {

using elementwise::Row;
using elementwise::Table;

constexpr int64_t kGrain = 16384;

// Dimension `axis` of the output's axes, 1 where the operand has none.
int64_t dim_of(const Shape& s, int axis, int rank) {
  const int own = axis - (rank - s.rank());
  return own < 0 ? 1 : s[own];
}

// Follows both operands from row to row of the output.
class RowWalk {
 public:
  RowWalk(const BroadcastPlan& plan, int64_t row) : plan_(plan), index_(plan.dims.size() - 1) {
    for (size_t k = index_.size(); k-- > 0;) {
      index_[k] = row % plan.dims[k];
      row /= plan.dims[k];
      a += index_[k] * plan.a_steps[k];
      b += index_[k] * plan.b_steps[k];
    }
  }
  void next() {
    for (size_t k = index_.size(); k-- > 0;) {
      a += plan_.a_steps[k];
      b += plan_.b_steps[k];
      if (++index_[k] < plan_.dims[k]) return;
      a -= plan_.dims[k] * plan_.a_steps[k];
      b -= plan_.dims[k] * plan_.b_steps[k];
      index_[k] = 0;
    }
  }
  int64_t a = 0, b = 0;

 private:
  const BroadcastPlan& plan_;
  ScratchVector<int64_t> index_;
};

}  // namespace

std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t da = dim_of(a, axis, rank), db = dim_of(b, axis, rank);
    if (da != db && da != 1 && db != 1) return std::nullopt;
    dims.push_back(da == 1 ? db : da);
  }
  return Shape(std::move(dims));
}

BroadcastPlan plan_broadcast(const Shape& a, const Shape& b) {
  const std::optional<Shape> out = broadcast_shape(a, b);
  ISOBIT_CHECK(out.has_value());
  BroadcastPlan plan;
  plan.elements = out->elements();
  // From the innermost axis outwards, so that an axis merges with its inner neighbour when both operands agree.
  int64_t a_step = 1, b_step = 1;
  for (int axis = out->rank() - 1; axis >= 0; --axis) {
    const int64_t dim = (*out)[axis];
    const int64_t da = dim_of(a, axis, out->rank()), db = dim_of(b, axis, out->rank());
    const int64_t sa = da == 1 ? 0 : a_step, sb = db == 1 ? 0 : b_step;
    a_step *= da;
    b_step *= db;
    if (dim == 1) continue;
    if (!plan.dims.empty() && sa == plan.a_steps.back() * plan.dims.back() &&
        sb == plan.b_steps.back() * plan.dims.back()) {
      plan.dims.back() *= dim;
    } else {
      plan.dims.push_back(dim);
      plan.a_steps.push_back(sa);
      plan.b_steps.push_back(sb);
    }
  }
  if (plan.dims.empty()) {
    plan.dims = {1};
    plan.a_steps = plan.b_steps = {1};
  }
  std::reverse(plan.dims.begin(), plan.dims.end());
  std::reverse(plan.a_steps.begin(), plan.a_steps.end());
  std::reverse(plan.b_steps.begin(), plan.b_steps.end());
  return plan;
}

template <class T>
void binary(const KernelContext& ctx, BinaryOp op, const BroadcastPlan& plan, const T* a, const T* b, T* dst) {
  const Table<T>& t = elementwise::table_of<T>(ctx.isa);
  // Within a row a step is 0 or 1; both 0 only when the row is one element, and then either reading serves.
  const int64_t n = plan.dims.back(), a_step = plan.a_steps.back(), b_step = plan.b_steps.back();
  const Row row = a_step == 0 ? Row::kScalarA : b_step == 0 ? Row::kScalarB : Row::kBoth;
  ctx.pool->parallel_for(plan.elements, kGrain, [&](int64_t begin, int64_t end) {
    RowWalk at(plan, begin / n);
    int64_t skip = begin % n;
    while (begin < end) {
      const int64_t count = std::min(n - skip, end - begin);
      t.binary_row(op, row, count, a + at.a + skip * a_step, b + at.b + skip * b_step, dst + begin);
      begin += count;
      skip = 0;
      at.next();
    }
  });
}

template <class T>
void binary(const KernelContext& ctx, BinaryOp op, int64_t n, const T* a, const T* b, T* dst) {
  const Table<T>& t = elementwise::table_of<T>(ctx.isa);
  ctx.pool->parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
    t.binary_row(op, Row::kBoth, end - begin, a + begin, b + begin, dst + begin);
  });
}

#define ISOBIT_INSTANTIATE(T)                                                                            \
  template void binary<T>(const KernelContext&, BinaryOp, const BroadcastPlan&, const T*, const T*, T*); \
  template void binary<T>(const KernelContext&, BinaryOp, int64_t, const T*, const T*, T*);
ISOBIT_FOR_NUMBERS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
