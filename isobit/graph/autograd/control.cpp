// Gradients of operators that run graphs. What happens within is computed again: If by a second If, whose branches have
// the gradients of the first one's; Scan and Loop, where the number of trips is known, trip by trip beside the node.
#include <algorithm>
#include <iterator>
#include <memory>

#include "isobit/base/text.h"
#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/op.h"
#include "isobit/graph/passes/append.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

constexpr int64_t kMostCopied = 1 << 16;  // nodes of all trips together

const Graph& graph_of(const GradContext& c, const char* attribute) {
  return *std::get<std::shared_ptr<const Graph>>(c.node.attributes.items().at(attribute));
}

// The truth of a constant, seen through what hands it on from node `first` on; nullopt: it is none.
std::optional<bool> known_truth(const Graph& graph, ValueId id, size_t first) {
  for (size_t n = graph.nodes().size(); n-- > first;) {
    const Node& node = graph.nodes()[n];
    if (node.op == "Identity" && node.outputs[0] == id) id = node.inputs[0];
  }
  const Tensor* constant = graph.initializer(id);
  if (constant == nullptr || constant->dtype() != DType::kBool || constant->elements() != 1) return std::nullopt;
  return *static_cast<const uint8_t*>(constant->raw()) != 0;
}

// Of the nodes from `first` on, which are those of the node written out: outputs[o] is what output o is there. An
// operand that comes twice gets its gradient once.
Values of_copy(GradContext& c, const Values& outputs, size_t first) {
  std::vector<Seed> seeds;
  for (size_t o = 0; o < c.diff_outputs.size(); ++o) {
    if (!c.flows(static_cast<int>(o)) || outputs[o] == kNoValue) continue;
    if (c.dims(outputs[o]) != c.dims(c.diff_outputs[o])) {
      return c.refuse(text_of("the shape of output ", o, " follows from data"));
    }
    seeds.push_back({outputs[o], c.diff_outputs[o]});
  }
  Values targets, out(c.node.inputs.size(), kNoValue);
  std::vector<size_t> operands;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!c.wanted[i] || std::ranges::count(targets, c.node.inputs[i]) > 0) continue;
    targets.push_back(c.node.inputs[i]);
    operands.push_back(i);
  }
  const auto diffs = append_gradients(c.graph, seeds, targets, first);
  if (!diffs) return c.refuse(diffs.error().message);
  for (size_t t = 0; t < targets.size(); ++t) out[operands[t]] = (*diffs)[t];
  return out;
}

// The gradients of one branch as a graph of what the node captures and of the gradients of its outputs.
struct Branch {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Values diffs;  // by operand of the node
};

bool is_constant_within(const GradContext& c, size_t i) {
  return !c.wanted[i] && c.graph.initializer(c.node.inputs[i]) != nullptr;
}

Expected<Branch> differentiate(const GradContext& c, const char* attribute) {
  Branch branch;
  Graph& g = *branch.graph;
  Values captured, targets, diffs_of_outputs;
  for (size_t i = 1; i < c.node.inputs.size(); ++i) {
    const Value& value = c.graph.value(c.node.inputs[i]);
    captured.push_back(is_constant_within(c, i) ? g.add_initializer(value.name, *c.graph.initializer(c.node.inputs[i]))
                                                : g.add_input(value.name, value.dtype, value.dims));
    if (c.wanted[i]) targets.push_back(captured.back());
  }
  for (const ValueId diff : c.diff_outputs) {
    const Value* value = diff == kNoValue ? nullptr : &c.graph.value(diff);
    diffs_of_outputs.push_back(value == nullptr ? kNoValue : g.add_input(value->name, value->dtype, value->dims));
  }
  ISOBIT_TRY(const Values outputs, append_body(g, graph_of(c, attribute), captured, ""));
  std::vector<Seed> seeds;
  for (size_t o = 0; o < diffs_of_outputs.size(); ++o) {
    if (diffs_of_outputs[o] == kNoValue) continue;
    if (g.value(outputs[o]).dims != g.value(diffs_of_outputs[o]).dims) {
      return unreadable(text_of(attribute, ": the shape of output ", o, " follows from data"));
    }
    seeds.push_back({outputs[o], diffs_of_outputs[o]});
  }
  const auto diffs = append_gradients(g, seeds, targets);
  if (!diffs) return unreadable(text_of(attribute, ": ", diffs.error().message));
  branch.diffs.assign(c.node.inputs.size(), kNoValue);
  auto next = diffs->begin();
  for (size_t i = 1; i < c.node.inputs.size(); ++i) {
    if (c.wanted[i]) branch.diffs[i] = *next++;
  }
  return branch;
}

