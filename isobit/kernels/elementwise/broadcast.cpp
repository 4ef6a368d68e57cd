#include "isobit/kernels/elementwise/broadcast.h"

#include "isobit/base/status.h"

namespace isobit::kernels {
namespace {

// Dimension `axis` of the output's axes, 1 where the operand has none.
int64_t dim_of(const Shape& s, int axis, int rank) {
  const int own = axis - (rank - s.rank());
  return own < 0 ? 1 : s[own];
}

// Whether an axis with these steps continues an inner one of `dim` places with those steps.
bool continues(const std::vector<int64_t>& steps, int64_t dim, const std::vector<int64_t>& inner) {
  for (size_t k = 0; k < steps.size(); ++k) {
    if (steps[k] != inner[k] * dim) return false;
  }
  return true;
}

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

BroadcastPlan plan_broadcast_to(const Shape& dst, std::span<const Shape> operands) {
  BroadcastPlan plan;
  plan.operands = operands.size();
  plan.elements = dst.elements();
  std::vector<int64_t> dense(operands.size(), 1), steps(operands.size(), 1);
  std::vector<std::vector<int64_t>> steps_of;
  // From the innermost axis outwards, so that an axis merges with its inner neighbour when all operands agree.
  for (int axis = dst.rank() - 1; axis >= 0; --axis) {
    const int64_t dim = dst[axis];
    for (size_t k = 0; k < operands.size(); ++k) {
      const int64_t own = dim_of(operands[k], axis, dst.rank());
      ISOBIT_CHECK(own == dim || own == 1);
      steps[k] = own == 1 ? 0 : dense[k];
      dense[k] *= own;
    }
    if (dim == 1) continue;
    if (!steps_of.empty() && continues(steps, plan.dims.back(), steps_of.back())) {
      plan.dims.back() *= dim;
    } else {
      plan.dims.push_back(dim);
      steps_of.push_back(steps);
    }
  }
  if (plan.dims.empty()) {
    plan.dims.push_back(1);
    steps_of.emplace_back(operands.size(), 1);
  }
  std::reverse(plan.dims.begin(), plan.dims.end());
  for (auto s = steps_of.rbegin(); s != steps_of.rend(); ++s) plan.steps.insert(plan.steps.end(), s->begin(), s->end());
  return plan;
}

BroadcastPlan plan_broadcast(const Shape& a, const Shape& b) {
  const std::optional<Shape> dst = broadcast_shape(a, b);
  ISOBIT_CHECK(dst.has_value());
  const Shape operands[] = {a, b};
  return plan_broadcast_to(*dst, operands);
}

}  // namespace isobit::kernels
