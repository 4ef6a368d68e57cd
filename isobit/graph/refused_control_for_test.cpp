// Of the operators that run graphs: nodes that shape inference takes and nodes that it must refuse.
#include "isobit/graph/inner_graph_for_test.h"

namespace isobit::graph {
namespace {

using Graphs = std::shared_ptr<const Graph>;

const Type kX = f32({2, 3}), kRow = f32({3});

Attributes branches(Graphs if_true, Graphs if_false) {
  return {{"then_branch", std::move(if_true)}, {"else_branch", std::move(if_false)}};
}
Graphs sum() {
  return inner_graph({kX, kRow}, [](Graph& g, const Ids& in) { return Ids{g.emit("Add", {in[0], in[1]}, {}, "sum")}; });
}
Graphs minus() {
  return inner_graph({kX, kRow}, [](Graph& g, const Ids& in) { return Ids{g.emit("Neg", {in[0]}, {}, "minus")}; });
}

// (iteration, condition, x, row) -> (condition, x + row, the row)
Graphs loop_body() {
  return inner_graph({i64({}), boolean(), kX, kRow}, [](Graph& g, const Ids& in) {
    return Ids{in[1], g.emit("Add", {in[2], in[3]}, {}, "next"), g.emit("Relu", {in[3]}, {}, "each")};
  });
}
Attributes loop(Graphs body, int64_t carried = 1) { return {{"body", std::move(body)}, {"carried", carried}}; }

// (state, element, factor) -> (state + element, element * factor)
Graphs scan_body() {
  return inner_graph({kRow, kRow, kRow}, [](Graph& g, const Ids& in) {
    return Ids{g.emit("Add", {in[0], in[1]}, {}, "next"), g.emit("Mul", {in[1], in[2]}, {}, "each")};
  });
}
Attributes scan(const Attributes& more = {}) {
  Attributes all = {{"body", scan_body()}, {"carried", int64_t{1}}, {"num_scan_inputs", int64_t{1}}};
  for (const auto& [name, attribute] : more.items()) all.set(name, attribute);
  return all;
}

}  // namespace

void add_accepted_control(std::vector<Accepted>& all) {
  all.push_back({"If", {boolean(), kX, kRow}, {kX}, branches(sum(), minus())});
  all.push_back({"Loop", {i64({}), boolean({1}), kX, kRow}, {kX, f32({-1, 3})}, loop(loop_body())});
  all.push_back({"Scan", {kRow, f32({4, 3}), kRow}, {kRow, f32({4, 3})}, scan()});
  all.push_back({"Scan",
                 {kRow, f32({3, 4}), kRow},
                 {kRow, f32({3, 4})},
                 scan({{"scan_input_axes", Ints{-1}},
                       {"scan_output_axes", Ints{1}},
                       {"scan_input_directions", Ints{1}},
                       {"scan_output_directions", Ints{1}}})});
}

void add_refused_control(std::vector<Refused>& all) {
  const std::vector<Type> taken = {boolean(), kX, kRow};
  const Graphs two = inner_graph({kX, kRow}, [](Graph&, const Ids& in) { return Ids{in[0], in[1]}; });
  const Graphs doubled = inner_graph({kX, kRow}, [](Graph& g, const Ids& in) {
    return Ids{g.emit("Cast", {in[0]}, {{"to", static_cast<int64_t>(DType::kFloat64)}}, "double")};
  });
  const std::vector<Type> trips = {i64({}), boolean(), kX, kRow};
  const std::vector<Type> body_inputs = {i64({}), boolean(), kX, kRow};
  const auto loop_giving = [&](const std::function<Ids(Graph&, const Ids&)>& build) {
    return loop(inner_graph(body_inputs, build));
  };
  const std::vector<Type> scanned = {kRow, f32({4, 3}), kRow};
  for (const Refused& r : std::vector<Refused>{
           {"If", taken, "attribute 'then_branch' is missing"},
           {"If", taken, "attribute 'then_branch' has no graph", branches(nullptr, minus())},
           {"If", {kX, kX, kRow}, "has type float32, expected bool", branches(sum(), minus())},
           {"If", {boolean({2}), kX, kRow}, "expected one element", branches(sum(), minus())},
           {"If", {boolean(), kX}, "the graph of 'then_branch' has 2 inputs", branches(sum(), minus())},
           {"If", taken, "the branches have 1 and 2 outputs", branches(sum(), two)},
           {"If", taken, "float32 or float64, expected one type", branches(minus(), doubled)},
           {"If", {boolean(), kX, f64({3})}, "then_branch: node 'sum' (Add)", branches(sum(), minus())},
           {"Loop", {f32({}), boolean(), kX, kRow}, "expected int64", loop(loop_body())},
           {"Loop", {i64({2}), boolean(), kX, kRow}, "expected one element", loop(loop_body())},
           {"Loop", {i64({}), i64({}), kX, kRow}, "expected bool", loop(loop_body())},
           {"Loop", trips, "'carried' is 3, expected 0 to 2", loop(loop_body(), 3)},
           {"Loop", trips, "'carried' is -1, expected 0 to 2", loop(loop_body(), -1)},
           {"Loop", {i64({}), boolean(), kX}, "the graph of 'body' has 4 inputs", loop(loop_body())},
           {"Loop", trips, "the body has 1 outputs", loop_giving([](Graph&, const Ids& in) { return Ids{in[1]}; })},
           {"Loop", trips, "is no condition", loop_giving([](Graph&, const Ids& in) {
              return Ids{in[0], in[2]};
            })},
           {"Loop", trips, "the body makes int64 of the float32", loop_giving([](Graph&, const Ids& in) {
              return Ids{in[1], in[0]};
            })},
           {"Loop", {i64({}), boolean(), kX, f64({3})}, "body: node 'next' (Add)", loop(loop_body())},
           {"Scan", scanned, "nothing is scanned", scan({{"num_scan_inputs", int64_t{0}}})},
           {"Scan", scanned, "'num_scan_inputs' is 3, expected 0 to 2", scan({{"num_scan_inputs", int64_t{3}}})},
           {"Scan", scanned, "'carried' is 4, expected 0 to 3", scan({{"carried", int64_t{4}}})},
           {"Scan", scanned, "'scan_input_axes' has 2 numbers, expected 1", scan({{"scan_input_axes", Ints{0, 0}}})},
           {"Scan", scanned, "axis 2 is outside a tensor of rank 2", scan({{"scan_input_axes", Ints{2}}})},
           {"Scan", scanned, "axis -3 is outside a tensor of rank 2", scan({{"scan_output_axes", Ints{-3}}})},
           {"Scan", scanned, "neither 0 nor 1", scan({{"scan_input_directions", Ints{2}}})},
           {"Scan", scanned, "neither 0 nor 1", scan({{"scan_output_directions", Ints{-1}}})},
           {"Scan",
            {f32({4, 3}), f32({5, 3}), kRow},
            "sequences of 4 and of 5 elements",
            scan({{"carried", int64_t{0}}, {"num_scan_inputs", int64_t{2}}})},
           {"Scan", {kRow, f32({4, 3}), f64({3})}, "body: node 'each' (Mul)", scan()},
       }) {
    all.push_back(r);
  }
}

}  // namespace isobit::graph
