// The single change that makes two platforms agree: tried, on one operator and the same inputs.
#pragma once

#include "isobit/lab/explain/replay.h"

namespace isobit::lab::explain {

enum class Change { kLibrary, kCoreType, kThreads, kAlgorithm, kArithmetic };
const char* name_of(Change change);  // "library", "core type", ...

// Which of these two platforms differ in; a library brings its core types, which are then no change of their own.
std::vector<Change> changes_between(const PlatformHere& a, const PlatformHere& b);
// `a` with that of `b`.
PlatformHere changed(PlatformHere a, const PlatformHere& b, Change change);

struct Trial {
  size_t changed = 0, like = 0;  // platforms of the comparison: whose bits are to become those of the other
  Change change = Change::kLibrary;
  std::string from, to;    // "haswell", "skylakex"
  std::string platform;    // what was tried
  bool is_like = false;    // that is `like` itself: they differ in nothing else
  bool agrees = false;     // it made the bits of `like`
  bool unchanged = false;  // it made those of `changed`
  std::string problem;     // it could not be tried
};

// Of the replayed fork: for every two classes of its results, the two platforms that differ in the fewest ways; pairs
// that differ in few ways first. One that differs in one way only needs no more than the replay; of the others every
// change is tried from either side, at most kMaxTrials together. REQUIRES a replay that was reproduced.
// Platforms that differ in nothing that their names say (ReplayRequest::own) are given every other core type of their
// library and every algorithm of convolutions that there is, as long as none makes the other's bits; of those only the
// one that does is a trial. `products`: the fork is an inner product, which alone these can reach.
std::vector<Trial> try_changes(const Replayer& replayer, const Replays& replays, const Replay& replay, bool products);
constexpr size_t kMaxTrials = 24;

}  // namespace isobit::lab::explain
