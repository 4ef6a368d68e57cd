#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/checks.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/sources_statistics.h"

namespace isobit::graph::ops {
namespace {

using SummedTypes = Types<float, double, int32_t, int64_t, uint32_t, uint64_t>;
using ComparedTypes =
    Types<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, bool>;

// The source's dimensions without the axes that are reduced, or with 1 for them.
Expected<std::vector<int64_t>> reduced_dims(const InferContext& c, const std::vector<int64_t>& axes, bool keep,
                                            bool none_is_all) {
  std::vector<bool> reduced(static_cast<size_t>(c.rank(0)), axes.empty() && none_is_all);
  for (int64_t axis : axes) {
    ISOBIT_TRY(const int64_t a, normalized_axis(axis, c.rank(0)));
    if (reduced[static_cast<size_t>(a)]) return unreadable(text_of("axis ", axis, " appears twice"));
    reduced[static_cast<size_t>(a)] = true;
  }
  std::vector<int64_t> dims;
  for (int i = 0; i < c.rank(0); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      dims.push_back(c.dim(0, i));
    } else if (keep) {
      dims.push_back(1);
    }
  }
  return dims;
}

// Parameter axes (all where there are none, or with noop_with_empty_axes none), attribute keepdims (1).
Status infer_over_axes(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axes", kInts}, {"keepdims", kInt}, {"noop_with_empty_axes", kInt}}));
  ISOBIT_RETURN_IF_ERROR(check_countable(c.input(0).dtype, c.dims(0)));
  const bool keep = c.attributes().integer("keepdims", 1) != 0;
  const bool none_is_all = c.attributes().integer("noop_with_empty_axes", 0) == 0;
  ISOBIT_TRY(const auto axes, shape_parameter(c, "axes", 1));
  if (axes || !has_parameter(c, "axes", 1)) {
    ISOBIT_TRY(auto dims, reduced_dims(c, axes.value_or(std::vector<int64_t>()), keep, none_is_all));
    c.set_output(0, c.input(0).dtype, std::move(dims));
  } else if (keep) {
    c.set_output(0, c.input(0).dtype, std::vector<int64_t>(static_cast<size_t>(c.rank(0)), -1));
  } else {
    c.set_output(0, c.input(0).dtype, kUnknownRank);
  }
  return {};
}

template <class Set>
Status infer_reduce(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, Set{}));
  return infer_over_axes(c);
}

// (src, diff_dst) -> diff_src of the largest element (with `largest` 0 the least), or of the product, over `axes`;
// diff_dst has 1 for what was reduced.
Status infer_reduce_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axes", kInts}, {"largest", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(check_countable(c.input(0).dtype, c.dims(0)));
  ISOBIT_TRY(const auto dims, reduced_dims(c, c.attributes().integers("axes", {}), true, false));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0, dims));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// Parameter axis, attributes exclusive (0), reverse (0).
