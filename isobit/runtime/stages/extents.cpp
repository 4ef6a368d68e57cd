#include "isobit/runtime/stages/extents.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "isobit/kernels/rounding/measure.h"

namespace isobit::runtime {
void Extents::begin(const graph::Graph& graph) {
  extents_.assign(graph.value_count(), {kUnknown, 0});
  same_as_.resize(extents_.size());
  std::iota(same_as_.begin(), same_as_.end(), graph::ValueId{0});
  for (const graph::Node& node : graph.nodes()) {
    // A view that only another table has is measured like any other value.
    const auto kernel = kernel_table().find(node.op);
    if (kernel == kernel_table().end() || !kernel->second.is_view) continue;
    same_as_[static_cast<size_t>(node.outputs[0])] = same_as_[static_cast<size_t>(node.inputs[0])];
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
