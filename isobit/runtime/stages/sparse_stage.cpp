#include "isobit/runtime/stages/sparse_stage.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/kernels/rounding/places.h"

namespace isobit::runtime {

using kernels::rounding::neighbour;
using kernels::rounding::parity;
using kernels::rounding::place_of;
using kernels::rounding::round_to_bits;

namespace {

bool neighbours(const Candidates& c, int bits) { return place_of(c.high, bits) - place_of(c.low, bits) == 1; }

// What an entry says, seen from a result y: of the values with that parity the one nearest to y.
double said_value(const SparseEntry& entry, double y, int bits) {
  if (entry.kind == SparseEntry::Kind::kValue) return static_cast<double>(entry.value) + 0.0;
  const double r = round_to_bits(y, bits) + 0.0;
  const int wanted = entry.kind == SparseEntry::Kind::kOdd ? 1 : 0;
  if (parity(r, bits) == wanted || !std::isfinite(y)) return r;
  return neighbour(r, y >= r, bits);
}

}  // namespace

void SparseRecorder::begin_step(uint64_t step) {
  step_ = step;
  products_before_ = products_;
  products_ = 0;
  log_.nodes.clear();
}

Status SparseRecorder::apply(size_t index, KernelCall& call) {
  if (!is_inner_product(call.node.op)) return RoundingStage::apply(index, call);
  std::vector<ProductBlock> blocks = product_blocks(call);
  if (blocks.empty()) return {};
  const double d = rules_.divergence_of(call.node.op, blocks[0].k);
  // One operator a step is checked, each in its turn.
  if (products_++ == (products_before_ == 0 ? 0 : step_ % products_before_)) {
    ISOBIT_RETURN_IF_ERROR(check_one_output(call, blocks, d, (step_ + 1) * 0x9e3779b97f4a7c15ull));
  }
  const std::vector<NearTie> ties = round_decided_outputs(call, blocks, trainer_width(d));
  LogCounts& counts = counts_[call.node.op];
  counts.elements += static_cast<uint64_t>(call.out().elements());
  counts.entries += ties.size();
  if (ties.empty()) return {};
  SparseNode node{static_cast<uint32_t>(index), {}};
  for (const NearTie& t : ties) {
    const Candidates c = candidates(t.value, trainer_width(d), t.magnitude, bits_);
    const double r = round_to_bits(t.value, bits_) + 0.0;
    const bool one_bit = neighbours(c, bits_);
    const auto kind = !one_bit                ? SparseEntry::Kind::kValue
                      : parity(r, bits_) == 1 ? SparseEntry::Kind::kOdd
                                              : SparseEntry::Kind::kEven;
    node.entries.push_back({t.position, kind, one_bit ? 0.0f : static_cast<float>(r)});
    call.out().data<double>()[t.position] = r;
  }
  log_.nodes.push_back(std::move(node));
  return {};
}

// An output that has an entry, needs one, or both.
struct SparseFollower::Place {
  const ProductBlock& block;
  NearTie tie;
  double d;
  const SparseEntry* entry;
  bool needed;
};

void SparseFollower::begin_step(SparseLog log) {
  log_ = std::move(log);
  next_ = 0;
  fault_.reset();
}

Status SparseFollower::end_step() {
  if (next_ == log_.nodes.size()) return {};
  fault_ = LogFault{text_of("node ", log_.nodes[next_].node),
                    text_of("the log has entries for node ", log_.nodes[next_].node, ", which takes none")};
  return rejected(fault_->what);
}

Status SparseFollower::reject(const KernelCall& call, uint64_t position, const std::string& what) {
  fault_ = LogFault{call.node.name, text_of(call.node.name, " (", call.node.op, "), element ", position, ": ", what)};
  return rejected(fault_->what);
}

Status SparseFollower::apply(size_t index, KernelCall& call) {
  if (!is_inner_product(call.node.op)) return RoundingStage::apply(index, call);
  static const std::vector<SparseEntry> kNone;
  const bool logged = next_ < log_.nodes.size() && log_.nodes[next_].node == index;
  const std::vector<SparseEntry>& entries = logged ? log_.nodes[next_++].entries : kNone;
  std::vector<ProductBlock> blocks = product_blocks(call);
  if (!entries.empty() && entries.back().position >= static_cast<uint64_t>(call.out().elements())) {
    return reject(call, entries.back().position, text_of("is beyond its ", call.out().elements(), " elements"));
  }
  return follow(call, blocks, entries);
}

Status SparseFollower::follow(KernelCall& call, std::vector<ProductBlock>& blocks,
                              const std::vector<SparseEntry>& entries) {
  if (blocks.empty()) return {};
  const double d = rules_.divergence_of(call.node.op, blocks[0].k);
  std::vector<NearTie> logged(entries.size());  // before they are rounded
  call.ctx.pool->parallel_for(static_cast<int64_t>(entries.size()), 8, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      NearTie& t = logged[static_cast<size_t>(q)];
      t = locate(blocks, entries[static_cast<size_t>(q)].position);
      t.magnitude = magnitude_of(blocks[t.block], t.i, t.j, call.ctx.isa);
    }
  });
  const std::vector<NearTie> needed = round_decided_outputs(call, blocks, auditor_width(d));
  LogCounts& counts = counts_[call.node.op];
  counts.elements += static_cast<uint64_t>(call.out().elements());
  counts.entries += entries.size();
  counts.needed += needed.size();
  size_t n = 0;
  for (size_t e = 0; e <= entries.size(); ++e) {
    const uint64_t position = e < entries.size() ? entries[e].position : UINT64_MAX;
    for (; n < needed.size() && needed[n].position < position; ++n) {
      ISOBIT_RETURN_IF_ERROR(decide_missing(call, {blocks[needed[n].block], needed[n], d, nullptr, true}, counts));
    }
    if (e == entries.size()) break;
    const bool also_needed = n < needed.size() && needed[n].position == position;
    n += also_needed ? 1 : 0;
    ISOBIT_RETURN_IF_ERROR(take(call, {blocks[logged[e].block], logged[e], d, &entries[e], also_needed}, counts));
  }
  return {};
}

