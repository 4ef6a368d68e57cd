#include "isobit/runtime/stages/ovt_stage.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/places.h"
#include "isobit/kernels/rounding/table.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::auditor_width;
using kernels::rounding::evaluate_outputs;
using kernels::rounding::ExactOutput;
using kernels::rounding::locate;
using kernels::rounding::NearTie;
using kernels::rounding::ProductBlock;
using kernels::rounding::round_to_bits;
using kernels::rounding::Table;
using kernels::rounding::table_of;
using kernels::rounding::trainer_width;

constexpr int64_t kGrain = 1 << 14;
constexpr size_t kLookedAtTogether = 256;  // outputs evaluated before the next fault is looked for

// f(output) for every output that is rounded.
template <class F>
Status for_each_rounded(KernelCall& call, F f) {
  const graph::OpDef& def = graph::op_of(call.node);
  for (size_t o = 0; o < call.outputs.size(); ++o) {
    const Tensor& tensor = call.outputs[o];
    if (!def.output(o).moved_from.empty()) continue;
    if (tensor.defined() && tensor.dtype() == DType::kFloat64) ISOBIT_RETURN_IF_ERROR(f(static_cast<int>(o)));
  }
  return {};
}

// The positions at which a platform with results x would round against the decisions, ascending.
std::vector<uint64_t> contradicted(const kernels::KernelContext& ctx, std::span<const double> x,
                                   const std::vector<uint8_t>& decisions, int bits) {
  const Table& loops = table_of(ctx.isa);
  std::vector<uint64_t> positions;
  std::mutex merging;
  ctx.pool->parallel_for(static_cast<int64_t>(x.size()), kGrain, [&](int64_t begin, int64_t end) {
    std::vector<double> rounded(x.begin() + begin, x.begin() + end);
    std::vector<uint8_t> against(rounded.size());
    if (!loops.compare(end - begin, decisions.data() + begin, bits, rounded.data(), against.data())) return;
    const std::lock_guard<std::mutex> lock(merging);
    for (size_t i = 0; i < against.size(); ++i) {
      if (against[i] != 0) positions.push_back(static_cast<uint64_t>(begin) + i);
    }
  });
  std::sort(positions.begin(), positions.end());
  return positions;
}

uint64_t written(const std::vector<uint8_t>& decisions) {
  return decisions.size() - static_cast<uint64_t>(std::count(decisions.begin(), decisions.end(), uint8_t{1}));
}

}  // namespace

Status OvtRecorder::apply(size_t index, KernelCall& call) {
  return for_each_rounded(call, [&](int o) { return record(index, call, o); });
}

Status OvtRecorder::record(size_t index, KernelCall& call, int o) {
  const Table& loops = table_of(call.ctx.isa);
  const double threshold = rules_.threshold_of(call.node.op);
  const bool product = graph::op_of(call.node).is_inner_product();
  log::Counts& counts = counts_[call.node.op];
  Tensor& tensor = call.outputs[static_cast<size_t>(o)];
  log::OvtOutput entry{static_cast<uint32_t>(index), static_cast<uint32_t>(o),
                       std::vector<uint8_t>(static_cast<size_t>(tensor.elements()))};
  // Near-ties are looked for in values that have not been rounded, so here a copy is.
  const bool by_distance = product && rules_.distance;
  Tensor classified = by_distance ? tensor.clone() : tensor;
  double* x = classified.data<double>();
  call.ctx.pool->parallel_for(tensor.elements(), kGrain, [&](int64_t begin, int64_t end) {
    loops.classify(end - begin, threshold, rules_.bits, x + begin, entry.decisions.data() + begin);
    for (int64_t i = begin; product && i < end; ++i) x[i] += 0.0;
  });
  if (by_distance) ISOBIT_RETURN_IF_ERROR(settle_near_ties(call, entry.decisions, counts));
  counts.elements += entry.decisions.size();
  counts.entries += written(entry.decisions);
  log_.outputs.push_back(std::move(entry));
  return {};
}

Status OvtRecorder::settle_near_ties(KernelCall& call, std::vector<uint8_t>& decisions, log::Counts& counts) {
  std::vector<ProductBlock> blocks = product_blocks(call);
  if (blocks.empty()) return {};
  const ErrorBounds bounds = rules_.bounds_of(call.node.op, blocks[0].k);
  const bool checks = self_check_ == SelfCheck::kYes;
  if (checks) ISOBIT_RETURN_IF_ERROR(check_sample(call, blocks, bounds, step_, rules_.bits, counts));
  const std::vector<NearTie> ties = rounding_.round_decided_outputs(call, blocks, trainer_width(bounds.divergence));
  const std::vector<ExactOutput> outputs = evaluate_outputs(call.ctx, blocks, ties, rules_.bits);
  if (checks) ISOBIT_RETURN_IF_ERROR(check_own(call, bounds, outputs));
  for (const ExactOutput& o : outputs) {
    uint8_t& decision = decisions[o.at.position];
    if (cancels_for_decisions(o, bounds, rules_.bits)) {
      ++counts.evaluated;
      decision = 1;
      rounding_.set_output(call, o.at.position, o.rounded);
      continue;
    }
    const double x = o.at.value, r = round_to_bits(x, rules_.bits) + 0.0;
    decision = x < r ? 2 : x > r ? 0 : 1;
    rounding_.set_output(call, o.at.position, r);
  }
  return {};
}

