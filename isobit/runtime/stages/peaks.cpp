#include "isobit/runtime/stages/peaks.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "isobit/kernels/rounding/steps.h"

namespace isobit::runtime {

void Peaks::begin(const graph::Graph& graph) {
  peaks_.assign(graph.value_count(), kUnknown);
  same_as_.resize(peaks_.size());
  std::iota(same_as_.begin(), same_as_.end(), graph::ValueId{0});
  for (const graph::Node& node : graph.nodes()) {
    if (!kernel_table().at(node.op).is_view) continue;
    same_as_[static_cast<size_t>(node.outputs[0])] = same_as_[static_cast<size_t>(node.inputs[0])];
  }
}

double* Peaks::find(graph::ValueId id) {
  if (id == graph::kNoValue || peaks_.empty()) return nullptr;
  return &peaks_[static_cast<size_t>(same_as_[static_cast<size_t>(id)])];
}

double Peaks::of(const kernels::KernelContext& ctx, graph::ValueId id, const Tensor& tensor) {
  double* known = find(id);
  if (known != nullptr && *known != kUnknown) return *known;
  const kernels::rounding::Steps& steps = kernels::rounding::steps_of(ctx.isa);
  const double* data = tensor.data<double>();
  double peak = 0;
  std::mutex merging;
  ctx.pool->parallel_for(tensor.elements(), 1 << 15, [&](int64_t begin, int64_t end) {
    const double own = steps.peak(end - begin, data + begin);
    const std::lock_guard<std::mutex> lock(merging);
    peak = std::max(peak, own);
  });
  if (known != nullptr) *known = peak;
  return peak;
}

void Peaks::set(graph::ValueId id, double peak) {
  if (double* known = find(id)) *known = peak;
}

void Peaks::set_of_moved(const KernelCall& call) {
  double peak = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i] == nullptr || call.inputs[i]->dtype() != DType::kFloat64) continue;
    const double* known = find(call.node.inputs[i]);
    if (known == nullptr || *known == kUnknown) return;
    peak = std::max(peak, *known);
  }
  for (graph::ValueId id : call.node.outputs) set(id, peak);
}

}  // namespace isobit::runtime