Status SparseFollower::take(KernelCall& call, const Place& p, LogCounts& counts) {
  const double y = p.tie.value, own = round_to_bits(y, bits_) + 0.0;
  const double said = said_value(*p.entry, y, bits_);
  double& out = call.out().data<double>()[p.tie.position];
  if (!(round_to_bits(said, bits_) == said)) {
    return reject(call, p.tie.position, text_of("the log says ", said, ", which is no value of ", bits_, " bits"));
  }
  // Decided although a boundary is near: a zero or a tie that every platform computes exactly, whatever the bound.
  const bool exact = !p.needed && !candidates(y, auditor_width(p.d), p.tie.magnitude, bits_).one();
  if (exact || candidates(y, superfluous_width(p.d), p.tie.magnitude, bits_).one()) {
    ++counts.superfluous;
    if (said != own) {
      return reject(call, p.tie.position,
                    exact ? "the log moves a value that every platform computes exactly"
                          : "the log moves a value that is far from any rounding boundary");
    }
    out = own;
    return {};
  }
  if (!candidates(y, auditor_width(p.d), p.tie.magnitude, bits_).has(said)) {
    const ExactValue z = evaluate_exactly(p.block, p.tie.i, p.tie.j);
    if (!candidates(z, exact_width(p.d), p.tie.magnitude, bits_).has(said)) {
      return reject(call, p.tie.position,
                    text_of("the log says ", said, ", which no result within the error bound rounds to (exact value ",
                            z.high, ")"));
    }
    ++counts.beyond;
  }
  counts.corrections += said != own ? 1 : 0;
  out = said;
  return {};
}

// Without an entry the trainer found the value decided: exact evaluation finds the same, or there is no telling.
Status SparseFollower::decide_missing(KernelCall& call, const Place& p, LogCounts& counts) {
  const ExactValue z = evaluate_exactly(p.block, p.tie.i, p.tie.j);
  const Candidates c = candidates(z, exact_width(p.d), p.tie.magnitude, bits_);
  if (!c.one())
    return reject(call, p.tie.position, "is too close to a rounding boundary and the log has no entry for it");
  ++counts.missing;
  call.out().data<double>()[p.tie.position] = c.low;
  return {};
}

}  // namespace isobit::runtime
