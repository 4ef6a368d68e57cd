#include "isobit/adversary/log_cheat.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/places.h"
#include "isobit/platform/platform.h"
#include "isobit/run/job_root.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/runtime/stages/legality.h"

namespace isobit::adversary {

namespace {

using kernels::rounding::Candidates;
using log::SparseEntry;
using Entries = std::vector<SparseEntry>;

// An inner product that has been rounded, as a forger sees it.
struct ForgedProduct {
  runtime::KernelCall& call;
  Entries& entries;
  runtime::ErrorBounds bounds;
  int bits;
  std::vector<kernels::rounding::ProductBlock> blocks;

  double& value(uint64_t position) { return call.out().data<double>()[position]; }
  // What some result within `width` of the exact value rounds to.
  Candidates within(uint64_t position, double width) const {
    const kernels::rounding::NearTie at = kernels::rounding::locate(blocks, position);
    const kernels::rounding::ProductBlock& b = blocks[at.block];
    return kernels::rounding::candidates(kernels::rounding::evaluate_exactly(b, at.i, at.j), width,
                                         kernels::rounding::magnitude_of(b, at.i, at.j), bits);
  }
  bool adds_exactly(uint64_t position) const {
    const kernels::rounding::NearTie at = kernels::rounding::locate(blocks, position);
    const kernels::rounding::ProductBlock& b = blocks[at.block];
    return kernels::rounding::adds_exactly(b, at.i, at.j, kernels::rounding::magnitude_of(b, at.i, at.j));
  }
  // An entry for what now is the value.
  SparseEntry says_the_value(uint64_t position) {
    const bool odd = kernels::rounding::parity(value(position), bits) == 1;
    return {position, odd ? SparseEntry::Kind::kOdd : SparseEntry::Kind::kEven, 0};
  }
};

// What becomes of the values that entries are made for.
enum class Far { kKept, kMoved };

// Entries for the first `most` values that are far from any boundary for every auditor, each in its place; the values
// themselves go one spacing away from zero if they are to be moved.
bool add_far_entries(ForgedProduct& p, Far values, uint64_t most) {
  const auto elements = static_cast<uint64_t>(p.call.out().elements());
  // To be moved it must be out of reach of any classical sum; else out of reach of an entry.
  const bool move = values == Far::kMoved;
  const double far = move ? kernels::rounding::exact_width(2 * p.bounds.sound)
                          : 2 * kernels::rounding::superfluous_width(p.bounds.divergence);
  uint64_t added = 0;
  Entries all;
  auto next = p.entries.begin();
  for (uint64_t at = 0; at < elements; ++at) {
    if (next != p.entries.end() && next->position == at) {
      all.push_back(*next++);
      continue;
    }
    double& value = p.value(at);
    if (added == most || value == 0 || !std::isfinite(value) || !p.within(at, far).one()) continue;
    if (move) value += std::copysign(kernels::rounding::spacing(value, p.bits), value);
    all.push_back(p.says_the_value(at));
    ++added;
  }
  p.entries = std::move(all);
  return added > 0;
}

// The first value without an entry that the sound bound lets lie on the other side of a boundary, moved there: beyond
// the job's bound, and not illegal.
bool move_beyond(ForgedProduct& p) {
  const auto elements = static_cast<uint64_t>(p.call.out().elements());
  auto next = p.entries.begin();
  for (uint64_t at = 0; at < elements; ++at) {
    if (next != p.entries.end() && next->position == at) {
      ++next;
      continue;
    }
    double& value = p.value(at);
    if (value == 0 || !std::isfinite(value)) continue;
    if (!p.within(at, 2 * kernels::rounding::superfluous_width(p.bounds.divergence)).one()) continue;
    const Candidates c = p.within(at, kernels::rounding::exact_width(p.bounds.sound));
    if (c.one() || p.adds_exactly(at)) continue;
    value = value == c.low ? c.high : c.low;
    p.entries.insert(next, {at, SparseEntry::Kind::kValue, static_cast<float>(value)});
    return true;
  }
  return false;
}

// The other side of the boundary for an entry's value, if a platform within the job's bound may have it.
bool take_other_side(ForgedProduct& p, SparseEntry& entry) {
  double& value = p.value(entry.position);
  const Candidates c = p.within(entry.position, kernels::rounding::exact_width(p.bounds.divergence));
  if (c.one() || !c.has(value) || p.adds_exactly(entry.position)) return false;
  value = value == c.low ? c.high : c.low;
  if (entry.kind == SparseEntry::Kind::kValue) {
    entry.value = static_cast<float>(value);
  } else {
    entry = p.says_the_value(entry.position);
  }
  return true;
}

bool nudge(ForgedProduct& p) {
  return std::any_of(p.entries.begin(), p.entries.end(), [&](SparseEntry& e) { return take_other_side(p, e); });
}

bool take_all_other_sides(ForgedProduct& p) {
  bool done = false;
  for (SparseEntry& e : p.entries) done |= take_other_side(p, e);
  return done;
}

// An entry that an auditor with the exact value would need.
bool remove_needed_entry(ForgedProduct& p) {
  const auto found = std::find_if(p.entries.begin(), p.entries.end(), [&](const SparseEntry& e) {
    return !p.within(e.position, kernels::rounding::auditor_width(p.bounds.divergence)).one();
  });
  if (found == p.entries.end()) return false;
  p.entries.erase(found);
  return true;
}

// All such entries, once their values are other than the exact ones, which an auditor without the entries takes.
bool hide_other_sides(ForgedProduct& p) {
  return std::erase_if(p.entries, [&](SparseEntry& e) {
           if (p.within(e.position, kernels::rounding::auditor_width(p.bounds.divergence)).one()) return false;
           const Candidates exact = p.within(e.position, 0);
           return exact.one() && (!exact.has(p.value(e.position)) || take_other_side(p, e));
         }) > 0;
}

tl::unexpected<Error> nothing_to_do(int64_t step) {
  return usage_error(text_of("step ", step, " gives this cheat nothing to do: no near-tie of its kind, or the same log",
                             "; choose another step, or make near-ties common with --set rounding.divergence=100000 "
                             "and a larger --set data.batch"));
}

// The entries of an inner product, which the log may hold none of.
Entries take_entries(log::SparseLog& log) {
  return log.nodes.empty() ? Entries{} : std::exchange(log.nodes, {})[0].entries;
}

// Which inner products a cheat changes: those of the step up to the first one that it could change, all of the step, or
// all of the step and of every later one.
enum class Span { kOnce, kStep, kEverAfter };

Cheat::Apply on_products(Span span, std::function<bool(ForgedProduct&)> act) {
  return [=](run::TrainRequest& request, int64_t step) -> Status {
    const auto done = std::make_shared<bool>(false);
    const runtime::RoundingRules rules = run::rounding_rules(request.job);
    LogFalsehood falsehood;
    falsehood.forge = [=](uint64_t at, size_t node, runtime::KernelCall& call, log::StepLog& log) {
      const auto t = static_cast<int64_t>(at);
      if (t < step || (t > step && span != Span::kEverAfter) || (*done && span == Span::kOnce)) return;
      if (!graph::op_of(call.node).is_inner_product()) return;
      std::vector<kernels::rounding::ProductBlock> blocks = runtime::product_blocks(call);
      if (blocks.empty()) return;
      auto& sparse = std::get<log::SparseLog>(log);
      Entries entries = take_entries(sparse);
      ForgedProduct product{call, entries, rules.bounds_of(call.node.op, blocks[0].k), rules.bits, std::move(blocks)};
      if (act(product)) *done = true;
      if (!entries.empty()) sparse.nodes = {{static_cast<uint32_t>(node), std::move(entries)}};
    };
    const int64_t last = span == Span::kEverAfter ? request.job.steps : step;
    falsehood.change = [=](uint64_t at, Bytes&) -> Status {
      if (static_cast<int64_t>(at) != last) return {};
      if (!*done) return nothing_to_do(last);
      *done = false;  // the request may be used again
      return {};
    };
    falsify_log(request, std::move(falsehood));
    return {};
  };
}

// Rounds against its decision what the decisions of this output say: what an auditor that believes them takes.
void reverse(Tensor& tensor, std::vector<uint8_t>& decisions, size_t most, int bits) {
  double* data = tensor.data<double>();
  for (size_t i = 0, done = 0; i < decisions.size() && done < most; ++i) {
    if (decisions[i] == 1 || !std::isfinite(data[i])) continue;
    const bool up = decisions[i] == 0;
    data[i] = kernels::rounding::neighbour(data[i], up, bits);
    decisions[i] = up ? 2 : 0;
    ++done;
  }
}

// At most `most` decisions of each output of the operators that `takes` are reversed, in that step and, if
// `ever_after`, in all later ones.
Cheat::Apply on_decisions(bool ever_after, size_t most, bool (*takes)(const graph::OpDef& op)) {
  return [=](run::TrainRequest& request, int64_t step) -> Status {
    const int bits = run::rounding_rules(request.job).bits;
    LogFalsehood falsehood;
    falsehood.forge = [=](uint64_t at, size_t, runtime::KernelCall& call, log::StepLog& log) {
      const auto t = static_cast<int64_t>(at);
      if ((ever_after ? t < step : t != step) || !takes(graph::op_of(call.node))) return;
      for (log::OvtOutput& o : std::get<log::OvtLog>(log).outputs) {
        reverse(call.outputs[o.output], o.decisions, most, bits);
      }
    };
    falsify_log(request, std::move(falsehood));
    return {};
  };
}

// What the job with the next seed writes for that step.
Expected<Bytes> segment_of_another_run(train::Job job, const platform::Platform& platform, int64_t step) {
  job.seed += 1;
  platform::Engine engine(platform);
  ISOBIT_TRY(const run::Session session, run::open_session(job, engine));
  const auto writer = run::make_step_log_writer(job, session.trainer->step_graph());
  Bytes segment;
  for (int64_t t = 1; t <= step; ++t) {
    runtime::Stage& stage = writer->begin(static_cast<uint64_t>(t));
    ISOBIT_RETURN_IF_ERROR(session.trainer->advance({.stage = &stage}).map([](auto&&) {}));
    ISOBIT_TRY(run::WrittenSegment written, writer->end());
    segment = std::move(written.bytes);
  }
  return segment;
}

// `act` makes of the step's segment what is stored in its place.
Status on_segment(run::TrainRequest& request, int64_t step, std::function<Expected<Bytes>(const Bytes&)> act) {
  const auto change = [=](uint64_t at, Bytes& segment) -> Status {
    if (static_cast<int64_t>(at) != step) return {};
    ISOBIT_TRY(Bytes changed, act(segment));
    if (changed == segment) return nothing_to_do(step);
    segment = std::move(changed);
    return {};
  };
  falsify_log(request, {.forge = {}, .change = change});
  return {};
}

Status take_foreign_segment(run::TrainRequest& request, int64_t step) {
  return on_segment(request, step, [job = request.job, platform = request.platform, step](const Bytes&) {
    return segment_of_another_run(job, platform, step);
  });
}

Status cut_segment(run::TrainRequest& request, int64_t step) {
  return on_segment(request, step, [](const Bytes& s) -> Expected<Bytes> {
    return Bytes(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2));
  });
}

Status write_unknown_version(run::TrainRequest& request, int64_t step) {
  return on_segment(request, step, [](const Bytes& s) -> Expected<Bytes> {
    constexpr size_t kVersionAt = 26;  // docs/formats/rounding-log.md
    Bytes changed = s;
    changed[kVersionAt] = 99;
    return changed;
  });
}

// The step before's is kept until its turn comes.
Status swap_segments(run::TrainRequest& request, int64_t step) {
  if (step < 2) return usage_error("step 1 has no step before it; choose a later --at");
  const auto kept = std::make_shared<Bytes>();
  const auto change = [=](uint64_t at, Bytes& segment) -> Status {
    if (static_cast<int64_t>(at) + 1 == step) *kept = segment;
    if (static_cast<int64_t>(at) == step) segment = *kept;
    return {};
  };
  falsify_log(request, {.forge = {}, .change = change});
  return {};
}

Status skip_self_check(run::TrainRequest& request, int64_t) {
  falsify_log(request, {.forge = {}, .change = {}, .self_check = runtime::SelfCheck::kNo});
  return {};
}

bool updates_state(const graph::OpDef& op) { return op.updates_state; }
bool is_inner_product(const graph::OpDef& op) { return op.is_inner_product(); }

bool move_far_value(ForgedProduct& p) { return add_far_entries(p, Far::kMoved, 1); }
bool add_one_entry(ForgedProduct& p) { return add_far_entries(p, Far::kKept, 1); }
bool add_all_entries(ForgedProduct& p) { return add_far_entries(p, Far::kKept, SIZE_MAX); }

}  // namespace

