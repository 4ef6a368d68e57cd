#include "isobit/lab/calibration_stage.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "isobit/graph/op.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/philox.h"

namespace isobit::lab {

using runtime::ExactOutput;
using runtime::KernelCall;
using runtime::NearTie;
using runtime::ProductBlock;

namespace {

// Against accident, not against an adversary.
uint64_t digest_of(const KernelCall& call) {
  uint64_t h = 0x9e3779b97f4a7c15ull;
  for (const Tensor* tensor : call.inputs) {
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

std::vector<CalibrationSample> CalibrationStage::draw(const KernelCall& call, const std::vector<ProductBlock>& blocks,
                                                      uint32_t node) {
  const numerics::Stream stream{seed_, numerics::Purpose::kAuditSample, static_cast<uint32_t>(pass_)};
  const std::vector<uint64_t> drawn =
      positions(stream, node, samples_, static_cast<uint64_t>(call.outputs[0].elements()));
  std::vector<NearTie> places;
  places.reserve(drawn.size());
  for (uint64_t position : drawn) places.push_back(runtime::locate(blocks, position));
  std::vector<CalibrationSample> samples;
  samples.reserve(drawn.size());
  for (const ExactOutput& o : runtime::evaluate_outputs(call.ctx, blocks, places, bits_)) {
    samples.push_back({o.at.position, o.at.value, o.at.magnitude, o.z});
  }
  // Nothing can be set against a magnitude that is zero or has overflowed.
  std::erase_if(samples, [](const CalibrationSample& s) {
    return !std::isfinite(s.magnitude) || (s.magnitude == 0 && s.value == 0);
  });
  return samples;
}

Status CalibrationStage::apply(size_t index, KernelCall& call) {
  if (!graph::op_of(call.node).is_inner_product()) return RoundingStage::apply(index, call);
  std::vector<ProductBlock> blocks = runtime::product_blocks(call);
  if (blocks.empty()) return {};
  CalibrationRecord record;
  record.pass = pass_;
  record.node = static_cast<uint32_t>(index + first_node_);
  record.k = blocks[0].k;
  record.outputs = static_cast<uint64_t>(call.out().elements());
  record.operands = digest_of(call);
  record.samples = draw(call, blocks, record.node);

  const std::vector<NearTie> ties =
      round_decided_outputs(call, blocks, runtime::auditor_width(runtime::sound_divergence(record.k)));
  record.ties.reserve(ties.size());
  for (const NearTie& t : ties) record.ties.push_back({t.position, t.value});
  double* out = call.out().data<double>();
  for (const ExactOutput& o : runtime::evaluate_outputs(call.ctx, blocks, ties, bits_)) out[o.at.position] = o.rounded;
  records_.push_back(std::move(record));
  return {};
}

}  // namespace isobit::lab
