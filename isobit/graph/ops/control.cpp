// Operators that run graphs: If, Loop and Scan. What an ONNX subgraph takes from around it is an input of the node and
// of the graph, behind all others, in the same order; nothing else of the graph around it can be seen from within.
//
//   If(cond, captured...) -> outputs...
//     then_branch, else_branch: (captured...) -> (outputs...).
//   Loop(max_trip?, cond?, carried..., captured...) -> (carried..., scan outputs...)
//     body: (iteration int64 [], condition bool [], carried..., captured...) -> (condition, carried..., elements...)
//     carried: how many. A trip begins while fewer than max_trip have been made and the last condition is true. Without
//     max_trip or cond that part always holds, and without cond the body's condition is not looked at.
//   Scan(state..., sequences..., captured...) -> (state..., scan outputs...)
//     body: (state..., an element of each sequence, captured...) -> (state..., elements...)
//     carried: how many states; num_scan_inputs: how many sequences. scan_input_axes, scan_output_axes (default 0),
//     scan_input_directions and scan_output_directions (0 forward, 1 backward): one number a sequence or scan output.
//
// What these graphs declare of their inputs is not looked at: types follow from the operands of the node. But iteration
// and condition are of shape [1] for a body that declares them so.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/infer.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/passes/rebuild.h"

namespace isobit::graph::ops {
namespace {

using Type = InferContext::Type;

constexpr int kMostInputs = 1 << 16, kMostOutputs = 1 << 10;

struct Given {
  Type type;
  const Tensor* constant = nullptr;
};

Given input_of(const InferContext& c, int i) { return {{c.input(i).dtype, c.dims(i)}, c.constant_if_known(i)}; }

Expected<const Graph*> graph_of(const InferContext& c, const char* name, size_t inputs) {
  const auto found = c.attributes().items().find(name);
  if (found == c.attributes().items().end()) return unreadable(text_of("attribute '", name, "' is missing"));
  const Graph* graph = std::get<kGraph>(found->second).get();
  if (graph == nullptr) return unreadable(text_of("attribute '", name, "' has no graph"));
  if (graph->inputs().size() == inputs) return graph;
  return unreadable(text_of("the graph of '", name, "' has ", graph->inputs().size(),
                            " inputs, expected one for each operand: ", inputs));
}

// The types of the graph's outputs.
Expected<std::vector<Type>> outputs_from(const Graph& graph, const std::vector<Given>& given) {
  Rebuilding rule;
  rule.input = [&](size_t i) -> Expected<Type> { return given[i].type; };
  rule.known_input = [&](size_t i) { return given[i].constant; };
  ISOBIT_TRY(const Graph typed, rebuild(graph, rule));
  std::vector<Type> types;
  for (const ValueId o : typed.outputs()) types.push_back({typed.value(o).dtype, typed.value(o).dims});
  return types;
}

// The same; where the graph does not take these shapes, for whatever shapes it takes. It may be that the run never
// comes to it: a branch removes an axis that only another input has.
Expected<std::vector<Type>> outputs_of(const char* name, const Graph& graph, std::vector<Given> given) {
  auto types = outputs_from(graph, given);
  if (types) return types;
  const bool is_open =
      std::ranges::all_of(given, [](const Given& g) { return g.constant == nullptr && g.type.dims == kUnknownRank; });
  if (!is_open) {
    for (Given& g : given) g = {{g.type.dtype, kUnknownRank}};
    if (auto of_any = outputs_from(graph, given)) return of_any;
  }
  return unreadable(text_of(name, ": ", types.error().message));
}

Status expect_one(const InferContext& c, int i, DType dtype) {
  ISOBIT_RETURN_IF_ERROR(c.expect_type(i, dtype));
  if (!c.input(i).has_rank() || std::ranges::all_of(c.dims(i), [](int64_t d) { return d == 1 || d < 0; })) return {};
  return unreadable(
      text_of("input ", i, " ('", c.input(i).name, "') has shape ", Shape(c.dims(i)).text(), ", expected one element"));
}

// A number in 0..most.
Expected<int> count_of(const InferContext& c, const char* name, int64_t most) {
  const int64_t n = c.attributes().integer(name, 0);
  if (n >= 0 && n <= most) return static_cast<int>(n);
  return unreadable(text_of("attribute '", name, "' is ", n, ", expected 0 to ", most));
}

Status infer_if(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"then_branch", kGraph}, {"else_branch", kGraph}}));
  ISOBIT_RETURN_IF_ERROR(expect_one(c, 0, DType::kBool));
  std::vector<Given> captured;
  for (int i = 1; i < c.input_count(); ++i) captured.push_back(input_of(c, i));
  ISOBIT_TRY(const Graph* then_graph, graph_of(c, "then_branch", captured.size()));
  ISOBIT_TRY(const Graph* else_graph, graph_of(c, "else_branch", captured.size()));
  if (then_graph->outputs().size() != else_graph->outputs().size() ||
      then_graph->outputs().size() < static_cast<size_t>(c.output_count())) {
    return unreadable(text_of("the branches have ", then_graph->outputs().size(), " and ", else_graph->outputs().size(),
                              " outputs, expected as many as the node: ", c.output_count()));
  }
  ISOBIT_TRY(const auto if_true, outputs_of("then_branch", *then_graph, captured));
  ISOBIT_TRY(const auto if_false, outputs_of("else_branch", *else_graph, captured));
  // A constant condition: what the other branch would give does not matter.
  const Tensor* known = c.constant_if_known(0);
  const bool decided = known != nullptr && known->elements() == 1;
  for (size_t o = 0; o < if_true.size(); ++o) {
    ISOBIT_TRY(Type type, in_common(if_true[o], if_false[o]));
    if (decided) type = (*static_cast<const uint8_t*>(known->raw()) != 0 ? if_true : if_false)[o];
    c.set_output(static_cast<int>(o), type.dtype, std::move(type.dims));
  }
  return {};
}