void OvtFollower::begin_step(uint64_t step, log::StepLog log, StateBefore before) {
  begin(step, before);
  log_ = std::get<log::OvtLog>(std::move(log));
  next_ = 0;
}

Status OvtFollower::end_step() {
  if (next_ == log_.outputs.size()) return {};
  const std::string node = text_of("node ", log_.outputs[next_].node);
  return reject_damaged(node, text_of(node, ": the log has decisions for an output that takes none"));
}

Status OvtFollower::apply(size_t index, KernelCall& call) {
  return for_each_rounded(call, [&](int o) { return follow(index, call, o); });
}

Status OvtFollower::follow(size_t index, KernelCall& call, int o) {
  const Tensor& tensor = call.outputs[static_cast<size_t>(o)];
  const log::OvtOutput* entry = next_ < log_.outputs.size() ? &log_.outputs[next_] : nullptr;
  if (entry == nullptr || entry->node != index || entry->output != static_cast<uint32_t>(o) ||
      entry->decisions.size() != static_cast<size_t>(tensor.elements())) {
    return reject_damaged(call.node.name, text_of(call.node.name, ": the log has no decisions for its output ", o,
                                                  " of ", tensor.elements(), " elements"));
  }
  ++next_;
  log::Counts& counts = counts_[call.node.op];
  counts.elements += entry->decisions.size();
  counts.entries += written(entry->decisions);
  const bool by_distance = graph::op_of(call.node).is_inner_product() && rules_.distance;
  return by_distance ? follow_by_distance(call, *entry, counts) : follow_unchecked(call, o, *entry, counts);
}

Status OvtFollower::follow_unchecked(KernelCall& call, int o, const log::OvtOutput& entry, log::Counts& counts) {
  const Table& loops = table_of(call.ctx.isa);
  double* data = call.outputs[static_cast<size_t>(o)].data<double>();
  const bool product = graph::op_of(call.node).is_inner_product();
  std::atomic<uint64_t> corrections{0}, first{UINT64_MAX};
  call.ctx.pool->parallel_for(call.outputs[static_cast<size_t>(o)].elements(), kGrain, [&](int64_t begin, int64_t end) {
    const uint8_t* decisions = entry.decisions.data() + begin;
    std::vector<uint8_t> against(static_cast<size_t>(end - begin));
    uint64_t corrected = 0;
    if (loops.compare(end - begin, decisions, bits_, data + begin, against.data())) {
      for (int64_t i = 0; i < end - begin; ++i) {
        if (against[static_cast<size_t>(i)] == 0) continue;
        if (corrected++ == 0) {
          uint64_t least = first.load();
          const auto here = static_cast<uint64_t>(begin + i);
          while (here < least && !first.compare_exchange_weak(least, here)) {
          }
        }
        if (product) data[begin + i] = kernels::rounding::neighbour(data[begin + i], decisions[i] == 2, bits_);
      }
    }
    for (int64_t i = begin; product && i < end; ++i) data[i] += 0.0;
    corrections += corrected;
  });
  if (!product && corrections > 0) {
    return refuse(call, first,
                  text_of("the log corrects a value that every platform computes alike, as it does ", corrections - 1,
                          " others of this output"));
  }
  counts.corrections += corrections;
  return {};
}

Status OvtFollower::follow_by_distance(KernelCall& call, const log::OvtOutput& entry, log::Counts& counts) {
  std::vector<ProductBlock> blocks = product_blocks(call);
  if (blocks.empty()) return {};
  ISOBIT_TRY(const ErrorBounds bounds, begin_product(call, blocks, counts));
  const Tensor unrounded = call.out().clone();
  const std::span<const double> x = unrounded.span<double>();
  const std::vector<NearTie> needed = round_decided_outputs(call, blocks, auditor_width(bounds.divergence));
  counts.needed += needed.size();
  std::vector<uint64_t> positions = contradicted(call.ctx, x, entry.decisions, bits_);
  const auto contradictions = static_cast<std::ptrdiff_t>(positions.size());
  for (const NearTie& t : needed) positions.push_back(t.position);
  std::inplace_merge(positions.begin(), positions.begin() + contradictions, positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  for (size_t begin = 0; begin < positions.size(); begin += kLookedAtTogether) {
    std::vector<NearTie> places;
    for (size_t p = begin; p < std::min(positions.size(), begin + kLookedAtTogether); ++p) {
      places.push_back(locate(blocks, positions[p]));
      places.back().value = x[positions[p]];
    }
    ISOBIT_TRY(const std::vector<ExactOutput> outputs, evaluate(call, blocks, bounds, places));
    for (const ExactOutput& o : outputs) {
      const Ruling ruling = rule_on_decision(blocks[o.at.block], o, entry.decisions[o.at.position], bounds, bits_);
      ISOBIT_RETURN_IF_ERROR(admit(call, o, ruling, counts));
      set_output(call, o.at.position, ruling.value);
    }
  }
  return {};
}

}  // namespace isobit::runtime
