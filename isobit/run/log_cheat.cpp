#include "isobit/run/log_cheat.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/run/job_root.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/runtime/stages/near_ties.h"

namespace isobit::run {

namespace {

using runtime::Candidates;
using runtime::SparseEntry;
using Entries = std::vector<SparseEntry>;

// An inner product that has been rounded, as a forger sees it.
struct Product {
  runtime::KernelCall& call;
  Entries& entries;
  double d;
  int bits;
  std::vector<runtime::ProductBlock> blocks;

  double& value(uint64_t position) { return call.out().data<double>()[position]; }
  // What some result within `width` of the exact value rounds to.
  Candidates within(uint64_t position, double width) const {
    const runtime::NearTie at = runtime::locate(blocks, position);
    const runtime::ProductBlock& b = blocks[at.block];
    return runtime::candidates(runtime::evaluate_exactly(b, at.i, at.j), width, runtime::magnitude_of(b, at.i, at.j),
                               bits);
  }
  // An entry for what now is the value.
  SparseEntry says_the_value(uint64_t position) {
    const bool odd = kernels::rounding::parity(value(position), bits) == 1;
    return {position, odd ? SparseEntry::Kind::kOdd : SparseEntry::Kind::kEven, 0};
  }
};

// An entry for the first value that is far from any boundary for every auditor, in its place; the value itself goes
// one spacing away from zero if it is to be moved.
bool add_far_entry(Product& p, bool move) {
  const auto elements = static_cast<uint64_t>(p.call.out().elements());
  auto next = p.entries.begin();
  for (uint64_t at = 0; at < elements; ++at) {
    if (next != p.entries.end() && next->position == at) {
      ++next;
      continue;
    }
    double& value = p.value(at);
    if (value == 0 || !std::isfinite(value)) continue;
    if (!p.within(at, 2 * runtime::superfluous_width(p.d)).one()) continue;
    if (move) value += std::copysign(kernels::rounding::spacing(value, p.bits), value);
    p.entries.insert(next, p.says_the_value(at));
    return true;
  }
  return false;
}

// The other side of the boundary for an entry's value, if a result within `width` may lie there.
bool take_other_side(Product& p, SparseEntry& entry, double width) {
  double& value = p.value(entry.position);
  const Candidates c = p.within(entry.position, width);
  if (c.one() || !c.has(value)) return false;
  value = value == c.low ? c.high : c.low;
  if (entry.kind == SparseEntry::Kind::kValue) {
    entry.value = static_cast<float>(value);
  } else {
    entry = p.says_the_value(entry.position);
  }
  return true;
}

bool nudge(Product& p) {
  for (SparseEntry& e : p.entries) {
    if (take_other_side(p, e, runtime::exact_width(p.d))) return true;
  }
  return false;
}

// Where the exact value is within `width` of a boundary every auditor takes either side; less than an auditor's own
// width, since its result may lie on the far side of the exact value.
bool take_all_other_sides(Product& p) {
  bool done = false;
  for (SparseEntry& e : p.entries) done |= take_other_side(p, e, 0.75 * runtime::auditor_width(p.d));
  return done;
}

// An entry that an auditor with the exact value would need.
bool remove_needed_entry(Product& p) {
  const auto found = std::find_if(p.entries.begin(), p.entries.end(), [&](const SparseEntry& e) {
    return !p.within(e.position, runtime::auditor_width(p.d)).one();
  });
  if (found == p.entries.end()) return false;
  p.entries.erase(found);
  return true;
}

tl::unexpected<Error> nothing_to_do(int64_t step) {
  return usage_error(text_of("step ", step, " gives this cheat nothing to do: no near-tie of its kind, or the same log",
                             "; choose another step, or make near-ties common with --set rounding.divergence=4096"));
}

// `act` on the inner products of the step, until it did something; of that step and all later ones if `ever_after`.
void on_products(TrainRequest& request, int64_t step, bool ever_after, std::function<bool(Product&)> act) {
  const auto done = std::make_shared<bool>(false);
  const runtime::RoundingRules rules = rounding_rules(request.job);
  request.tamper_log.product = [=](uint64_t at, runtime::KernelCall& call, Entries& entries) {
    const auto t = static_cast<int64_t>(at);
    if (ever_after ? t < step : t != step || *done) return;
    std::vector<runtime::ProductBlock> blocks = runtime::product_blocks(call);
    if (blocks.empty()) return;
    Product product{call, entries, rules.divergence_of(call.node.op, blocks[0].k), rules.bits, std::move(blocks)};
    if (act(product)) *done = true;
  };
  const int64_t last = ever_after ? request.job.steps : step;
  request.tamper_log.segment = [=](uint64_t at, Bytes&) -> Status {
    if (static_cast<int64_t>(at) != last) return {};
    if (!*done) return nothing_to_do(last);
    *done = false;  // the request may be used again
    return {};
  };
}

// What the job with the next seed writes for that step.
Expected<Bytes> segment_of_another_run(train::Job job, const platform::Platform& platform, int64_t step) {
  job.seed += 1;
  platform::Engine engine(platform);
  ISOBIT_TRY(const Session session, open_session(job, engine));
  LogWriter writer(job);
  for (int64_t t = 1; t <= step; ++t) {
    ISOBIT_TRY(const train::StepResult ignored,
               session.trainer->advance(nullptr, nullptr, &writer.begin(static_cast<uint64_t>(t))));
    (void)ignored;
  }
  return writer.segment();
}

void on_segment(TrainRequest& request, int64_t step, std::function<Expected<Bytes>(const Bytes&)> act) {
  request.tamper_log.segment = [=](uint64_t at, Bytes& segment) -> Status {
    if (static_cast<int64_t>(at) != step) return {};
    ISOBIT_TRY(Bytes changed, act(segment));
    if (changed == segment) return nothing_to_do(step);
    segment = std::move(changed);
    return {};
  };
}

// The step before's is kept until its turn comes.
void swap_segments(TrainRequest& request, int64_t step) {
  const auto kept = std::make_shared<Bytes>();
  request.tamper_log.segment = [=](uint64_t at, Bytes& segment) -> Status {
    if (static_cast<int64_t>(at) + 1 == step) *kept = segment;
    if (static_cast<int64_t>(at) == step) segment = *kept;
    return {};
  };
}

}  // namespace

const std::vector<Cheat>& log_cheats() {
  static const std::vector<Cheat> kCheats = {
      {"log-move", "a value far from any rounding boundary moved, and its log entry written to match", true},
      {"log-nudge", "one value next to a boundary moved to the boundary's other side, which no audit can refuse", true},
      {"log-many", "every value next to a boundary moved so, in this and all later steps", true},
      {"log-add", "a log entry for a value that needs none", true},
      {"log-remove", "a log entry left out that auditors need", true},
      {"log-swap", "the log of the step before in place of this step's, and committed as such", true},
      {"log-foreign", "the log of this step from a run with another seed, and committed as such", true},
      {"log-cut", "the log of the step cut in half, and committed as such", true},
      {"log-version", "the log of the step in an unknown version, and committed as such", true},
  };
  return kCheats;
}

Status apply_log_cheat(const std::string& name, int64_t step, TrainRequest& request) {
  const train::Job& job = request.job;
  if (!arithmetic_of(job).logs) {
    return usage_error(text_of("cheat '", name, "': job '", job.name, "' keeps no rounding log; add --set ",
                               "job.arithmetic=logged-1"));
  }
  if (name == "log-swap") {
    if (step < 2) return usage_error("cheat 'log-swap': step 1 has no step before it; choose a later --at");
    swap_segments(request, step);
  } else if (name == "log-foreign") {
    on_segment(request, step, [job, platform = request.platform, step](const Bytes&) {
      return segment_of_another_run(job, platform, step);
    });
  } else if (name == "log-cut") {
    on_segment(request, step, [](const Bytes& s) -> Expected<Bytes> {
      return Bytes(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(s.size() / 2));
    });
  } else if (name == "log-version") {
    on_segment(request, step, [](const Bytes& s) -> Expected<Bytes> {
      constexpr size_t kVersionAt = 26;  // docs/formats/rounding-log.md
      Bytes changed = s;
      changed[kVersionAt] = 99;
      return changed;
    });
  } else {
    if (log_kind(job) != verify::LogKind::kSparse) {
      return usage_error(text_of("cheat '", name, "' changes entries of a sparse log; the job has rounding.log 'ovt'"));
    }
    if (name == "log-move") on_products(request, step, false, [](Product& p) { return add_far_entry(p, true); });
    if (name == "log-add") on_products(request, step, false, [](Product& p) { return add_far_entry(p, false); });
    if (name == "log-nudge") on_products(request, step, false, nudge);
    if (name == "log-remove") on_products(request, step, false, remove_needed_entry);
    if (name == "log-many") on_products(request, step, true, take_all_other_sides);
  }
  return {};
}

}  // namespace isobit::run
