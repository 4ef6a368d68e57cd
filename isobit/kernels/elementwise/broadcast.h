// NumPy (ONNX) broadcasting: which element of each operand belongs to an element of the output.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/tensor/tensor.h"

namespace isobit::kernels {

// "[2,1,3] with [4,1]" -> [2,4,3]; nothing when two dimensions differ and neither is 1.
std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b);

// How the output runs over its operands: output dimensions from outer to inner, neighbours merged where every operand
// allows it, with the step of each operand in elements (0 where it is repeated). Depends on the shapes only, so it may
// be made once and kept.
struct BroadcastPlan {
  std::vector<int64_t> dims;   // one at least: {1} where nothing is left
  std::vector<int64_t> steps;  // those of all operands along the first of dims, then along the next
  size_t operands = 0;
  int64_t elements = 0;

  int64_t step(size_t dim, size_t operand) const { return steps[dim * operands + operand]; }
  // Within a row, which is the last of dims: 0 or 1.
  int64_t row_step(size_t operand) const { return step(dims.size() - 1, operand); }
};

// REQUIRES broadcast_shape(a, b).
BroadcastPlan plan_broadcast(const Shape& a, const Shape& b);
// Of any number of operands. REQUIRES that each of them, broadcast with dst, gives dst.
BroadcastPlan plan_broadcast_to(const Shape& dst, std::span<const Shape> operands);

// Follows N operands from row to row of the output. REQUIRES plan.operands == N.
template <size_t N>
class RowWalk {
 public:
  RowWalk(const BroadcastPlan& plan, int64_t row) : plan_(plan), index_(plan.dims.size() - 1) {
    for (size_t d = index_.size(); d-- > 0;) {
      index_[d] = row % plan.dims[d];
      row /= plan.dims[d];
      for (size_t k = 0; k < N; ++k) at[k] += index_[d] * plan.step(d, k);
    }
  }
  void next() {
    for (size_t d = index_.size(); d-- > 0;) {
      for (size_t k = 0; k < N; ++k) at[k] += plan_.step(d, k);
      if (++index_[d] < plan_.dims[d]) return;
      for (size_t k = 0; k < N; ++k) at[k] -= plan_.dims[d] * plan_.step(d, k);
      index_[d] = 0;
    }
  }
  std::array<int64_t, N> at{};  // the element of each operand that belongs to the row's first one

 private:
  const BroadcastPlan& plan_;
  ScratchVector<int64_t> index_;
};

// Calls f(first, count, at) for every piece of a row of the output that lies in [begin, end): elements first .. first +
// count, where at[k] is the element of operand k that belongs to `first`; those that follow are row_step(k) apart.
template <size_t N, class F>
void for_each_row(const BroadcastPlan& plan, int64_t begin, int64_t end, F&& f) {
  const int64_t n = plan.dims.back();
  RowWalk<N> walk(plan, begin / n);
  int64_t skip = begin % n;
  while (begin < end) {
    const int64_t count = std::min(n - skip, end - begin);
    std::array<int64_t, N> at = walk.at;
    for (size_t k = 0; k < N; ++k) at[k] += skip * plan.row_step(k);
    f(begin, count, at);
    begin += count;
    skip = 0;
    walk.next();
  }
}

}  // namespace isobit::kernels
