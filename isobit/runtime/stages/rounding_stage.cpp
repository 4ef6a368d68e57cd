#include "isobit/runtime/stages/rounding_stage.h"

#include <algorithm>
#include <mutex>

#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/table.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::runtime {

using kernels::rounding::Decided;
using kernels::rounding::kUnit;
using kernels::rounding::line_bound;
using kernels::rounding::LineBounds;
using kernels::rounding::MatrixNorms;
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

void RoundedPieces::take(size_t output, Tensor& tensor, bool with_extent) {
  outputs_.push_back({output, tensor.data<double>(), tensor.elements(), 0, with_extent, {}});
}

void RoundedPieces::finish(int64_t n, int64_t begin, int64_t end) {
  for (Output& o : outputs_) {
    if (o.elements != n) continue;
    kernels::rounding::Extent extent;
    loops_->round(end - begin, o.data + begin, bits_, o.with_extent ? &extent : nullptr);
    const std::lock_guard<std::mutex> lock(merging_);
    o.extent.peak = std::max(o.extent.peak, extent.peak);
    o.extent.squares += extent.squares;
    o.finished += end - begin;
  }
}

const kernels::rounding::Extent* RoundedPieces::rounded(size_t output) const {
  const auto o = std::ranges::find(outputs_, output, &Output::index);
  if (o == outputs_.end() || o->finished == 0) return nullptr;
  ISOBIT_CHECK(o->finished == o->elements);
  return &o->extent;
}

kernels::Finisher* RoundingStage::finisher(KernelCall& call) {
  const graph::OpDef& def = graph::op_of(call.node);
  pieces_.begin(call.ctx.isa);
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    Tensor& tensor = call.outputs[o];
    if (tensor.defined() && tensor.dtype() == DType::kFloat64 && def.output(o).moved_from.empty()) {
      pieces_.take(o, tensor, extents_.wants(call.node.outputs[o]));
    }
  }
  return pieces_.takes_any() ? &pieces_ : nullptr;
}

void RoundingStage::round_output(KernelCall& call, int output) {
  Tensor& tensor = call.outputs[static_cast<size_t>(output)];
  double* data = tensor.data<double>();
  const bool no_sign = graph::op_of(call.node).is_inner_product();
  const bool wanted = extents_.wants(call.node.outputs[static_cast<size_t>(output)]);
  const kernels::rounding::Table& loops = kernels::rounding::table_of(call.ctx.isa);
  Extents::Extent extent;
  std::mutex merging;
  call.ctx.pool->parallel_for(tensor.elements(), 1 << 14, [&](int64_t begin, int64_t end) {
    Extents::Extent own;
    loops.round(end - begin, data + begin, bits_, wanted ? &own : nullptr);
    for (int64_t i = begin; no_sign && i < end; ++i) data[i] += 0.0;
    const std::lock_guard<std::mutex> lock(merging);
    extent.peak = std::max(extent.peak, own.peak);
    extent.squares += own.squares;
  });
  if (wanted) extents_.set(call.node.outputs[static_cast<size_t>(output)], extent);
}

std::vector<NearTie> RoundingStage::round_decided_outputs(KernelCall& call, std::vector<ProductBlock>& blocks,
                                                          double width) {
  const auto extent = [&](int i) {
    return extents_.of(call.ctx, call.node.inputs[static_cast<size_t>(i)], call.in(i));
  };
  LineBounds bounds;
  std::shared_ptr<const MatrixNorms> norms[2];
  const bool matrices = has_matrices(call.node);
  for (int i = 0; i < 2; ++i) {
    double& bound = i == 0 ? bounds.first : bounds.second;
    if (matrices && Extents::keeps_norms_of(call.in(i))) {
      norms[i] = extents_.norms_of(call.ctx, call.node.inputs[static_cast<size_t>(i)], call.in(i));
      bound = norms[i]->most();
    } else {
      bound = line_bound(blocks[0].k, extent(i));
    }
  }
  bounds.first_norms = norms[0].get();
  bounds.second_norms = norms[1].get();
  if (call.has(2)) bounds.bias = extent(2).peak;
  const bool wanted = extents_.wants(call.node.outputs[0]);
  Decided decided = round_decided(call.ctx, blocks, bounds, width, bits_, wanted);
  if (wanted) extents_.set(call.node.outputs[0], decided.extent);
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
    if (!def.output(o).moved_from.empty()) {
      extents_.set_of_moved(call, def.output(o), o);
    } else if (const Extents::Extent* extent = pieces_.rounded(o)) {
      if (extents_.wants(call.node.outputs[o])) extents_.set(call.node.outputs[o], *extent);
    } else {
      round_output(call, static_cast<int>(o));
    }
  }
  pieces_.end();
  return {};
}

// Who follows a log settles inner products in apply(); everything else is rounded, whatever the log says.
Status RoundingStage::apply_again(size_t index, KernelCall& call) {
  ISOBIT_CHECK(!graph::op_of(call.node).is_inner_product());
  return RoundingStage::apply(index, call);
}

}  // namespace isobit::runtime