void falsify_log(run::TrainRequest& request, LogFalsehood falsehood) {
  request.conduct.log_writer = [falsehood = std::move(falsehood)](
                                   const train::Job& job,
                                   const train::StepGraph& graph) -> std::unique_ptr<run::StepLogWriter> {
    auto recorder = runtime::make_recorder(run::rounding_rules(job), falsehood.self_check);
    if (falsehood.forge) recorder = std::make_unique<ForgingRecorder>(std::move(recorder), falsehood.forge);
    return std::make_unique<LyingStepLogWriter>(run::make_step_log_writer(job, graph, std::move(recorder)),
                                                falsehood.change);
  };
}

const std::vector<Cheat>& log_cheats() {
  using enum LogNeeded;
  using enum Span;
  static const std::vector<Cheat> kCheats = {
      {"log-move", "a value far from any rounding boundary moved, and its log entry written to match",
       on_products(kOnce, move_far_value), kSparse},
      {"log-nudge", "one value next to a boundary moved to the boundary's other side, which no audit can refuse",
       on_products(kOnce, nudge), kSparse},
      {"log-many", "every value next to a boundary moved so, in this and all later steps",
       on_products(kEverAfter, take_all_other_sides), kSparse},
      {"log-beyond",
       "a value moved farther than the job's bound lets any platform, but not farther than any sum can be",
       on_products(kOnce, move_beyond), kSparse},
      {"log-add", "a log entry for a value that needs none", on_products(kOnce, add_one_entry), kSparse},
      {"log-pad", "log entries for all values that need none", on_products(kEverAfter, add_all_entries), kSparse},
      {"log-remove", "a log entry left out that auditors need", on_products(kOnce, remove_needed_entry), kSparse},
      {"log-hide", "values next to boundaries moved away from the exact ones, and their log entries left out",
       on_products(kStep, hide_other_sides), kSparse},
      {"log-swap", "the log of the step before in place of this step's, and committed as such", swap_segments, kAny},
      {"log-foreign", "the log of this step from a run with another seed, and committed as such", take_foreign_segment,
       kAny},
      {"log-cut", "the log of the step cut in half, and committed as such", cut_segment, kAny},
      {"log-version", "the log of the step in an unknown version, and committed as such", write_unknown_version, kAny},
      {"log-unchecked", "trained without a look at whether the platform keeps to the job's bound", skip_self_check,
       kAny},
      {"log-optimizer", "every decision of the optimizer reversed, in this and all later steps (rounding.log ovt)",
       on_decisions(true, SIZE_MAX, updates_state), kOvt},
      {"log-reverse", "one decision of each inner product reversed (rounding.log ovt)",
       on_decisions(false, 1, is_inner_product), kOvt},
  };
  return kCheats;
}

Status check_log(const Cheat& cheat, const train::Job& job) {
  if (!cheat.of_a_log()) return {};
  if (!train::arithmetic_of(job).logs) {
    return usage_error(text_of("cheat '", cheat.name, "': job '", job.name, "' keeps no rounding log; add --set ",
                               "job.arithmetic=logged-1"));
  }
  if (cheat.log == LogNeeded::kOvt && job.rounding.log != log::Kind::kOvt) {
    return usage_error(text_of("cheat '", cheat.name, "' changes decisions of an ovt log; add --set rounding.log=ovt"));
  }
  if (cheat.log == LogNeeded::kSparse && job.rounding.log != log::Kind::kSparse) {
    return usage_error(
        text_of("cheat '", cheat.name, "' changes entries of a sparse log; the job has rounding.log 'ovt'"));
  }
  return {};
}

}  // namespace isobit::adversary
