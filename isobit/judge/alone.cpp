#include "isobit/judge/alone.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/sources.h"
#include "isobit/runtime/executor.h"

namespace isobit::judge {
namespace {

using Dims = std::vector<int64_t>;
using graph::ops::Coordinates;

// Of input i in the reduced node: as many axes, each as long as its needs are far apart.
Dims reduced_dims(const Question& q, const Plan& plan, int i) {
  const Dims& dims = q.where.inputs[static_cast<size_t>(i)];
  Coordinates low, high;
  for (const graph::ElementSource& s : plan.needs) {
    if (s.of_statistic || s.input != i) continue;
    const Coordinates at = graph::ops::coordinates_of(dims, s.element);
    if (low.empty()) low = high = at;
    for (size_t a = 0; a < at.size(); ++a) {
      low[a] = std::min(low[a], at[a]);
      high[a] = std::max(high[a], at[a]);
    }
  }
  Dims reduced(dims.size(), 1);
  for (size_t a = 0; a < low.size(); ++a) reduced[a] = high[a] - low[a] + 1;
  return reduced;
}

void put(Tensor& tensor, int64_t element, Bits bits) {
  const size_t size = size_of(tensor.dtype());
  auto* to = static_cast<uint8_t*>(tensor.raw()) + static_cast<size_t>(element) * size;
  for (size_t i = 0; i < size; ++i) to[i] = static_cast<uint8_t>(bits >> (8 * i));
}

// Where the element is in the reduced output: at its own place where that has been left as long as it was, which is of
// an axis that was not reduced.
int64_t reduced_element(const Question& q, const Dims& reduced) {
  const Dims& dims = q.where.dims();
  if (reduced.size() != dims.size()) return 0;
  Coordinates at = graph::ops::coordinates_of(dims, q.where.element);
  for (size_t a = 0; a < at.size(); ++a) {
    if (reduced[a] != dims[a]) at[a] = 0;
  }
  return graph::ops::element_at(reduced, at);
}

}  // namespace

Expected<Bits> run_alone(const kernels::KernelContext& ctx, const Question& q, const Plan& plan,
                         std::span<const Bits> values) {
  const graph::Node& node = q.where.node;
  graph::Graph graph;
  runtime::Executor::Feeds feeds;
  std::vector<graph::ValueId> ids;
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    if (!q.where.has(i)) {
      ids.push_back(graph::kNoValue);
      continue;
    }
    const auto is_of_it = [i](const graph::ElementSource& s) { return !s.of_statistic && s.input == i; };
    if (std::ranges::none_of(plan.needs, is_of_it)) {
      // A parameter, which is no element of anything: shapes may follow from it.
      const Tensor* parameter = q.where.operand(i);
      if (parameter == nullptr) return unreadable(text_of("input ", i, " of node '", node.name, "' is not at hand"));
      ids.push_back(graph.add_initializer("parameter", *parameter));
      continue;
    }
    Tensor tensor(q.inputs[static_cast<size_t>(i)], Shape(reduced_dims(q, plan, i)));
    int64_t next = 0;
    for (size_t n = 0; n < plan.needs.size(); ++n) {
      if (!is_of_it(plan.needs[n])) continue;
      ISOBIT_CHECK(next < tensor.elements());
      put(tensor, next++, values[n]);
    }
    ISOBIT_CHECK(next == tensor.elements());
    ids.push_back(graph.add_input("input", tensor.dtype(), tensor.shape().dims()));
    feeds.emplace_back(ids.back(), std::move(tensor));
  }
  graph::Attributes attributes = node.attributes;
  if (q.def().draws_by_element) {
    attributes.set(graph::kFirstDraw, attributes.integer(graph::kFirstDraw, 0) + q.where.element);
  }
  std::vector<std::string> names;
  for (const graph::ValueId id : node.outputs) names.push_back(id == graph::kNoValue ? "" : "output");
  ISOBIT_TRY(const std::vector<graph::ValueId> outputs, graph.add_node(node.op, ids, attributes, names, node.name));
  graph.add_output(outputs[q.where.output]);
  ISOBIT_TRY(const std::vector<Tensor> found, runtime::Executor(graph).run(ctx, std::move(feeds)));
  const Tensor& all = found.front();
  const int64_t at = reduced_element(q, all.shape().dims());
  if (at >= all.elements()) return unreadable(text_of("node '", node.name, "' gives no such element"));
  return bits_of(all, at);
}

}  // namespace isobit::judge
