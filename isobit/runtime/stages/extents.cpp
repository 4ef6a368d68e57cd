#include "isobit/runtime/stages/extents.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "isobit/kernels/rounding/measure.h"

namespace isobit::runtime {
void Extents::begin(const graph::Graph& graph) {
  extents_.assign(graph.value_count(), {kUnknown, 0});
  norms_.clear();
  same_as_.resize(extents_.size());
  std::iota(same_as_.begin(), same_as_.end(), graph::ValueId{0});
  for (const graph::Node& node : graph.nodes()) {
    // A view that only another table has is measured like any other value.
    const auto kernel = kernel_table().find(node.op);
    if (kernel == kernel_table().end() || !kernel->second.is_view) continue;
    same_as_[static_cast<size_t>(node.outputs[0])] = same_as_[static_cast<size_t>(node.inputs[0])];
  }
  find_wanted(graph);
}

void Extents::find_wanted(const graph::Graph& graph) {
  wanted_.assign(extents_.size(), 0);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const graph::OpDef& def = graph::op_of(*node);
    const auto want = [&](size_t input) {
      const graph::ValueId id = input < node->inputs.size() ? node->inputs[input] : graph::kNoValue;
      if (id != graph::kNoValue) wanted_[static_cast<size_t>(same_as_[static_cast<size_t>(id)])] = 1;
    };
    for (size_t i = has_matrices(*node) ? 2 : 0; def.is_inner_product() && i < node->inputs.size(); ++i) want(i);
    for (size_t o = 0; o < node->outputs.size(); ++o) {
      if (!wants(node->outputs[o])) continue;
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        if (def.output(o).moved_from.contains(i)) want(i);
      }
    }
  }
}

Extents::Extent* Extents::find(graph::ValueId id) {
  if (id == graph::kNoValue || extents_.empty()) return nullptr;
  return &extents_[static_cast<size_t>(same_as_[static_cast<size_t>(id)])];
}

Extents::Extent Extents::of(const kernels::KernelContext& ctx, graph::ValueId id, const Tensor& tensor) {
  Extent* known = find(id);
  if (known != nullptr && known->peak != kUnknown) return *known;
  const Extent extent = kernels::rounding::measure(ctx, tensor.span<double>());
  if (known != nullptr) *known = extent;
  return extent;
}

bool Extents::keeps_norms_of(const Tensor& tensor) {
  if (tensor.shape().rank() < 2 || tensor.elements() == 0) return false;
  const int64_t rows = tensor.shape()[-2], columns = tensor.shape()[-1];
  return rows + columns <= rows * columns / 8;
}

std::shared_ptr<const kernels::rounding::MatrixNorms> Extents::norms_of(const kernels::KernelContext& ctx,
                                                                        graph::ValueId id, const Tensor& tensor) {
  const int64_t rows = tensor.shape()[-2], columns = tensor.shape()[-1];
  const auto compute = [&] {
    return std::make_shared<const kernels::rounding::MatrixNorms>(
        kernels::rounding::matrix_norms(ctx, tensor.span<double>(), rows, columns));
  };
  if (find(id) == nullptr) return compute();
  auto& known = norms_[same_as_[static_cast<size_t>(id)]];
  if (known == nullptr || known->rows != rows || known->columns != columns) known = compute();
  return known;
}

void Extents::set(graph::ValueId id, const Extent& extent) {
  if (Extent* known = find(id)) *known = extent;
}

void Extents::include(graph::ValueId id, double x) {
  Extent* known = find(id);
  if (known == nullptr || known->peak == kUnknown) return;
  known->peak = std::max(known->peak, std::fabs(x));
  known->squares += x * x;
}

void Extents::set_of_moved(const KernelCall& call, const graph::OutputDef& def, size_t output) {
  Extent extent;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!def.moved_from.contains(i) || call.inputs[i] == nullptr) continue;
    const Extent* known = find(call.node.inputs[i]);
    if (known == nullptr || known->peak == kUnknown) return;
    extent.peak = std::max(extent.peak, known->peak);
    extent.squares += known->squares;
  }
  const double elements = static_cast<double>(call.outputs[output].elements());
  if (!def.takes_each_once) extent.squares = elements * extent.peak * extent.peak;
  set(call.node.outputs[output], extent);
}

}  // namespace isobit::runtime
