#include "isobit/base/text.h"
#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

// (indices, diff_dst) -> diff_src by the operator `op`, which has the node's attributes and the shape of the source.
Values summed_by(GradContext& c, const char* op) {
  const Dims src = c.dims(c.input(0));
  return {c.graph.emit(op, {c.input(1), c.diff()}, with(c.node.attributes, "src_shape", src), c.diff_name(0)),
          kNoValue};
}

// Rows of a [V, C] table by int64 indices are the embedding.
Values gather(GradContext& c) {
  const Dims table = c.dims(c.input(0));
  const bool rows = table.size() == 2 && c.node.attributes.integer("axis", 0) == 0;
  if (!rows || c.graph.value(c.input(1)).dtype != DType::kInt64) return summed_by(c, "isobit.GatherGrad");
  return {c.graph.emit("isobit.EmbeddingGrad", {c.input(1), c.diff()}, {{"table_shape", table}}, c.diff_name(0)),
          kNoValue};
}

// A zero in the type of `like`, over its dimensions.
ValueId zeros_like(GradContext& c, ValueId like) {
  const Value& value = c.graph.value(like);
  const Dims shape = value.dims;
  const ValueId zero = c.graph.add_initializer("zero", Tensor::zeros(value.dtype, {}));
  return c.graph.emit("Expand", {zero}, {{"shape", shape}}, "zeros");
}

// (data, indices, updates): what was replaced has no gradient. Of several updates of one element each gets that of the
// element, though only the last of them reached it: ONNX leaves open which one does.
Values scatter(GradContext& c, const char* gather, const Attributes& where) {
  const std::string reduction = c.node.attributes.text("reduction", "none");
  Values diffs(3, kNoValue);
  if (reduction != "none" && reduction != "add") {
    c.refusal = text_of("no gradient of reduction '", reduction, "'");
    return diffs;
  }
  if (c.wants(2)) diffs[2] = c.graph.emit(gather, {c.diff(), c.input(1)}, where, c.diff_name(2));
  if (reduction == "add") {
    diffs[0] = c.diff();
  } else if (c.wants(0)) {
    const ValueId zeros = zeros_like(c, c.input(2));
    diffs[0] = c.graph.emit(c.node.op, {c.diff(), c.input(1), zeros}, c.node.attributes, c.diff_name(0));
  }
  return diffs;
}

Values scatter_elements(GradContext& c) {
  return scatter(c, "GatherElements", {{"axis", c.node.attributes.integer("axis", 0)}});
}

Values scatter_nd(GradContext& c) { return scatter(c, "GatherND", {}); }

}  // namespace

void add_indexing(Rules& rules) {
  rules["Gather"] = gather;
  rules["GatherElements"] = [](GradContext& c) { return summed_by(c, "isobit.GatherElementsGrad"); };
  rules["GatherND"] = [](GradContext& c) { return summed_by(c, "isobit.GatherNDGrad"); };
  rules["ScatterElements"] = scatter_elements;
  rules["ScatterND"] = scatter_nd;
}

}  // namespace isobit::graph::autograd
