#include "isobit/lab/explain/diagnoses.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"

namespace isobit::lab::explain {
namespace {

class Diagnoser {
 public:
  Diagnoser(const Explanation& e, const Replayer& replayer, const Replays& replays)
      : e_(e), replayer_(replayer), replays_(replays) {}

  std::vector<DiagnosedPair> all() {
    std::set<std::string> seen;
    for (size_t r = 0; r < replays_.forks.size() && seen.size() < kMaxDiagnosed; ++r) {
      const Replay& replay = replays_.forks[r];
      if (replay.origin() != Origin::kIntroduced) continue;
      const onnx::Model& model = replayer_.part(replay).model;
      if (seen.insert(model.graph.nodes.back().op).second) diagnose_fork(r);
    }
    return std::move(pairs_);
  }

 private:
  // Of each class of the replay its first platform.
  std::vector<size_t> representatives(const Replay& replay) const {
    std::vector<size_t> places;
    for (int k = 1; k <= replay.class_count() && places.size() < kMaxClassesAsked; ++k) {
      places.push_back(static_cast<size_t>(std::ranges::find(replay.classes, k) - replay.classes.begin()));
    }
    return places;
  }

  Answer asked(const OperatorCall& call, const Replay& replay, size_t place) const {
    const NativePlatform& native =
        *std::ranges::find(replays_.platforms, replay.platforms[place], &NativePlatform::place);
    Answer answer = ask(call, native.platform, native.arithmetic, *native.backend, replay.results[place]);
    answer.platform = native.place;
    return answer;
  }

  std::string label(size_t platform) const { return shortened(e_.comparison.platforms[platform].label); }

  void diagnose_fork(size_t r) {
    const Replay& replay = replays_.forks[r];
    const std::vector<size_t> places = representatives(replay);
    const auto call = operator_of({&replayer_.part(replay).model, &replayer_.feeds()});
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
    for (size_t i = 1; i < places.size(); ++i) {
      const Answer other = asked(*call, replay, places[i]);
      const Names names{label(first.platform), label(other.platform)};
      pairs_.push_back({r, first.platform, other.platform,
                        explain::diagnose(*call, first, other, reference ? &*reference : nullptr, names)});
    }
  }

  const Explanation& e_;
  const Replayer& replayer_;
  const Replays& replays_;
  std::vector<DiagnosedPair> pairs_;
};

}  // namespace

std::vector<DiagnosedPair> diagnose_forks(const Explanation& explanation, const Replayer& replayer,
                                          const Replays& replays) {
  return Diagnoser(explanation, replayer, replays).all();
}

}  // namespace isobit::lab::explain
