#include "isobit/runtime/stages/rounding_stage.h"

#include <algorithm>
#include <mutex>

#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/table.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::runtime {

using kernels::rounding::Decided;
using kernels::rounding::kUnit;
using kernels::rounding::magnitude_bound;
using kernels::rounding::NearTie;
using kernels::rounding::ProductBlock;
using kernels::rounding::round_decided;

namespace {

double value_of(const std::map<std::string, double>& by_operator, const std::string& op, double otherwise) {
  const auto found = by_operator.find(graph::short_name(op));
  return found == by_operator.end() ? otherwise : found->second;
}

}  // namespace

double sound_divergence(int64_t k) {
  const double n = static_cast<double>(k + 2);
  return 2 * n / (1 - n * kUnit);
}

ErrorBounds RoundingRules::bounds_of(const std::string& op, int64_t k) const {
  const double bound = sound_divergence(k);
  return {sound ? bound : std::min(value_of(divergences, op, divergence), bound), bound};
}

double RoundingRules::threshold_of(const std::string& op) const { return value_of(thresholds, op, threshold); }

std::vector<log::LoggedOutput> logged_outputs(const graph::Graph& graph, log::Kind kind) {
  std::vector<log::LoggedOutput> outputs;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const graph::Node& node = graph.nodes()[n];
    const graph::OpDef& def = graph::op_of(node);
    if (kind != log::Kind::kOvt && !def.is_inner_product()) continue;
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] == graph::kNoValue || !def.output(o).moved_from.empty()) continue;
      const graph::Value& value = graph.value(node.outputs[o]);
      if (value.dtype != DType::kFloat64 || !value.is_static()) continue;
      outputs.push_back(
          {static_cast<uint32_t>(n), static_cast<uint32_t>(o), static_cast<uint64_t>(value.shape().elements())});
    }
  }
  return outputs;
}

void RoundingStage::round_output(KernelCall& call, int output) {
  Tensor& tensor = call.outputs[static_cast<size_t>(output)];
  double* data = tensor.data<double>();
  const bool no_sign = graph::op_of(call.node).is_inner_product();
  const kernels::rounding::Table& loops = kernels::rounding::table_of(call.ctx.isa);
  Extents::Extent extent;
  std::mutex merging;
  call.ctx.pool->parallel_for(tensor.elements(), 1 << 14, [&](int64_t begin, int64_t end) {
    Extents::Extent own;
    loops.round(end - begin, data + begin, bits_, &own);
    for (int64_t i = begin; no_sign && i < end; ++i) data[i] += 0.0;
    const std::lock_guard<std::mutex> lock(merging);
    extent.peak = std::max(extent.peak, own.peak);
    extent.squares += own.squares;
  });
  extents_.set(call.node.outputs[static_cast<size_t>(output)], extent);
}

std::vector<NearTie> RoundingStage::round_decided_outputs(KernelCall& call, std::vector<ProductBlock>& blocks,
                                                          double width) {
  const auto extent = [&](int i) {
    return extents_.of(call.ctx, call.node.inputs[static_cast<size_t>(i)], call.in(i));
  };
  const double bound = magnitude_bound(blocks[0].k, extent(0), extent(1), call.has(2) ? extent(2).peak : 0);
  Decided decided = round_decided(call.ctx, blocks, bound, width, bits_);
  extents_.set(call.node.outputs[0], decided.extent);
  return std::move(decided.rest);
}

void RoundingStage::set_output(KernelCall& call, uint64_t position, double value) {
  call.out().data<double>()[position] = value;
  extents_.include(call.node.outputs[0], value);
}

Status RoundingStage::apply(size_t, KernelCall& call) {
  const graph::OpDef& def = graph::op_of(call.node);
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    const Tensor& tensor = call.outputs[o];
    if (!tensor.defined() || tensor.dtype() != DType::kFloat64) continue;
    if (def.output(o).moved_from.empty()) {
      round_output(call, static_cast<int>(o));
    } else {
      extents_.set_of_moved(call, def.output(o), o);
    }
  }
  return {};
}

// Who follows a log settles inner products in apply(); everything else is rounded, whatever the log says.
Status RoundingStage::apply_again(size_t index, KernelCall& call) {
  ISOBIT_CHECK(!graph::op_of(call.node).is_inner_product());
  return RoundingStage::apply(index, call);
}

}  // namespace isobit::runtime