// What a body hands on has the element type that it takes.
Status check_carried(const std::vector<Type>& before, const std::vector<Type>& after, size_t first) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (after[first + i].dtype == before[i].dtype) continue;
    return unreadable(text_of("the body makes ", name_of(after[first + i].dtype), " of the ", name_of(before[i].dtype),
                              " that it carries at place ", i));
  }
  return {};
}

// Carried values keep what is known of them if the body hands on what it takes. Otherwise nothing is known of the
// outputs but their element types: shapes may change from trip to trip.
bool is_stable(const std::vector<Type>& before, const std::vector<Type>& after, size_t first) {
  for (size_t i = 0; i < before.size(); ++i) {
    if (in_common(before[i], after[first + i])->dims != before[i].dims) return false;
  }
  return true;
}

// The dimensions of what is stacked up of `element`, with `length` of them along an axis of the result.
Expected<std::vector<int64_t>> stacked(const Type& element, int64_t axis, int64_t length) {
  if (element.dims == kUnknownRank) return kUnknownRank;
  std::vector<int64_t> dims = element.dims;
  ISOBIT_TRY(const int64_t at, normalized_axis(axis, static_cast<int>(dims.size()) + 1));
  dims.insert(dims.begin() + at, length);
  return dims;
}

Status expect_outputs(const InferContext& c, const Graph& body, size_t at_least, size_t conditions) {
  const size_t found = body.outputs().size();
  if (found >= at_least + conditions && found - conditions >= static_cast<size_t>(c.output_count())) return {};
  return unreadable(text_of("the body has ", found, " outputs, expected ", conditions, " condition, ", at_least,
                            " carried values and what is scanned, for a node of ", c.output_count(), " outputs"));
}

std::vector<int64_t> one_element(const Graph& body, size_t input) {
  const Value& declared = body.value(body.inputs()[input]);
  return declared.has_rank() && declared.dims.size() == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{};
}

