#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

// diff_dst spread over the source's shape again.
ValueId spread(GradContext& c) {
  const std::vector<int64_t> src = c.dims(c.input(0));
  std::vector<int64_t> kept = src;
  const auto axes = c.node.attributes.integers("axes", {});
  for (size_t i = 0; i < src.size(); ++i) {
    if (axes.empty()) kept[i] = 1;
  }
  for (int64_t axis : axes) kept[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(src.size()) : axis)] = 1;
  const ValueId diff = c.graph.emit("Reshape", {c.diff()}, {{"shape", kept}}, c.diff_name(0));
  return c.graph.emit("Expand", {diff}, {{"shape", src}}, c.diff_name(0));
}

Values mean(GradContext& c) {
  const ValueId wide = spread(c);
  const auto count = static_cast<double>(Shape(c.dims(c.input(0))).elements()) /
                     static_cast<double>(Shape(c.dims(c.output(0))).elements());
  const bool f32 = c.graph.value(c.input(0)).dtype == DType::kFloat32;
  const ValueId n =
      c.graph.add_initializer("count", f32 ? Tensor::scalar(static_cast<float>(count)) : Tensor::scalar(count));
  return {c.graph.emit("Div", {wide, n}, {}, c.diff_name(0))};
}

}  // namespace

void add_reduce(Rules& rules) {
  rules["ReduceSum"] = [](GradContext& c) { return Values{spread(c)}; };
  rules["ReduceMean"] = mean;
  rules["isobit.SumTo"] = [](GradContext& c) {
    const std::vector<int64_t> src = c.dims(c.input(0));
    return Values{c.graph.emit("Expand", {c.diff()}, {{"shape", src}}, c.diff_name(0))};
  };
}

}  // namespace isobit::graph::autograd
