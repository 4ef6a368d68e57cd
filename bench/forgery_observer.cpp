#include "bench/forgery_observer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/places.h"

namespace isobit::bench {

using kernels::rounding::Candidates;
using kernels::rounding::candidates;
using kernels::rounding::norm_bounds;
using kernels::rounding::ProductBlock;
using kernels::rounding::round_to_bits;
using log::SparseEntry;
using runtime::detached;
using runtime::KernelCall;
using runtime::NodeRun;

namespace {

// Evenly spread over a list.
template <class T>
std::vector<T> spread(const std::vector<T>& all, size_t wanted) {
  std::vector<T> some;
  const size_t step = std::max<size_t>(1, all.size() / std::max<size_t>(1, wanted));
  for (size_t i = 0; i < all.size() && some.size() < wanted; i += step) some.push_back(all[i]);
  return some;
}

std::string name_of(const NodeRun& run, size_t output) {
  return text_of(run.node.name, " #", run.index, output == 0 ? "" : text_of(".", output));
}

}  // namespace

// An output somebody might move, the value it might be moved to, and whether the rule lets them.
struct ForgeryObserver::Suspect {
  uint64_t position = 0;
  double honest = 0, forged = 0;
  bool movable = false;
  bool found = false;  // movable, but beyond the job's bound: a finding
};

Status ForgeryObserver::before_stage(const NodeRun& run) {
  const graph::OpDef& def = graph::op_of(run.node);
  if (!def.only_moves_values()) look_at_decisions(run);
  return def.is_inner_product() ? look_at_product(run) : Status();
}

// The acceptance rule of legality.h, output by output. The product of norms is at least the magnitude, so where nothing
// else can be rounded to within the one, nothing can within the other; a closer look is for the rest.
std::vector<ForgeryObserver::Suspect> ForgeryObserver::judge(const NodeRun& run) const {
  const std::vector<ProductBlock> blocks = product_blocks(run);
  std::vector<Suspect> suspects;
  for (const ProductBlock& b : blocks) {
    const runtime::ErrorBounds bounds = rules_.bounds_of(run.node.op, b.k);
    const double widest =
        kernels::rounding::exact_width(bounds.sound) + kernels::rounding::superfluous_width(bounds.divergence);
    const std::vector<double> left = norm_bounds(run.ctx, b.left), right = norm_bounds(run.ctx, b.right);
    for (int64_t i = 0; i < b.m; ++i) {
      for (int64_t j = 0; j < b.n; ++j) {
        const double norms = left[static_cast<size_t>(i)] * right[static_cast<size_t>(j)] + std::fabs(b.bias(i, j));
        if (candidates(b.out[b.at(i, j)], widest, norms * (1 + 0x1p-19), rules_.bits).one()) continue;
        const kernels::rounding::NearTie at = locate(blocks, static_cast<uint64_t>(b.offset + b.at(i, j)));
        const kernels::rounding::ExactOutput o = evaluate_outputs(run.ctx, blocks, {at}, rules_.bits)[0];
        const Candidates c = candidates(o.z, kernels::rounding::exact_width(bounds.sound), o.at.magnitude, rules_.bits);
        Suspect s{at.position, round_to_bits(at.value, rules_.bits) + 0.0, 0, false, false};
        s.forged = kernels::rounding::neighbour(o.rounded, o.rounded == c.low, rules_.bits);
        const SparseEntry entry{at.position, SparseEntry::Kind::kValue, static_cast<float>(s.forged)};
        const runtime::Ruling ruling = rule_on_entry(b, o, &entry, bounds, rules_.bits);
        s.movable = ruling.taken();
        s.found = ruling.standing == runtime::Standing::kBeyond;
        suspects.push_back(s);
      }
    }
  }
  return suspects;
}

Status ForgeryObserver::look_at_product(const NodeRun& run) {
  const std::vector<Suspect> suspects = judge(run);
  Forgeable& tensor = tensors_[name_of(run, 0)];
  KernelCall call = detached(run);
  runtime::SparseRecorder recorder(rules_, runtime::SelfCheck::kNo);
  recorder.begin_step(step_);
  ISOBIT_RETURN_IF_ERROR(recorder.apply(run.index, call));
  std::vector<SparseEntry> honest;
  if (!recorder.log().nodes.empty()) honest = recorder.log().nodes[0].entries;
  std::vector<Suspect> movable, others;
  for (const Suspect& s : suspects) {
    (s.movable ? movable : others).push_back(s);
    ++(s.found ? tensor.found : s.movable ? tensor.sparse : tensor.refused);
  }
  // Outputs that are far from everything are tried as well.
  const double* rounded = call.out().data<double>();
  for (int64_t q = 0; q < 3; ++q) {
    const int64_t at = call.out().elements() * q / 3;
    if (rounded[at] == 0 || std::any_of(suspects.begin(), suspects.end(),
                                        [&](const Suspect& s) { return s.position == static_cast<uint64_t>(at); }))
      continue;
    others.push_back({static_cast<uint64_t>(at), rounded[at],
                      rounded[at] + std::copysign(kernels::rounding::spacing(rounded[at], rules_.bits), rounded[at]),
                      false, false});
  }
  const auto wanted = static_cast<size_t>(trials_wanted_);
  for (const Suspect& s : spread(movable, wanted)) try_entry(run, honest, s);
  for (const Suspect& s : spread(others, wanted)) try_entry(run, honest, s);
  return {};
}

void ForgeryObserver::try_entry(const NodeRun& run, const std::vector<SparseEntry>& honest, const Suspect& s) {
  log::SparseLog log{{{static_cast<uint32_t>(run.index), honest}}};
  std::vector<SparseEntry>& entries = log.nodes[0].entries;
  const auto at = std::lower_bound(entries.begin(), entries.end(), s.position,
                                   [](const SparseEntry& e, uint64_t p) { return e.position < p; });
  const SparseEntry forged{s.position, SparseEntry::Kind::kValue, static_cast<float>(s.forged)};
  if (at != entries.end() && at->position == s.position) {
    *at = forged;
  } else {
    entries.insert(at, forged);
  }
  runtime::SparseFollower follower(rules_);
  follower.begin_step(step_, std::move(log), runtime::StateBefore::kUnknown);
  KernelCall again = detached(run);
  const bool accepted = follower.apply(run.index, again).has_value();
  const bool moved = accepted && again.out().data<double>()[s.position] == s.forged;
  ++(accepted ? sparse_trials_.taken : sparse_trials_.refused);
  ++(moved == s.movable && accepted == moved ? sparse_trials_.agreed : sparse_trials_.differed);
}

// A reversed decision is 0 for 2 and 2 for 0. A forged one is whichever moves the value: 0 where it was rounded up, 2
// where down, so all values can be moved but those that needed no rounding.
void ForgeryObserver::look_at_decisions(const NodeRun& run) {
  KernelCall honest = detached(run);
  // As published, without the rules that were added: what they keep away is what is counted here.
  runtime::RoundingRules published = rules_;
  published.distance = false;
  runtime::OvtRecorder recorder(published);
  recorder.begin_step(step_);
  ISOBIT_CHECK(recorder.apply(run.index, honest).has_value());
  log::OvtLog forged = recorder.log();
  for (log::OvtOutput& o : forged.outputs) {
    const double *x = run.outputs[o.output].data<double>(), *r = honest.outputs[o.output].data<double>();
    Forgeable& tensor = tensors_[name_of(run, o.output)];
    tensor.op = run.node.op;
    tensor.elements += o.decisions.size();
    for (size_t i = 0; i < o.decisions.size(); ++i) {
      const uint8_t decision = o.decisions[i];
      tensor.reversed += decision != 1 ? 1 : 0;
      tensor.any += x[i] != r[i] ? 1 : 0;
      o.decisions[i] = static_cast<uint8_t>(2 - decision);
    }
  }
  if (!graph::op_of(run.node).is_inner_product()) return;  // refused by the follower
  // All reversed at once: nothing in this scheme looks at one of them.
  runtime::OvtFollower follower(published);
  follower.begin_step(step_, forged, runtime::StateBefore::kUnknown);
  KernelCall again = detached(run);
  ISOBIT_CHECK(follower.apply(run.index, again).has_value());
  for (const log::OvtOutput& o : forged.outputs) {
    const double *r = honest.outputs[o.output].data<double>(), *moved = again.outputs[o.output].data<double>();
    for (size_t i = 0; i < o.decisions.size(); ++i) {
      const bool taken = moved[i] != r[i];
      ++(taken ? ovt_trials_.taken : ovt_trials_.refused);
      ++(taken == (o.decisions[i] != 1) ? ovt_trials_.agreed : ovt_trials_.differed);
    }
  }
}

}  // namespace isobit::bench
