// Gradients of operators that put elements where integers say.
#include "isobit/graph/autograd/rules.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

// (data, indices, updates) of ScatterElements and ScatterND, and what is made of them.
class Scatter {
 public:
  // gather: the operator that takes from where the node puts, with these attributes.
  Scatter(GradContext& c, const char* gather, Attributes where) : c_(c), gather_(gather), where_(std::move(where)) {}

  Values diffs() {
    const std::string reduction = c_.node.attributes.text("reduction", "none");
    if (reduction == "add") return {c_.diff(), kNoValue, c_.wants(2) ? taken(c_.diff()) : kNoValue};
    if (reduction == "mul") return of_product();
    return reduction == "none" ? of_replacement() : of_extreme();
  }

 private:
  // What was replaced has no gradient. Of several updates of one element each gets that of the element, though only the
  // last of them reached it: ONNX leaves open which one does.
  Values of_replacement() {
    Values diffs(3, kNoValue);
    if (c_.wants(2)) diffs[2] = taken(c_.diff());
    if (c_.wants(0)) diffs[0] = put("none", c_.diff(), filled(c_, c_.diff(), 0, updates_dims()));
    return diffs;
  }

  // y = x u1 u2 ...: the gradient of one factor is the product of the others. `others` is the product of the factors
  // that are not 0, and `zeros` counts those that are.
  Values of_product() {
    const ValueId x = c_.input(0), u = c_.input(2), zero = number(0), one = number(1);
    const ValueId u_is_zero = emit(c_, "Equal", {u, zero}), x_is_zero = emit(c_, "Equal", {x, zero});
    const ValueId zeros = put("add", as_number(x_is_zero), as_number(u_is_zero));
    const ValueId others = put("mul", emit(c_, "Where", {x_is_zero, one, x}), emit(c_, "Where", {u_is_zero, one, u}));
    const ValueId share = emit(c_, "Mul", {c_.diff(), others});
    return {c_.wants(0) ? without(share, x, x_is_zero, zeros) : kNoValue, kNoValue,
            c_.wants(2) ? without(taken(share), u, u_is_zero, taken(zeros)) : kNoValue};
  }

  // share / factor where nothing is 0; the share itself where this factor alone is; 0 elsewhere.
  ValueId without(ValueId share, ValueId factor, ValueId is_zero, ValueId zeros) {
    const ValueId quotient = emit(c_, "Div", {share, emit(c_, "Where", {is_zero, number(1), factor})});
    return emit(c_, "Where", {emit(c_, "Equal", {zeros, as_number(is_zero)}), quotient, number(0)});
  }

  // Of the largest or the least of x, u1, u2 ...: those that are it share the gradient.
  Values of_extreme() {
    const ValueId x = c_.input(0), u = c_.input(2), y = c_.output(0);
    const ValueId x_is_it = emit(c_, "Equal", {x, y}), u_is_it = emit(c_, "Equal", {u, taken(y)});
    const ValueId share = emit(c_, "Div", {c_.diff(), put("add", as_number(x_is_it), as_number(u_is_it))});
    return {c_.wants(0) ? where(c_, x_is_it, share, kNoValue) : kNoValue, kNoValue,
            c_.wants(2) ? where(c_, u_is_it, taken(share), kNoValue) : kNoValue};
  }

  ValueId number(double value) { return constant_like(c_.graph, c_.diff(), value, "constant"); }
  ValueId as_number(ValueId truths) { return emit(c_, "Where", {truths, number(1), number(0)}); }
  Dims updates_dims() const { return c_.dims(c_.input(2)); }
  ValueId taken(ValueId array) { return c_.graph.emit(gather_, {array, c_.input(1)}, where_, c_.diff_name(2)); }
  ValueId put(const char* reduction, ValueId array, ValueId updates) {
    return emit(c_, c_.node.op, {array, c_.input(1), updates},
                with(c_.node.attributes, "reduction", std::string(reduction)));
  }

  GradContext& c_;
  const char* gather_;
  const Attributes where_;
};

Values scatter_elements(GradContext& c) {
  return Scatter(c, "GatherElements", {{"axis", c.node.attributes.integer("axis", 0)}}).diffs();
}

Values scatter_nd(GradContext& c) { return Scatter(c, "GatherND", {}).diffs(); }

// (past, update, where each batch's update begins): 0 goes where the update went, and the update gets what is there:
// the places begin, begin + 1 ... of the axis, modulo its extent.
Values tensor_scatter(GradContext& c) {
  const Dims past = c.dims(c.input(0)), update = c.dims(c.input(1));
  const int64_t given = c.node.attributes.integer("axis", -2);
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(past.size()) : given);
  Values diffs(c.node.inputs.size(), kNoValue);
  if (c.wants(0)) {
    Values operands = c.node.inputs;
    operands[0] = c.diff();
    operands[1] = filled(c, c.diff(), 0, update);
    diffs[0] = emit(c, c.node.op, operands, c.node.attributes);
  }
  if (!c.wants(1)) return diffs;
  Dims along(past.size(), 1), batches = along;
  along[axis] = update[axis];
  batches[0] = past[0];
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < update[axis]; ++i) numbers.push_back(i);
  ValueId places = c.graph.add_initializer("places", Tensor::of<int64_t>(Shape(along), numbers));
  if (c.input(2) != kNoValue) {
    const ValueId begin = reshaped(c, c.input(2), batches);
    const ValueId extent = c.graph.add_initializer("extent", Tensor::scalar(past[axis]));
    places = c.graph.emit("Mod", {c.graph.emit("Add", {begin, places}, {}, "places"), extent}, {}, "places");
  }
  places = c.graph.emit("Expand", {places}, {{"shape", update}}, "places");
  const Attributes where = {{"axis", static_cast<int64_t>(axis)}};
  diffs[1] = c.graph.emit("GatherElements", {c.diff(), places}, where, c.diff_name(1));
  return diffs;
}

}  // namespace

void add_scatter(Rules& rules) {
  rules["ScatterElements"] = scatter_elements;
  rules["ScatterND"] = scatter_nd;
  rules["TensorScatter"] = tensor_scatter;
}

}  // namespace isobit::graph::autograd
