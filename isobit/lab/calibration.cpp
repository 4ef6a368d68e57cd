#include "isobit/lab/calibration.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "isobit/graph/op.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/philox.h"

namespace isobit::lab {

using kernels::rounding::ExactOutput;
using kernels::rounding::NearTie;
using kernels::rounding::ProductBlock;
using runtime::KernelCall;
using runtime::NodeRun;

namespace {

// Against accident, not against an adversary.
uint64_t digest_of(const NodeRun& run) {
  uint64_t h = 0x9e3779b97f4a7c15ull;
  for (const Tensor* tensor : run.inputs) {
    if (tensor == nullptr || tensor->dtype() != DType::kFloat64) continue;
    for (double x : tensor->span<double>()) {
      h = std::rotl((h ^ numerics::bits_of(x)) * 0xbf58476d1ce4e5b9ull, 29);
    }
  }
  return h;
}

// Strictly ascending.
std::vector<uint64_t> positions(const numerics::Stream& stream, uint32_t node, uint64_t wanted, uint64_t outputs) {
  std::vector<uint64_t> drawn(std::min(wanted, outputs));
  if (drawn.size() == outputs) {
    std::iota(drawn.begin(), drawn.end(), uint64_t{0});
    return drawn;
  }
  for (uint64_t s = 0; s < drawn.size(); ++s) {
    drawn[s] = numerics::random_below(stream, (uint64_t{node} << 32) + s, outputs);
  }
  std::sort(drawn.begin(), drawn.end());
  drawn.erase(std::unique(drawn.begin(), drawn.end()), drawn.end());
  return drawn;
}

}  // namespace

std::vector<CalibrationSample> Calibration::draw(const NodeRun& run, const std::vector<ProductBlock>& blocks,
                                                 uint32_t node) const {
  const numerics::Stream stream{seed_, numerics::Purpose::kAuditSample, static_cast<uint32_t>(pass_)};
  const std::vector<uint64_t> drawn =
      positions(stream, node, samples_, static_cast<uint64_t>(run.outputs[0].elements()));
  std::vector<NearTie> places;
  places.reserve(drawn.size());
  for (uint64_t position : drawn) places.push_back(kernels::rounding::locate(blocks, position));
  std::vector<CalibrationSample> samples;
  samples.reserve(drawn.size());
  for (const ExactOutput& o : kernels::rounding::evaluate_outputs(run.ctx, blocks, places, rounding_.bits())) {
    samples.push_back({o.at.position, o.at.value, o.at.magnitude, o.z});
  }
  // Nothing can be set against a magnitude that is zero or has overflowed.
  std::erase_if(samples, [](const CalibrationSample& s) {
    return !std::isfinite(s.magnitude) || (s.magnitude == 0 && s.value == 0);
  });
  return samples;
}

Status ExactRounding::apply(size_t index, KernelCall& call) {
  undecided_.clear();
  if (!graph::op_of(call.node).is_inner_product()) return RoundingStage::apply(index, call);
  std::vector<ProductBlock> blocks = runtime::product_blocks(call);
  if (blocks.empty()) return {};
  undecided_ =
      round_decided_outputs(call, blocks, kernels::rounding::auditor_width(runtime::sound_divergence(blocks[0].k)));
  double* out = call.out().data<double>();
  for (const ExactOutput& o : kernels::rounding::evaluate_outputs(call.ctx, blocks, undecided_, bits())) {
    out[o.at.position] = o.rounded;
  }
  return {};
}

Status Calibration::before_stage(const NodeRun& run) {
  if (!graph::op_of(run.node).is_inner_product() || run.outputs[0].elements() == 0) return {};
  const std::vector<ProductBlock> blocks = runtime::product_blocks(run);
  CalibrationRecord record;
  record.pass = pass_;
  record.node = static_cast<uint32_t>(run.index + first_node_);
  record.k = blocks[0].k;
  record.outputs = static_cast<uint64_t>(run.outputs[0].elements());
  record.operands = digest_of(run);
  record.samples = draw(run, blocks, record.node);
  records_.push_back(std::move(record));
  return {};
}

Status Calibration::after_stage(const NodeRun& run) {
  if (!graph::op_of(run.node).is_inner_product() || run.outputs[0].elements() == 0) return {};
  for (const NearTie& t : rounding_.undecided()) records_.back().ties.push_back({t.position, t.value});
  return {};
}

}  // namespace isobit::lab
