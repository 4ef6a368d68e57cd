#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/verify/auditor.h"
#include "isobit/verify/walk_internal.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kSampleTag = "isobit.audit.sample";
constexpr uint32_t kSampleVersion = 1;

// Numbers that no party can choose: they depend on the seed and on the transcript, which was finished before the seed.
class Draw {
 public:
  Draw(ByteView seed, const commit::Digest& transcript_root) {
    prefix_.bytes(seed);
    prefix_.fixed(transcript_root);
  }

  // Uniform in [0, n).
  uint64_t below(uint64_t n) {
    const uint64_t low = (0 - n) % n;  // 2^64 mod n: values under it would make the small results likelier
    while (true) {
      const uint64_t value = next();
      if (value >= low) return value % n;
    }
  }

 private:
  uint64_t next() {
    ByteWriter writer = prefix_;
    writer.u64(counter_++);
    const commit::Digest digest = commit::tagged_hash(kSampleTag, kSampleVersion, writer.view());
    uint64_t value;
    std::memcpy(&value, digest.data(), sizeof value);
    return value;
  }

  ByteWriter prefix_;
  uint64_t counter_ = 0;
};

// Where the replay of one interval begins.
uint64_t nearest_start(const std::vector<uint64_t>& starts, uint64_t step) {
  return *std::prev(std::upper_bound(starts.begin(), starts.end(), step));
}

std::vector<uint64_t> committed_starts(const Transcript& claimed, const ReplayerSource& source) {
  std::vector<uint64_t> starts;
  for (uint64_t step : source.starts()) {
    if (claimed.committed_state(step)) starts.push_back(step);
  }
  ISOBIT_CHECK(!starts.empty() && starts.front() == 0);
  return starts;
}

uint64_t planned_steps(const std::vector<Interval>& intervals, const std::vector<uint64_t>& starts) {
  uint64_t total = 0, position = 0;
  for (const Interval& interval : intervals) {
    const uint64_t start = std::max(nearest_start(starts, interval.first_step - 1), position);
    total += interval.last_step - start;
    position = interval.last_step;
  }
  return total;
}

}  // namespace

std::vector<Interval> intervals_of(const TranscriptRules& rules) {
  std::vector<Interval> intervals;
  for (uint64_t done = 0; done < rules.steps;) {
    const uint64_t last = rules.steps - done > rules.commit_every ? done + rules.commit_every : rules.steps;
    intervals.push_back({done + 1, last});
    done = last;
  }
  return intervals;
}

Status check_seed(ByteView seed) {
  if (seed.size() < kMinSeedBytes) {
    return usage_error(text_of("--seed: has ", seed.size(), " bytes, expected at least ", kMinSeedBytes,
                               ": a shorter one could be guessed before the run ends"));
  }
  if (seed.size() <= kMaxSeedBytes) return {};
  return usage_error(text_of("--seed: has ", seed.size(), " bytes, expected at most ", kMaxSeedBytes));
}

std::vector<Interval> draw_intervals(const Transcript& claimed, uint64_t count, ByteView seed) {
  ISOBIT_CHECK(claimed.complete() && seed.size() >= kMinSeedBytes);
  std::vector<Interval> intervals = intervals_of(claimed.rules());
  if (intervals.empty()) return {};
  const Interval last = intervals.back();
  intervals.pop_back();
  count = std::min<uint64_t>(count, intervals.size());
  Draw draw(seed, claimed.transcript_root());
  for (uint64_t i = 0; i < count; ++i) std::swap(intervals[i], intervals[i + draw.below(intervals.size() - i)]);
  intervals.resize(count);
  std::sort(intervals.begin(), intervals.end(),
            [](const Interval& a, const Interval& b) { return a.first_step < b.first_step; });
  intervals.push_back(last);
  return intervals;
}

double detection_probability(uint64_t total, uint64_t wrong, uint64_t sampled) {
  ISOBIT_CHECK(wrong <= total && sampled <= total);
  // 1 - C(total - wrong, sampled) / C(total, sampled)
  if (wrong > total - sampled) return 1;
  double missed = 1;
  for (uint64_t i = 0; i < sampled; ++i) {
    missed *= static_cast<double>(total - wrong - i) / static_cast<double>(total - i);
  }
  return 1 - missed;
}

double sample_detection_probability(uint64_t intervals, uint64_t drawn) {
  if (intervals <= 1) return 1;  // the only one is always replayed
  return detection_probability(intervals - 1, 1, drawn);
}

Expected<AuditVerdict> audit_sample(const Transcript& claimed, ReplayerSource& source,
                                    const std::vector<Interval>& drawn, const AuditOptions& options) {
  ISOBIT_CHECK(options.batch != nullptr);
  Walk walk(claimed, options);
  if (!walk.claims_the_job()) return walk.verdict();
  ISOBIT_TRY(bool agrees, walk.compare_batches());
  if (!agrees) return walk.verdict();
  std::vector<Interval> intervals = drawn;
  const std::vector<Interval> all = intervals_of(claimed.rules());
  if (!all.empty() && (intervals.empty() || intervals.back() != all.back())) intervals.push_back(all.back());

  const std::vector<uint64_t> starts = committed_starts(claimed, source);
  walk.plan(planned_steps(intervals, starts));
  ISOBIT_TRY(std::unique_ptr<Replayer> replayer, source.open(0));
  ISOBIT_TRY(agrees, walk.begin(*replayer, 0));
  for (const Interval& interval : intervals) {
    if (!agrees) return walk.verdict();
    const uint64_t start = nearest_start(starts, interval.first_step - 1);
    if (start > walk.position()) {
      ISOBIT_TRY(replayer, source.open(start));
      ISOBIT_TRY(agrees, walk.begin(*replayer, start));
    }
    if (agrees) {
      ISOBIT_TRY(agrees, walk.advance_to(interval.last_step));
    }
  }
  if (agrees) {
    ISOBIT_TRY(agrees, walk.compare_final());
  }
  if (!agrees) return walk.verdict();
  walk.accept(walk.verdict().steps_checked == claimed.rules().steps,
              ", the initial state, all batches, the final state and the evaluation");
  return walk.verdict();
}

}  // namespace isobit::verify