// Output of the branch's graph: the gradient of operand i, or zeros where there is none.
void put_out(const GradContext& c, size_t i, Branch& branch) {
  ValueId diff = branch.diffs[i];
  if (diff == kNoValue) {
    const Value& value = c.graph.value(c.node.inputs[i]);
    diff = branch.graph->add_initializer("zero", Tensor::zeros(*gradient_type(value.dtype), {}));
    if (!value.dims.empty()) diff = branch.graph->emit("Expand", {diff}, {{"shape", value.dims}}, "zeros");
  }
  branch.graph->add_output(diff);
}

Values if_rule(GradContext& c) {
  if (const std::optional<bool> known = known_truth(c.graph, c.input(0), 0)) {
    const size_t first = c.graph.nodes().size();
    const Values captured(c.node.inputs.begin() + 1, c.node.inputs.end());
    const Graph& taken = graph_of(c, *known ? "then_branch" : "else_branch");
    const auto outputs = append_body(c.graph, taken, captured, c.node.name + "/");
    return outputs ? of_copy(c, *outputs, first) : c.refuse(outputs.error().message);
  }
  auto if_true = differentiate(c, "then_branch"), if_false = differentiate(c, "else_branch");
  if (!if_true || !if_false) return c.refuse(if_true ? if_false.error().message : if_true.error().message);
  Values operands = {c.input(0)}, out(c.node.inputs.size(), kNoValue);
  std::vector<size_t> places;
  std::vector<std::string> names;
  for (size_t i = 1; i < out.size(); ++i) {
    if (!is_constant_within(c, i)) operands.push_back(c.node.inputs[i]);
    if (if_true->diffs[i] == kNoValue && if_false->diffs[i] == kNoValue) continue;
    put_out(c, i, *if_true);
    put_out(c, i, *if_false);
    places.push_back(i);
    names.push_back(c.diff_name(static_cast<int>(i)));
  }
  if (places.empty()) return out;
  std::ranges::copy_if(c.diff_outputs, std::back_inserter(operands), [](ValueId diff) { return diff != kNoValue; });
  const std::shared_ptr<const Graph> then_graph = if_true->graph, else_graph = if_false->graph;
  const auto diffs =
      c.graph.add_node("If", operands, {{"then_branch", then_graph}, {"else_branch", else_graph}}, names);
  if (!diffs) return c.refuse(diffs.error().message);
  for (size_t k = 0; k < places.size(); ++k) out[places[k]] = (*diffs)[k];
  return out;
}

// A Scan or a Loop written out, trip by trip.
class Trips {
 public:
  // The first `carried` values of a trip are handed on to the next, the first `conditions` of what it makes are none of
  // these.
  Trips(GradContext& c, int64_t count, Values carried, size_t conditions)
      : c_(c),
        body_(graph_of(c, "body")),
        first_(c.graph.nodes().size()),
        conditions_(conditions),
        values_(std::move(carried)),
        stacks_(c.node.outputs.size() - std::min(values_.size(), c.node.outputs.size())) {
    const auto nodes = std::max<int64_t>(static_cast<int64_t>(body_.nodes().size()), 1);
    if (count > kMostCopied / nodes) {
      c.refusal = text_of("no gradient of ", count, " trips of ", nodes, " nodes, expected ", kMostCopied, " at most");
    }
  }

  const Graph& body() const { return body_; }
  bool refused() const { return !c_.refusal.empty(); }

  // before, carried values and behind: the operands of the body. What it says of going on, if it says anything.
  std::optional<bool> make(int64_t trip, Values before, const Values& behind) {
    const size_t first = c_.graph.nodes().size();
    before.insert(before.end(), values_.begin(), values_.end());
    before.insert(before.end(), behind.begin(), behind.end());
    const auto made = append_body(c_.graph, body_, before, text_of(c_.node.name, "/", trip, "/"));
    if (!made) {
      c_.refusal = made.error().message;
      return std::nullopt;
    }
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = (*made)[conditions_ + i];
    for (size_t s = 0; s < stacks_.size(); ++s) stacks_[s].push_back((*made)[conditions_ + values_.size() + s]);
    return conditions_ == 0 ? std::nullopt : known_truth(c_.graph, made->front(), first);
  }

  // axes, backward: of what is stacked.
  Values diffs(const Dims& axes, const Dims& backward) {
    if (refused()) return Values(c_.node.inputs.size(), kNoValue);
    Values outputs = values_;
    outputs.resize(c_.node.outputs.size() - stacks_.size());
    for (size_t s = 0; s < stacks_.size(); ++s) outputs.push_back(stacked(stacks_[s], axes[s], backward[s] != 0));
    return of_copy(c_, outputs, first_);
  }

 private:
  ValueId stacked(Values elements, int64_t axis, bool backward) {
    if (elements.empty()) return kNoValue;
    if (backward) std::ranges::reverse(elements);
    const auto rank = static_cast<int64_t>(c_.dims(elements[0]).size()) + 1;
    const int64_t at = axis < 0 ? axis + rank : axis;
    for (ValueId& element : elements) {
      element = c_.graph.emit("Unsqueeze", {element}, {{"axes", Dims{at}}}, "element");
    }
    return c_.graph.emit("Concat", elements, {{"axis", at}}, "stacked");
  }

