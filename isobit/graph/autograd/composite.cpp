#include "isobit/base/text.h"
#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

// Row i: all numbers below n but i.
Tensor all_but_one(int64_t n) {
  Tensor rows(DType::kInt64, Shape{n, n - 1});
  int64_t* to = rows.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t k = 0; k < n; ++k) {
      if (k != i) *to++ = k;
    }
  }
  return rows;
}

// (-1)^(i + j)
ValueId signs_like(GradContext& c, int64_t n) {
  std::vector<double> wide;
  for (int64_t i = 0; i < n * n; ++i) wide.push_back((i / n + i % n) % 2 == 0 ? 1 : -1);
  const std::vector<float> narrow(wide.begin(), wide.end());
  const bool f32 = c.graph.value(c.diff()).dtype == DType::kFloat32;
  return c.graph.add_initializer("signs",
                                 f32 ? Tensor::of<float>(Shape{n, n}, narrow) : Tensor::of<double>(Shape{n, n}, wide));
}

// diff_src(i, j) = dy (-1)^(i + j) det(src without row i and column j): also where src has no inverse.
Values determinant(GradContext& c) {
  constexpr int64_t kMostRows = 64;
  const Dims src = c.dims(c.input(0));
  const int64_t n = src.back();
  const size_t outer = src.size() - 2;
  Dims over = c.dims(c.diff());
  over.insert(over.end(), {1, 1});
  if (n == 0) return {filled(c, c.diff(), 0, src)};
  if (n == 1) return {reshaped(c, c.diff(), src)};
  Dims all = src;
  all.insert(all.end(), {n - 1, n - 1});
  if (n > kMostRows || !ops::check_countable(DType::kFloat64, all)) {
    return c.refuse(text_of("no gradient for matrices of ", n, " rows and ", src.size(), " axes"));
  }
  const ValueId others = c.graph.add_initializer("others", all_but_one(n));
  const auto axis = static_cast<int64_t>(outer);
  const ValueId rows = emit(c, "Gather", {c.input(0), others}, {{"axis", axis}});
  const ValueId both = emit(c, "Gather", {rows, others}, {{"axis", axis + 2}});
  Dims perm;
  for (int64_t a = 0; a < axis; ++a) perm.push_back(a);
  perm.insert(perm.end(), {axis, axis + 2, axis + 1, axis + 3});
  const ValueId minors = emit(c, "Det", {emit(c, "Transpose", {both}, {{"perm", perm}})});
  const ValueId cofactors = emit(c, "Mul", {minors, signs_like(c, n)});
  return {emit(c, "Mul", {cofactors, reshaped(c, c.diff(), over)})};
}

}  // namespace

void add_composite(Rules& rules) {
  rules["Det"] = determinant;
  // A tree gives the same for all points on one side of its bounds.
  rules["isobit.TreeEnsemble"] = constant_between_steps;
}

}  // namespace isobit::graph::autograd
