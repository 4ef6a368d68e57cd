#include "isobit/lab/explain/diagnoses.h"

#include <algorithm>
#include <functional>
#include <set>

#include "isobit/base/text.h"
#include "isobit/numerics/bits.h"

namespace isobit::lab::explain {
namespace {

// One operator of each name, and what it is called by itself; none: it cannot be.
using CallOf = std::function<Expected<OperatorCall>(size_t replay)>;

class Diagnoser {
 public:
  Diagnoser(const Explanation& e, const Replays& replays, CallOf call_of)
      : e_(e), replays_(replays), call_of_(std::move(call_of)) {}

  std::vector<DiagnosedPair> all() {
    std::set<std::string> seen;
    for (size_t r = 0; r < replays_.forks.size() && seen.size() < kMaxDiagnosed; ++r) {
      const Replay& replay = replays_.forks[r];
      if (replay.origin() != Origin::kIntroduced) continue;
      if (seen.insert(e_.trace.values[e_.forks[replay.fork].value].op).second) diagnose_fork(r);
    }
    return std::move(pairs_);
  }

 private:
  // Of each class of the replay its first platform.
  static std::vector<size_t> representatives(const Replay& replay) {
    std::vector<size_t> places;
    for (int k = 1; k <= replay.class_count() && places.size() < kMaxClassesAsked; ++k) {
      places.push_back(static_cast<size_t>(std::ranges::find(replay.classes, k) - replay.classes.begin()));
    }
    return places;
  }

  Answer asked(const OperatorCall& call, const Replay& replay, size_t place, const SumPlace* sum = nullptr) const {
    const PlatformHere& native = *std::ranges::find(replays_.platforms, replay.platforms[place], &PlatformHere::place);
    Answer answer = ask(call, native.platform, native.arithmetic, *native.backend, sum);
    answer.platform = native.place;
    // Is it the computation that was replayed?
    const std::string& value = e_.trace.values[e_.forks[replay.fork].value].name;
    for (size_t o = 0; o < answer.outputs.size(); ++o) {
      const bool is_it = call.graph.value(call.graph.outputs()[o]).name == value || answer.outputs.size() == 1;
      if (is_it && hash_of(answer.outputs[o]) != replay.results[place]) {
        answer.problem = "by itself the operator makes other bits than in its place";
      }
    }
    return answer;
  }

  static std::optional<SumPlace> sum_that_differs(const OperatorCall& call, const Answer& a, const Answer& b,
                                                  const std::optional<SumPlace>& preferred) {
    if (!is_sum(call) || !a.problem.empty() || !b.problem.empty()) return std::nullopt;
    if (a.outputs[0].dtype() != DType::kFloat32 || a.outputs[0].shape() != b.outputs[0].shape()) return std::nullopt;
    if (preferred) {
      const auto at = [&](const Answer& x) {
        return numerics::bits_of(x.outputs[0].data<float>()[preferred->element]);
      };
      if (at(a) != at(b)) return preferred;
    }
    return differing_place(call, a.outputs[0], b.outputs[0]);
  }

  DiagnosedPair judged(const OperatorCall& call, size_t r, const Answer& a, const Answer& b,
                       const Reference* reference) const {
    const Names names{label(a.platform), label(b.platform)};
    return {r, a.platform, b.platform, explain::diagnose(call, a, b, reference, names)};
  }

  std::string label(size_t platform) const { return shortened(e_.comparison.platforms[platform].label); }

  void diagnose_fork(size_t r) {
    const Replay& replay = replays_.forks[r];
    const std::vector<size_t> places = representatives(replay);
    const auto call = call_of_(r);
    if (!call) {
      for (size_t i = 1; i < places.size(); ++i) {
        pairs_.push_back({r,
                          replay.platforms[places[0]],
                          replay.platforms[places[i]],
                          {.words = text_of("It was not looked into: ", call.error().message, ".")}});
      }
      return;
    }
    const auto reference = reference_of(*call);
    const Answer first = asked(*call, replay, places[0]);
    std::optional<SumPlace> asked_about;
    Answer first_asked;
    for (size_t i = 1; i < places.size(); ++i) {
      const Answer other = asked(*call, replay, places[i]);
      if (const auto place = sum_that_differs(*call, first, other, asked_about)) {
        // The same element as before where that differs here, too: the first platform has answered then.
        if (!asked_about || *asked_about != *place) first_asked = asked(*call, replay, places[0], &*place);
        asked_about = place;
        pairs_.push_back(judged(*call, r, first_asked, asked(*call, replay, places[i], &*place), nullptr));
        continue;
      }
      pairs_.push_back(judged(*call, r, first, other, reference ? &*reference : nullptr));
    }
  }

  const Explanation& e_;
  const Replays& replays_;
  const CallOf call_of_;
  std::vector<DiagnosedPair> pairs_;
};

}  // namespace

std::vector<DiagnosedPair> diagnose_forks(const Explanation& explanation, const Replayer& replayer,
                                          const Replays& replays) {
  return Diagnoser(explanation, replays,
                   [&](size_t r) {
                     return operator_of({&replayer.part(replays.forks[r]).model, &replayer.feeds()});
                   })
      .all();
}

std::vector<DiagnosedPair> diagnose_forks(const Explanation& explanation, const TrainingReplays& training) {
  return Diagnoser(explanation, training.replays, [&](size_t r) -> Expected<OperatorCall> { return training.calls[r]; })
      .all();
}

}  // namespace isobit::lab::explain
