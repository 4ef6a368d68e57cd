#include "isobit/cli/follow.h"

#include <chrono>
#include <thread>

#include "isobit/base/text.h"
#include "isobit/cli/interrupt.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/own_files.h"

namespace isobit::cli {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(400), kHeed = std::chrono::milliseconds(20);

// Whether it was not interrupted.
bool pause(const std::atomic<bool>& stop) {
  for (auto slept = std::chrono::milliseconds(0); slept < kLookEvery && !stop; slept += kHeed) {
    std::this_thread::sleep_for(kHeed);
  }
  return !stop;
}

std::string standing_text(uint64_t checked, uint64_t steps) {
  if (steps == 0) return "no head of the run was seen, nothing is checked";
  return text_of("checked up to step ", checked, " of ", steps);
}

std::string progress_text(const run::FollowProgress& p) {
  if (p.steps == 0) return text_of("waiting for ", p.waits_for);
  return text_of("checked ", p.checked, "/", p.steps, " steps, ", p.signed_for, " are signed for",
                 p.waits_for.empty() ? "" : text_of("; waiting for ", p.waits_for));
}

// A head may have been remembered before the first report of progress.
void report_stopped(const run::FollowSummary& s, Console& console) {
  const std::string done = s.at.steps > 0 || !s.last_head ? standing_text(s.at.checked, s.at.steps)
                                                          : "a head of the run was seen, nothing is checked";
  const std::string reason = text_of("stopped before the run had ended: ", done);
  nlohmann::ordered_json document = {{"verdict", "inconclusive"},
                                     {"complete", false},
                                     {"steps_checked", s.at.checked},
                                     {"signed_for", s.at.signed_for},
                                     {"steps", s.at.steps},
                                     {"before", s.at.before},
                                     {"reason", reason}};
  if (s.last_head) {
    document["last_head"] = {{"leaves", s.last_head->tree.size}, {"root", commit::hex_of(s.last_head->tree.root)}};
  }
  console.document(json_text(document));
  console.line(text_of("verdict       ", console.bad("inconclusive")));
  console.line(text_of("reason        ", reason));
  if (!s.last_head) return;
  console.line(text_of("last head     ", s.last_head->tree.size, " leaves, root ",
                       commit::hex_of(s.last_head->tree.root), ", is remembered"));
}

}  // namespace

std::string Standing::text() const { return standing_text(checked, steps); }

Expected<run::FollowSummary> follow(const run::AuditRequest& audit, const std::string& keep, Standing& standing,
                                    Console& console) {
  if (!keep.empty()) ISOBIT_RETURN_IF_ERROR(check_output(keep, true));
  const Interruptible interruptible;
  run::FollowRequest request;
  request.audit = audit;
  request.keep = keep;
  request.stop = &interruptible.stop();
  request.wait = [&] { return pause(interruptible.stop()); };
  double shown = 0;
  std::string told;
  bool told_before = false;
  request.progress = [&](const run::FollowProgress& p) {
    standing.checked = p.checked;
    standing.steps = p.steps;
    if (!p.problem.empty() && p.problem != told) {
      console.end_progress();
      console.note(text_of("waiting for ", p.waits_for, ": ", p.problem));
    }
    told = p.problem;
    if (p.before > 0 && !std::exchange(told_before, true)) {
      console.end_progress();
      console.note(text_of("goes on after step ", p.before, ", whose state is in ", keep));
    }
    const double now = monotonic_seconds();
    if (!console.shows_progress() || (p.waits_for.empty() && now - shown < 0.1)) return;
    shown = now;
    console.progress(progress_text(p));
  };
  auto summary = run::follow_run(request);
  console.end_progress();
  if (summary && !summary->ended) report_stopped(*summary, console);
  return summary;
}

}  // namespace isobit::cli