bool is_true(const Tensor* t) {
  return t != nullptr && t->elements() == 1 && *static_cast<const uint8_t*>(t->raw()) != 0;
}

// Whether a body that is told to go on says so again: it hands the condition on, or says a constant.
bool says_go_on(const Graph& body) {
  ValueId said = body.outputs()[0];
  for (size_t n = body.nodes().size(); n-- > 0;) {
    const Node& node = body.nodes()[n];
    if (node.outputs[0] == said && node.op == "Identity") said = node.inputs[0];
  }
  return said == body.inputs()[1] || is_true(body.initializer(said));
}

// How many trips a loop makes, if that is known: when nothing but max_trip ends it.
int64_t trips_of(const InferContext& c, const Graph& body) {
  const Tensor* most = c.constant_if_known(0);
  if (most == nullptr || most->elements() != 1) return -1;
  if (c.has_input(1) && !(is_true(c.constant_if_known(1)) && says_go_on(body))) return -1;
  return std::max<int64_t>(most->data<int64_t>()[0], 0);
}

Status infer_loop(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"body", kGraph}, {"carried", kInt}}));
  if (c.has_input(0)) ISOBIT_RETURN_IF_ERROR(expect_one(c, 0, DType::kInt64));
  if (c.has_input(1)) ISOBIT_RETURN_IF_ERROR(expect_one(c, 1, DType::kBool));
  ISOBIT_TRY(const int carried, count_of(c, "carried", c.input_count() - 2));
  ISOBIT_TRY(const Graph* body, graph_of(c, "body", static_cast<size_t>(c.input_count())));
  std::vector<Given> given = {{{DType::kInt64, one_element(*body, 0)}}, {{DType::kBool, one_element(*body, 1)}}};
  std::vector<Type> before;
  for (int i = 2; i < c.input_count(); ++i) {
    given.push_back(input_of(c, i));
    if (i >= 2 + carried) continue;
    given.back().constant = nullptr;
    before.push_back(given.back().type);
  }
  ISOBIT_RETURN_IF_ERROR(expect_outputs(c, *body, before.size(), 1));
  ISOBIT_TRY(const auto after, outputs_of("body", *body, std::move(given)));
  if (after[0].dtype != DType::kBool) return unreadable("output 0 of the body is no condition: its type is not bool");
  ISOBIT_RETURN_IF_ERROR(check_carried(before, after, 1));
  const bool stable = is_stable(before, after, 1);
  for (size_t o = 1; o < after.size(); ++o) {
    std::vector<int64_t> dims = kUnknownRank;
    if (stable && o <= before.size()) dims = before[o - 1].dims;
    if (stable && o > before.size()) {
      ISOBIT_TRY(dims, stacked(after[o], 0, trips_of(c, *body)));
    }
    c.set_output(static_cast<int>(o) - 1, after[o].dtype, std::move(dims));
  }
  return {};
}

// One number for each of `count` things, `otherwise` where the attribute is absent.
Expected<std::vector<int64_t>> numbers_of(const InferContext& c, const char* name, size_t count) {
  const auto numbers = c.attributes().integers(name, std::vector<int64_t>(count, 0));
  if (numbers.size() == count) return numbers;
  return unreadable(text_of("attribute '", name, "' has ", numbers.size(), " numbers, expected ", count));
}

Status expect_directions(const InferContext& c, const char* name, size_t count) {
  ISOBIT_TRY(const auto directions, numbers_of(c, name, count));
  if (std::ranges::all_of(directions, [](int64_t d) { return d == 0 || d == 1; })) return {};
  return unreadable(text_of("attribute '", name, "' has a direction that is neither 0 nor 1"));
}

