#include "isobit/graph/inner_graph_for_test.h"
#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::runtime {
namespace {

using graph::f32;
using graph::Graph;
using graph::i64;
using graph::Ids;
using graph::inner_graph;

// Of one operand or the other.
void add_if(std::vector<OperatorCase>& cases) {
  const auto minus = inner_graph({f32({4}), f32({4})}, [](Graph& g, const Ids& in) {
    return Ids{g.emit("Neg", {in[0]}, {}, "minus"), g.emit("Exp", {in[1]}, {}, "exp")};
  });
  const auto sum = inner_graph({f32({4}), f32({4})}, [](Graph& g, const Ids& in) {
    const graph::ValueId added = g.emit("Add", {in[0], in[1]}, {}, "sum");
    return Ids{added, g.emit("Tanh", {in[0]}, {}, "tanh")};
  });
  cases.push_back({"If", {truth({}), real({4}), real({4})}, {{"then_branch", minus}, {"else_branch", sum}}, 2});
}

// A condition of its own, so that it never goes on for more than a trip; or none.
void add_loop(std::vector<OperatorCase>& cases) {
  const std::vector<graph::Type> inputs = {i64({}), graph::boolean(), f32({3}), f32({3})};
  const auto once = inner_graph(inputs, [](Graph& g, const Ids& in) {
    const graph::ValueId no = g.add_initializer("no", graph::truth(false));
    return Ids{no, g.emit("Mul", {in[2], in[3]}, {}, "next")};
  });
  // Twice at most, and begun: the operand's bits are by place, and the first is true.
  const auto sums = inner_graph(inputs, [](Graph& g, const Ids& in) {
    const graph::ValueId one = g.add_initializer("one", Tensor::scalar(int64_t{1}));
    return Ids{g.emit("Less", {in[0], one}, {}, "goes_on"), g.emit("Add", {in[2], in[3]}, {}, "next")};
  });
  cases.push_back(
      {"Loop", {index({}, 3), boolean({}), real({3}), real({3})}, {{"body", sums}, {"carried", int64_t{1}}}, 1});
  for (int64_t below : {2, 3}) {
    cases.push_back(
        {"Loop", {index({}, below), truth({}), real({3}), real({3})}, {{"body", once}, {"carried", int64_t{1}}}, 1});
  }
}

void add_scan(std::vector<OperatorCase>& cases) {
  const auto body = inner_graph({f32({3}), f32({3}), f32({3})}, [](Graph& g, const Ids& in) {
    const graph::ValueId next = g.emit("Add", {in[0], in[1]}, {}, "next");
    return Ids{next, g.emit("Mul", {next, in[2]}, {}, "each")};
  });
  const graph::Attributes attributes = {{"body", body}, {"carried", int64_t{1}}, {"num_scan_inputs", int64_t{1}}};
  cases.push_back({"Scan", {real({3}), real({4, 3}), real({3})}, attributes, 2});
  graph::Attributes backward = attributes;
  backward.set("scan_input_axes", std::vector<int64_t>{1});
  backward.set("scan_input_directions", std::vector<int64_t>{1});
  backward.set("scan_output_axes", std::vector<int64_t>{-1});
  backward.set("scan_output_directions", std::vector<int64_t>{1});
  cases.push_back({"Scan", {real({3}), real({3, 4}), real({3})}, backward, 2});
}

}  // namespace

void add_control_cases(std::vector<OperatorCase>& cases) {
  add_if(cases);
  add_loop(cases);
  add_scan(cases);
}

}  // namespace isobit::runtime
