#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {
namespace {

// Attribute axes (all when absent or empty), keepdims (1).
Status infer_reduce(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axes", kInts}, {"keepdims", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  std::vector<bool> reduced(static_cast<size_t>(c.rank(0)), false);
  for (int64_t axis : c.attributes().integers("axes", {})) {
    ISOBIT_TRY(const int64_t a, normalized_axis(axis, c.rank(0)));
    if (reduced[static_cast<size_t>(a)]) return unreadable(text_of("axis ", axis, " appears twice"));
    reduced[static_cast<size_t>(a)] = true;
  }
  if (std::none_of(reduced.begin(), reduced.end(), [](bool r) { return r; })) reduced.assign(reduced.size(), true);
  const bool keep = c.attributes().integer("keepdims", 1) != 0;
  std::vector<int64_t> dims;
  for (int i = 0; i < c.rank(0); ++i) {
    if (!reduced[static_cast<size_t>(i)])
      dims.push_back(c.dim(0, i));
    else if (keep)
      dims.push_back(1);
  }
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// The inverse of broadcasting: sums src down to attribute shape, each element one correctly rounded sum.
Status infer_sum_to(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
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

std::vector<Statistic> global_sum(const Graph&, const Node&) { return {{"sum_of_squares", {}}}; }

}  // namespace

void add_reduce(std::vector<OpDef>& defs) {
  using enum ElementRule;
  for (const char* op : {"ReduceSum", "ReduceMean"}) {
    add_ordered(defs, {.name = op, .infer = infer_reduce, .outputs = {output_by(kSum)}});
  }
  add_ordered(defs, {.name = "ReduceMax", .infer = infer_reduce, .outputs = {moved_from(0, kMaximum)}});
  add_ordered(defs, {.name = "isobit.SumTo", .infer = infer_sum_to, .outputs = {output_by(kSum)}});
  add_ordered(defs, {.name = "isobit.GlobalNorm",
                     .max_inputs = 1 << 20,
                     .infer = infer_global_norm,
                     .statistics = global_sum,
                     .outputs = {output_by(kStatistics)}});
}

}  // namespace isobit::graph::ops
