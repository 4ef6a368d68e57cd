#include "isobit/base/text.h"
#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;

Attributes with_src_shape(GradContext& c, const Attributes& attributes) {
  const std::vector<int64_t> src = c.dims(c.input(0));
  return with(attributes, "src_shape", src);
}

Attributes with_src_shape(GradContext& c) { return with_src_shape(c, c.node.attributes); }

// Where the maxima of these windows over input 0 are, for a pooling that did not say it.
ValueId places_of_maxima(GradContext& c, const Attributes& windows) {
  const std::string name = c.graph.value(c.input(0)).name;
  return c.graph.emit_all("MaxPool", {c.input(0)}, windows, {text_of(name, "/maxima"), text_of(name, "/places")})[1];
}

Values max_pool(GradContext& c) {
  const ValueId places = c.output(1) != kNoValue ? c.output(1) : places_of_maxima(c, c.node.attributes);
  return {c.graph.emit("isobit.MaxPoolGrad", {c.diff(), places}, with_src_shape(c), c.diff_name(0))};
}

// A maximum over whole planes is that of one window.
Values global_max_pool(GradContext& c) {
  const std::vector<int64_t> src = c.dims(c.input(0));
  if (src.size() == 2) return {c.diff()};
  const Attributes window = {{"kernel_shape", std::vector<int64_t>(src.begin() + 2, src.end())}};
  const ValueId places = places_of_maxima(c, window);
  return {c.graph.emit("isobit.MaxPoolGrad", {c.diff(), places}, with_src_shape(c, window), c.diff_name(0))};
}

}  // namespace

void add_pool(Rules& rules) {
  rules["MaxPool"] = max_pool;
  rules["GlobalMaxPool"] = global_max_pool;
  rules["AveragePool"] = [](GradContext& c) {
    return Values{c.graph.emit("isobit.AveragePoolGrad", {c.diff()}, with_src_shape(c), c.diff_name(0))};
  };
  rules["GlobalAveragePool"] = [](GradContext& c) {
    return Values{c.graph.emit("isobit.GlobalAveragePoolGrad", {c.diff()}, with_src_shape(c), c.diff_name(0))};
  };
}

}  // namespace isobit::graph::autograd
