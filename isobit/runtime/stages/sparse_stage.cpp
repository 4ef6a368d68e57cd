#include "isobit/runtime/stages/sparse_stage.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/places.h"
#include "isobit/runtime/stages/inner_product.h"

namespace isobit::runtime {

using kernels::rounding::auditor_width;
using kernels::rounding::Candidates;
using kernels::rounding::candidates;
using kernels::rounding::evaluate_outputs;
using kernels::rounding::ExactOutput;
using kernels::rounding::locate;
using kernels::rounding::NearTie;
using kernels::rounding::parity;
using kernels::rounding::place_of;
using kernels::rounding::ProductBlock;
using kernels::rounding::round_to_bits;
using kernels::rounding::trainer_width;

namespace {

// Entries that are evaluated together: what a log of superfluous ones costs at most, besides the ones that are allowed.
constexpr size_t kTogether = 256;

bool neighbours(const Candidates& c, int bits) { return place_of(c.high, bits) - place_of(c.low, bits) == 1; }

// What a trainer writes down for an output that it rounds to r.
log::SparseEntry entry_of(const NearTie& t, double r, const ErrorBounds& bounds, int bits) {
  if (!neighbours(candidates(t.value, trainer_width(bounds.divergence), t.magnitude, bits), bits)) {
    return {t.position, log::SparseEntry::Kind::kValue, static_cast<float>(r)};
  }
  return {t.position, parity(r, bits) == 1 ? log::SparseEntry::Kind::kOdd : log::SparseEntry::Kind::kEven, 0};
}

}  // namespace

void SparseRecorder::begin_step(uint64_t step) {
  step_ = step;
  log_.nodes.clear();
}

Status SparseRecorder::apply(size_t index, KernelCall& call) {
  if (!graph::op_of(call.node).is_inner_product()) return rounding_.apply(index, call);
  std::vector<ProductBlock> blocks = product_blocks(call);
  if (blocks.empty()) return {};
  const ErrorBounds bounds = rules_.bounds_of(call.node.op, blocks[0].k);
  log::Counts& counts = counts_[call.node.op];
  const bool checks = self_check_ == SelfCheck::kYes;
  if (checks) ISOBIT_RETURN_IF_ERROR(check_sample(call, blocks, bounds, step_, rules_.bits, counts));
  const std::vector<NearTie> ties = rounding_.round_decided_outputs(call, blocks, trainer_width(bounds.divergence));
  counts.elements += static_cast<uint64_t>(call.out().elements());
  const std::vector<ExactOutput> outputs = evaluate_outputs(call.ctx, blocks, ties, rules_.bits);
  if (checks) ISOBIT_RETURN_IF_ERROR(check_own(call, bounds, outputs));
  log::SparseNode node{static_cast<uint32_t>(index), {}};
  for (const ExactOutput& o : outputs) {
    double& out = call.out().data<double>()[o.at.position];
    if (cancels(o, bounds, rules_.bits)) {
      ++counts.evaluated;
      out = o.rounded;
    } else {
      out = round_to_bits(o.at.value, rules_.bits) + 0.0;
      node.entries.push_back(entry_of(o.at, out, bounds, rules_.bits));
    }
  }
  counts.entries += node.entries.size();
  if (!node.entries.empty()) log_.nodes.push_back(std::move(node));
  return {};
}

void SparseFollower::begin_step(uint64_t step, log::StepLog log, StateBefore before) {
  begin(step, before);
  log_ = std::get<log::SparseLog>(std::move(log));
  next_ = 0;
}

Status SparseFollower::end_step() {
  if (next_ == log_.nodes.size()) return {};
  const std::string node = text_of("node ", log_.nodes[next_].node);
  return reject_damaged(node, text_of("the log has entries for ", node, ", which takes none"));
}

Status SparseFollower::apply(size_t index, KernelCall& call) {
  if (!graph::op_of(call.node).is_inner_product()) return RoundingStage::apply(index, call);
  static const std::vector<log::SparseEntry> kNone;
  const bool logged = next_ < log_.nodes.size() && log_.nodes[next_].node == index;
  const std::vector<log::SparseEntry>& entries = logged ? log_.nodes[next_++].entries : kNone;
  std::vector<ProductBlock> blocks = product_blocks(call);
  if (!entries.empty() && entries.back().position >= static_cast<uint64_t>(call.out().elements())) {
    return reject_damaged(call.node.name,
                          text_of(call.node.name, " (", call.node.op, "), element ", entries.back().position,
                                  ": is beyond its ", call.out().elements(), " elements"));
  }
  return blocks.empty() ? Status{} : follow(index, call, blocks, entries);
}

Status SparseFollower::follow(size_t index, KernelCall& call, std::vector<ProductBlock>& blocks,
                              const std::vector<log::SparseEntry>& entries) {
  log::Counts& counts = counts_[call.node.op];
  ISOBIT_TRY(const ErrorBounds bounds, begin_product(call, blocks, counts));
  ISOBIT_TRY(const std::vector<double> values, judge(index, call, blocks, bounds, entries, counts));
  std::vector<NearTie> needed = round_decided_outputs(call, blocks, auditor_width(bounds.divergence));
  counts.elements += static_cast<uint64_t>(call.out().elements());
  counts.entries += entries.size();
  counts.needed += needed.size();
  for (size_t e = 0; e < entries.size(); ++e) set_output(call, entries[e].position, values[e]);
  // What is needed and has no entry is decided by the exact value.
  std::erase_if(needed, [&](const NearTie& t) {
    const auto at =
        std::lower_bound(entries.begin(), entries.end(), t.position,
                         [](const log::SparseEntry& e, uint64_t position) { return e.position < position; });
    return at != entries.end() && at->position == t.position;
  });
  ISOBIT_TRY(const std::vector<ExactOutput> outputs, evaluate(call, blocks, bounds, needed));
  for (const ExactOutput& o : outputs) {
    const Ruling ruling = rule_on_entry(blocks[o.at.block], o, nullptr, bounds, bits_);
    ISOBIT_RETURN_IF_ERROR(admit(call, o, ruling, counts));
    set_output(call, o.at.position, ruling.value);
  }
  return {};
}

Expected<std::vector<double>> SparseFollower::judge(size_t index, KernelCall& call,
                                                    const std::vector<ProductBlock>& blocks, const ErrorBounds& bounds,
                                                    const std::vector<log::SparseEntry>& entries, log::Counts& counts) {
  std::vector<double> values;
  values.reserve(entries.size());
  for (size_t begin = 0; begin < entries.size(); begin += kTogether) {
    std::vector<NearTie> places;
    for (size_t e = begin; e < std::min(entries.size(), begin + kTogether); ++e) {
      places.push_back(locate(blocks, entries[e].position));
    }
    ISOBIT_TRY(const std::vector<ExactOutput> outputs, evaluate(call, blocks, bounds, places));
    for (const ExactOutput& o : outputs) {
      const log::SparseEntry& entry = entries[values.size()];
      const bool is_value =
          entry.kind != log::SparseEntry::Kind::kValue || round_to_bits(entry.value, bits_) == entry.value;
      if (on_illegal_ == OnIllegal::kTakeExact &&
          (!is_value || !rule_on_entry(blocks[o.at.block], o, &entry, bounds, bits_).taken())) {
        illegal_.push_back({static_cast<uint32_t>(index), entry.position});
        values.push_back(o.rounded);
        continue;
      }
      if (!is_value) {
        return tl::unexpected<Error>(
            reject_damaged(call.node.name,
                           text_of(call.node.name, " (", call.node.op, "), element ", entry.position, ": the log says ",
                                   entry.value, ", which is no value of ", bits_, " bits"))
                .error());
      }
      const Ruling ruling = rule_on_entry(blocks[o.at.block], o, &entry, bounds, bits_);
      ISOBIT_RETURN_IF_ERROR(admit(call, o, ruling, counts));
      values.push_back(ruling.value);
    }
  }
  return values;
}

}  // namespace isobit::runtime
