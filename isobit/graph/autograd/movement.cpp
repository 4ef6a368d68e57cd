#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

Values reshape(GradContext& c) {
  const std::vector<int64_t> src = c.dims(c.input(0));
  return {c.graph.emit("Reshape", {c.diff()}, {{"shape", src}}, c.diff_name(0))};
}

Values transpose(GradContext& c) {
  const auto perm = c.node.attributes.integers("perm", {});
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return {c.graph.emit("Transpose", {c.diff()}, {{"perm", inverse}}, c.diff_name(0))};
}

Values concat(GradContext& c) {
  const size_t rank = c.dims(c.input(0)).size();
  const int64_t axis = c.node.attributes.integer("axis", 0);
  const auto a = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  Values out;
  std::vector<int64_t> starts(rank, 0);
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    const std::vector<int64_t> counts = c.dims(c.node.inputs[i]);
    out.push_back(c.wanted[i] ? c.graph.emit("isobit.Block", {c.diff()}, {{"starts", starts}, {"counts", counts}},
                                             c.diff_name(static_cast<int>(i)))
                              : kNoValue);
    starts[a] += counts[a];
  }
  return out;
}

Values block(GradContext& c) {
  const std::vector<int64_t> src = c.dims(c.input(0));
  return {c.graph.emit("isobit.BlockGrad", {c.diff()}, with(c.node.attributes, "src_shape", src), c.diff_name(0))};
}

// Rows of a [V, C] table: the embedding.
Values gather(GradContext& c) {
  const std::vector<int64_t> table = c.dims(c.input(0));
  ISOBIT_CHECK(table.size() == 2 && c.node.attributes.integer("axis", 0) == 0);
  return {c.graph.emit("isobit.EmbeddingGrad", {c.input(1), c.diff()}, {{"table_shape", table}}, c.diff_name(0)),
          kNoValue};
}

}  // namespace

void add_movement(Rules& rules) {
  rules["Reshape"] = reshape;
  rules["Flatten"] = reshape;
  rules["Transpose"] = transpose;
  rules["Concat"] = concat;
  rules["isobit.Block"] = block;
  rules["Gather"] = gather;
  rules["Expand"] = [](GradContext& c) {
    return Values{sum_to_shape_of(c.graph, c.diff(), c.input(0), c.diff_name(0))};
  };
}

}  // namespace isobit::graph::autograd