  GradContext& c_;
  const Graph& body_;
  const size_t first_, conditions_;
  Values values_;
  std::vector<Values> stacks_;  // by output that is stacked, an element of each trip
};

// (state..., sequences..., captured...)
Values scan(GradContext& c) {
  const Attributes& a = c.node.attributes;
  const auto states = static_cast<size_t>(a.integer("carried", 0));
  const auto scanned = static_cast<size_t>(a.integer("num_scan_inputs", 0));
  const Dims zeros(scanned, 0), zeros_out(c.node.outputs.size(), 0);
  const Dims axes = a.integers("scan_input_axes", zeros), backward = a.integers("scan_input_directions", zeros);
  const auto sequence = [&](size_t s) { return c.node.inputs[states + s]; };
  const auto axis_of = [&](size_t s) {
    return axes[s] < 0 ? axes[s] + static_cast<int64_t>(c.dims(sequence(s)).size()) : axes[s];
  };
  const int64_t length = c.dims(sequence(0))[static_cast<size_t>(axis_of(0))];
  Trips trips(c, length, Values(c.node.inputs.begin(), c.node.inputs.begin() + static_cast<std::ptrdiff_t>(states)), 0);
  std::vector<Values> steps;  // by sequence
  for (size_t s = 0; s < scanned && length > 0 && !trips.refused(); ++s) {
    steps.push_back(c.graph.emit_all("Split", {sequence(s)},
                                     {{"axis", axis_of(s)}, {"split", Dims(static_cast<size_t>(length), 1)}},
                                     std::vector<std::string>(static_cast<size_t>(length), "step")));
    for (ValueId& step : steps[s]) step = c.graph.emit("Squeeze", {step}, {{"axes", Dims{axis_of(s)}}}, "step");
    if (backward[s] != 0) std::ranges::reverse(steps[s]);
  }
  const Values captured(c.node.inputs.begin() + static_cast<std::ptrdiff_t>(states + scanned), c.node.inputs.end());
  for (int64_t t = 0; t < length && !trips.refused(); ++t) {
    Values behind;
    for (const Values& of_sequence : steps) behind.push_back(of_sequence[static_cast<size_t>(t)]);
    behind.insert(behind.end(), captured.begin(), captured.end());
    trips.make(t, {}, behind);
  }
  return trips.diffs(a.integers("scan_output_axes", zeros_out), a.integers("scan_output_directions", zeros_out));
}

// One element, in the shape that the body declares for its input: [] or [1].
Tensor one_element(const Graph& body, size_t input, DType dtype) {
  const Value& declared = body.value(body.inputs()[input]);
  return Tensor(dtype, declared.has_rank() && declared.dims.size() == 1 ? Shape{1} : Shape{});
}

// (max_trip?, cond?, carried..., captured...)
Values loop(GradContext& c) {
  const char* const kOpen = "how many trips it makes follows from data";
  const auto carried = static_cast<size_t>(c.node.attributes.integer("carried", 0));
  const Tensor* most = c.input(0) == kNoValue ? nullptr : c.graph.initializer(c.input(0));
  if (most == nullptr || most->elements() != 1) return c.refuse(kOpen);
  const bool has_condition = c.input(1) != kNoValue;
  std::optional<bool> goes_on = has_condition ? known_truth(c.graph, c.input(1), 0) : true;
  const int64_t count = std::max<int64_t>(most->data<int64_t>()[0], 0);
  const auto behind_carried = c.node.inputs.begin() + 2 + static_cast<std::ptrdiff_t>(carried);
  const Values captured(behind_carried, c.node.inputs.end());
  Trips trips(c, count, Values(c.node.inputs.begin() + 2, behind_carried), 1);
  for (int64_t t = 0; t < count && goes_on.value_or(false) && !trips.refused(); ++t) {
    Tensor number = one_element(trips.body(), 0, DType::kInt64), truth = one_element(trips.body(), 1, DType::kBool);
    number.data<int64_t>()[0] = t;
    *static_cast<uint8_t*>(truth.raw()) = 1;
    const Values before = {c.graph.add_initializer("trip", number), c.graph.add_initializer("condition", truth)};
    const std::optional<bool> said = trips.make(t, before, captured);
    if (has_condition) goes_on = said;
  }
  if (!goes_on && !trips.refused()) return c.refuse(kOpen);
  const Dims zeros(c.node.outputs.size(), 0);
  return trips.diffs(zeros, zeros);
}

}  // namespace

void add_control(Rules& rules) {
  rules["If"] = if_rule;
  rules["Scan"] = scan;
  rules["Loop"] = loop;
}

}  // namespace isobit::graph::autograd
