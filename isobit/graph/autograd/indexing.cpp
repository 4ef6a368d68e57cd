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

// (indices, depth, [off, on]): how much of diff_dst lies where `off` stands, and where `on` does.
Values one_hot(GradContext& c) {
  Values marks = c.node.inputs;
  const bool f32 = c.graph.value(c.diff()).dtype == DType::kFloat32;
  const auto share = [&](double off, double on) {
    const double wide[] = {off, on};
    const float narrow[] = {static_cast<float>(off), static_cast<float>(on)};
    marks[2] = c.graph.add_initializer("marks", f32 ? Tensor::of<float>({2}, narrow) : Tensor::of<double>({2}, wide));
    const ValueId there = c.graph.emit("OneHot", marks, c.node.attributes, "marked");
    const ValueId sum = c.graph.emit("ReduceSum", {c.graph.emit("Mul", {c.diff(), there}, {}, "marked")},
                                     {{"keepdims", int64_t{0}}}, "sum");
    return c.graph.emit("Reshape", {sum}, {{"shape", Dims{1}}}, "sum");
  };
  const ValueId off = share(1, 0), on = share(0, 1);
  return {kNoValue, kNoValue, c.graph.emit("Concat", {off, on}, {{"axis", int64_t{0}}}, c.diff_name(2))};
}

}  // namespace

void add_indexing(Rules& rules) {
  rules["Gather"] = gather;
  rules["GatherElements"] = [](GradContext& c) { return summed_by(c, "isobit.GatherElementsGrad"); };
  rules["GatherND"] = [](GradContext& c) { return summed_by(c, "isobit.GatherNDGrad"); };
  rules["OneHot"] = one_hot;
  rules.none({"Compress"}, "how much is left of its source follows from data");
  rules.none({"isobit.GatherGrad", "isobit.EmbeddingGrad", "isobit.GatherElementsGrad", "isobit.GatherNDGrad"},
             kIsGradient);
}

}  // namespace isobit::graph::autograd
