#include "isobit/lab/profile/work.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/runtime/kernels/linear.h"

namespace isobit::lab::profile {
namespace {

int64_t pairs(const graph::Graph& graph, const graph::Node& node) {
  if (!graph::op_of(node).is_inner_product()) return 0;
  const auto shape = [&](graph::ValueId id) { return Shape(graph.value(id).dims); };
  const Shape out = shape(node.outputs[0]);
  const runtime::NodeProduct product =
      runtime::product_of_node(node, shape(node.inputs[0]), shape(node.inputs[1]), out);
  if (product.is_matmul) return out.elements() * product.matmul.k;
  // A convolution and both of its gradients multiply the same pairs: each position of its output, for each output
  // channel, with each weight of that channel.
  const kernels::ConvShape& c = product.conv;
  return c.n * c.oc * c.oh() * c.ow() * (c.ic / c.groups) * c.kh * c.kw;
}

}  // namespace

Work work_of(const graph::Graph& graph, const graph::Node& node, std::span<const graph::Node* const> following) {
  Work work;
  std::vector<graph::ValueId> moved = node.inputs;
  const graph::Node* last = &node;
  for (const graph::Node* next : following) {
    const graph::ValueId between = last->outputs[0];
    std::ranges::copy_if(next->inputs, std::back_inserter(moved), [&](graph::ValueId id) { return id != between; });
    last = next;
  }
  std::ranges::sort(moved);
  moved.erase(std::ranges::unique(moved).begin(), moved.end());
  moved.insert(moved.end(), last->outputs.begin(), last->outputs.end());
  for (const graph::ValueId id : moved) {
    if (id == graph::kNoValue) continue;
    const graph::Value& value = graph.value(id);
    if (!value.is_static()) return {};
    work.bytes += Shape(value.dims).elements() * static_cast<int64_t>(size_of(value.dtype));
  }
  work.operations = 2 * pairs(graph, node);
  work.in_float64 = graph.value(node.outputs[0]).dtype == DType::kFloat64;
  return work;
}

}  // namespace isobit::lab::profile