// The elements of the sequences, appended to `given`, and how many there are: -1 where that is not known.
Expected<int64_t> take_elements(const InferContext& c, int first, const std::vector<int64_t>& axes,
                                std::vector<Given>& given) {
  int64_t length = -1;
  for (size_t s = 0; s < axes.size(); ++s) {
    const int i = first + static_cast<int>(s);
    Type element = {c.input(i).dtype, kUnknownRank};
    if (c.input(i).has_rank()) {
      ISOBIT_TRY(const int64_t axis, normalized_axis(axes[s], c.rank(i)));
      element.dims = c.dims(i);
      element.dims.erase(element.dims.begin() + axis);
      const int64_t found = c.dim(i, static_cast<int>(axis));
      if (length >= 0 && found >= 0 && found != length) {
        return unreadable(text_of("sequences of ", length, " and of ", found, " elements are scanned together"));
      }
      length = std::max(length, found);
    }
    given.push_back({std::move(element)});
  }
  return length;
}

Status infer_scan(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"body", kGraph},
                                              {"carried", kInt},
                                              {"num_scan_inputs", kInt},
                                              {"scan_input_axes", kInts},
                                              {"scan_input_directions", kInts},
                                              {"scan_output_axes", kInts},
                                              {"scan_output_directions", kInts}}));
  ISOBIT_TRY(const int carried, count_of(c, "carried", c.input_count()));
  ISOBIT_TRY(const int sequences, count_of(c, "num_scan_inputs", c.input_count() - carried));
  if (sequences == 0) return unreadable("nothing is scanned: 'num_scan_inputs' is 0");
  ISOBIT_TRY(const auto axes, numbers_of(c, "scan_input_axes", static_cast<size_t>(sequences)));
  ISOBIT_RETURN_IF_ERROR(expect_directions(c, "scan_input_directions", axes.size()));
  std::vector<Given> given;
  std::vector<Type> before;
  for (int i = 0; i < carried; ++i) {
    given.push_back({input_of(c, i).type});
    before.push_back(given.back().type);
  }
  ISOBIT_TRY(const int64_t length, take_elements(c, carried, axes, given));
  for (int i = carried + sequences; i < c.input_count(); ++i) given.push_back(input_of(c, i));
  ISOBIT_TRY(const Graph* body, graph_of(c, "body", given.size()));
  ISOBIT_RETURN_IF_ERROR(expect_outputs(c, *body, before.size(), 0));
  ISOBIT_TRY(const auto after, outputs_of("body", *body, std::move(given)));
  ISOBIT_RETURN_IF_ERROR(check_carried(before, after, 0));
  ISOBIT_TRY(const auto out_axes, numbers_of(c, "scan_output_axes", after.size() - before.size()));
  ISOBIT_RETURN_IF_ERROR(expect_directions(c, "scan_output_directions", out_axes.size()));
  const bool stable = is_stable(before, after, 0);
  for (size_t o = 0; o < after.size(); ++o) {
    std::vector<int64_t> dims = kUnknownRank;
    if (stable && o < before.size()) dims = before[o].dims;
    if (stable && o >= before.size()) {
      ISOBIT_TRY(dims, stacked(after[o], out_axes[o - before.size()], length));
    }
    c.set_output(static_cast<int>(o), after[o].dtype, std::move(dims));
  }
  return {};
}

}  // namespace

void add_control(std::vector<OpDef>& defs) {
  OpDef control{.name = "If",
                .max_inputs = kMostInputs,
                .max_outputs = kMostOutputs,
                .more_outputs_like_last = true,
                .infer = infer_if,
                .outputs = {judged_whole("it is made by nodes of its own")},
                .runs_graphs = true};
  add_ordered(defs, control);
  control.name = "Scan";
  control.infer = infer_scan;
  add_ordered(defs, control);
  control.name = "Loop";
  control.min_inputs = 2;
  control.optional_inputs = {.some = {0, 1}};
  control.infer = infer_loop;
  add_ordered(defs, control);
}

}  // namespace isobit::graph::ops