Status infer_cumulative_sum(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(
      c.expect_attributes({{"axis", kind_of_one(c, "axis")}, {"exclusive", kInt}, {"reverse", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, SummedTypes{}));
  ISOBIT_TRY(const auto axis, one_number(c, "axis", 1));
  if (axis) ISOBIT_RETURN_IF_ERROR(normalized_axis(*axis, c.rank(0)));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// The inverse of broadcasting: sums src down to attribute shape, each element one correctly rounded sum.
Status infer_sum_to(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(check_countable(c.input(0).dtype, c.dims(0)));
  ISOBIT_TRY(const auto shape, read_extents(c.attributes(), "shape"));
  ISOBIT_TRY(const auto back, broadcast_dims(shape, c.dims(0)));
  if (back != c.dims(0)) return unreadable(text_of("shape ", Shape(shape).text(), " does not broadcast to the source"));
  c.set_output(0, c.input(0).dtype, shape);
  return {};
}

// gradients... -> norm: the square root of the correctly rounded sum of all squares
Status infer_global_norm(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  for (int i = 1; i < c.input_count(); ++i) ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(0).dtype));
  c.set_output(0, c.input(0).dtype, {});
  return {};
}

std::vector<Statistic> global_sum(const Graph&, const Node&) {
  return {made_of(SourceRange(of_everything), Statistic{.name = "sum_of_squares", .dims = {}})};
}

const std::vector<int64_t>& dims_of_output(const Graph& g, const Node& n) { return g.value(n.outputs[0]).dims; }

std::vector<Statistic> own_squares(const Graph& g, const Node& n) {
  return {made_of(of_cell, Statistic{"sum_of_squares", dims_of_output(g, n), 0})};
}

std::vector<Statistic> squares(const Graph& g, const Node& n) {
  return {made_of(of_cell, Statistic{"sum_of_squares", dims_of_output(g, n)})};
}

std::vector<Statistic> max_and_sum(const Graph& g, const Node& n) {
  return {made_of(of_cell, Statistic{"max", dims_of_output(g, n)}),
          made_of(over_cell({0}), Statistic{"sum", dims_of_output(g, n)})};
}

std::vector<Statistic> max_and_count(const Graph& g, const Node& n) {
  const std::vector<int64_t>& kept = g.value(n.inputs[1]).dims;
  return {made_of(over_kept_cell({}), Statistic{"max", kept}), made_of(over_kept_cell({0}), Statistic{"count", kept})};
}

OpDef over_axes(const char* name, InferRule infer, OutputDef output, StatisticsRule statistics = {}) {
  return {.name = name,
          .max_inputs = 2,
          .optional_inputs = {.some = {1}},
          .infer = std::move(infer),
          .statistics = std::move(statistics),
          .outputs = {std::move(output)}};
}

}  // namespace

void add_reduce(std::vector<OpDef>& defs) {
  using enum ElementRule;
  for (const char* op : {"ReduceSum", "ReduceMean"}) {
    add_ordered(defs, over_axes(op, infer_reduce<SummedTypes>, made_of(of_cell, output_by(kSum))));
  }
  add_ordered(defs, over_axes("ReduceMax", infer_reduce<ComparedTypes>, made_of(of_cell, moved_from(0, kMaximum))));
  add_ordered(defs, over_axes("ReduceMin", infer_reduce<ComparedTypes>, made_of(of_cell, moved_from(0, kMinimum))));
  add_ordered(defs, over_axes("ReduceProd", infer_reduce<SummedTypes>, made_of(of_cell, output_by(kProduct))));
  add_ordered(defs, over_axes("ReduceSumSquare", infer_reduce<SummedTypes>,
                              made_of(same_of_statistics({0}), output_by(kStatistics)), own_squares));
  add_ordered(defs, over_axes("ReduceL2", infer_reduce<FloatTypes>,
                              made_of(same_of_statistics({0}), output_by(kStatistics)), squares));
  add_ordered(defs, over_axes("ReduceLogSumExp", infer_reduce<FloatTypes>,
                              made_of(same_of_statistics({0, 1}), output_by(kStatistics)), max_and_sum));
  add_ordered(defs, {.name = "isobit.ReduceMaxGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_reduce_grad,
                     .statistics = max_and_count,
                     .outputs = {made_of(in_kept_cell({0, 1}), output_by(kStatistics))}});
  add_ordered(defs, {.name = "isobit.ReduceProdGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_reduce_grad,
                     .outputs = {made_of(of_others, output_by(kProduct))}});
  add_ordered(defs, {.name = "CumSum",
                     .max_inputs = 2,
                     .optional_inputs = {.some = {1}},
                     .infer = infer_cumulative_sum,
                     .outputs = {guided_by_all_of(1, made_of(summed_up_to, output_by(kSum)))}});
  add_ordered(defs, {.name = "isobit.SumTo", .infer = infer_sum_to, .outputs = {made_of(of_cell, output_by(kSum))}});
  add_ordered(defs, {.name = "isobit.GlobalNorm",
                     .max_inputs = 1 << 20,
                     .infer = infer_global_norm,
                     .statistics = global_sum,
                     .outputs = {made_of(only_of_statistics({0}), output_by(kStatistics))}});
}

}  // namespace isobit::graph::ops
