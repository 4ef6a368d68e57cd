#include "isobit/lab/explain/trial.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/kernels/vendor/vendor.h"
#include "isobit/platform/convolutions.h"

namespace isobit::lab::explain {
namespace {

using platform::Platform;

std::string core_of(const Platform& p) { return p.is_ordered() ? std::string(kernels::name_of(p.isa)) : p.core; }

std::string setting_of(const PlatformHere& native, Change change) {
  const Platform& p = native.platform;
  switch (change) {
    case Change::kArithmetic:
      return native.arithmetic;
    case Change::kLibrary:
      return core_of(p).empty() ? p.library : text_of(p.library, "@", core_of(p));
    case Change::kCoreType:
      return core_of(p).empty() ? "its own choice" : core_of(p);
    case Change::kThreads:
      return text_of(p.threads);
    case Change::kAlgorithm:
      break;
  }
  return p.algorithm.empty() ? "its own" : p.algorithm;
}

class Trials {
 public:
  Trials(const Replayer& replayer, const Replays& replays, const Replay& replay, bool products)
      : replayer_(replayer), replays_(replays), replay_(replay), products_(products) {}

  std::vector<Trial> all() {
    std::vector<Pair> pairs;
    for (int k = 1; k <= replay_.class_count(); ++k) {
      for (int l = k + 1; l <= replay_.class_count(); ++l) pairs.push_back(nearest(k, l));
    }
    std::ranges::stable_sort(pairs, {}, &Pair::ways);
    for (const Pair& pair : pairs) {
      for (const Change change : changes_between(native(pair.a), native(pair.b))) {
        attempt(pair.a, pair.b, change);
        if (pair.ways > 1) attempt(pair.b, pair.a, change);
      }
      if (pair.ways == 0 && products_ && !search(pair.a, pair.b)) search(pair.b, pair.a);
    }
    return std::move(trials_);
  }

 private:
  const PlatformHere& native(size_t i) const {
    return *std::ranges::find(replays_.platforms, replay_.platforms[i], &PlatformHere::place);
  }
  size_t place_of(size_t platform_place) const {
    return static_cast<size_t>(std::ranges::find(replay_.platforms, platform_place) - replay_.platforms.begin());
  }

  struct Pair {
    size_t a = 0, b = 0, ways = SIZE_MAX;
  };
  // Of the platforms of two classes those that differ in the fewest ways.
  Pair nearest(int k, int l) const {
    Pair best;
    for (size_t i = 0; i < replay_.platforms.size(); ++i) {
      for (size_t j = 0; replay_.classes[i] == k && j < replay_.platforms.size(); ++j) {
        if (replay_.classes[j] != l) continue;
        const size_t ways = changes_between(native(i), native(j)).size();
        if (ways < best.ways) best = {i, j, ways};
      }
    }
    return best;
  }

  // What somebody might have set on this platform that its name does not say.
  static std::vector<std::pair<Change, PlatformHere>> settings_beside(const PlatformHere& own) {
    std::vector<std::pair<Change, PlatformHere>> found;
    for (const kernels::VendorId& id : kernels::known_vendors(own.platform.library)) {
      if (id.core == own.platform.core) continue;
      found.emplace_back(Change::kCoreType, own);
      found.back().second.platform.core = id.core;
    }
    for (const std::string& algorithm : platform::convolution_algorithms()) {
      if (algorithm == own.platform.algorithm) continue;
      found.emplace_back(Change::kAlgorithm, own);
      found.back().second.platform.algorithm = algorithm;
    }
    return found;
  }

  bool search(size_t changing, size_t like) {
    for (const auto& [change, tried] : settings_beside(native(changing))) {
      if (trials_.size() == kMaxTrials) return false;
      Trial trial = made(changing, like, change, tried);
      if (!trial.agrees) continue;
      trials_.push_back(std::move(trial));
      return true;
    }
    return false;
  }

  void attempt(size_t changing, size_t like, Change change) {
    if (trials_.size() == kMaxTrials) return;
    trials_.push_back(made(changing, like, change, changed(native(changing), native(like), change)));
  }

  Trial made(size_t changing, size_t like, Change change, const PlatformHere& tried) const {
    Trial trial{replay_.platforms[changing],
                replay_.platforms[like],
                change,
                setting_of(native(changing), change),
                setting_of(tried, change),
                tried.text(),
                tried.text() == native(like).text() && tried.backend == native(like).backend,
                false,
                false,
                ""};
    // What a platform of the comparison makes the replay has shown already.
    const auto known = std::ranges::find_if(replays_.platforms, [&](const PlatformHere& n) {
      return n.text() == tried.text() && n.backend == tried.backend &&
             std::ranges::count(replay_.platforms, n.place) > 0;
    });
    std::optional<records::Hash128> bits;
    if (known != replays_.platforms.end()) {
      bits = replay_.results[place_of(known->place)];
    } else if (const auto here = platform::parse_platform(tried.platform.text()); !here) {
      trial.problem = here.error().message;
    } else if (const auto result = replayer_.bits_on(replay_, tried); !result) {
      trial.problem = result.error().message;
    } else {
      bits = *result;
    }
    if (bits) {
      trial.agrees = *bits == replay_.results[like];
      trial.unchanged = *bits == replay_.results[changing];
    }
    return trial;
  }

  const Replayer& replayer_;
  const Replays& replays_;
  const Replay& replay_;
  const bool products_;
  std::vector<Trial> trials_;
};

}  // namespace

const char* name_of(Change change) {
  switch (change) {
    case Change::kLibrary:
      return "library";
    case Change::kCoreType:
      return "core type";
    case Change::kThreads:
      return "threads";
    case Change::kArithmetic:
      return "arithmetic";
    case Change::kAlgorithm:
      break;
  }
  return "convolution algorithm";
}

std::vector<Change> changes_between(const PlatformHere& one, const PlatformHere& other) {
  const Platform &a = one.platform, &b = other.platform;
  std::vector<Change> changes;
  if (a.library != b.library) changes.push_back(Change::kLibrary);
  if (a.library == b.library && core_of(a) != core_of(b)) changes.push_back(Change::kCoreType);
  if (a.threads != b.threads) changes.push_back(Change::kThreads);
  if (a.algorithm != b.algorithm) changes.push_back(Change::kAlgorithm);
  if (platform::find_arithmetic(one.arithmetic) != platform::find_arithmetic(other.arithmetic))
    changes.push_back(Change::kArithmetic);
  return changes;
}

PlatformHere changed(PlatformHere a, const PlatformHere& b, Change change) {
  switch (change) {
    case Change::kLibrary:
      a.platform.library = b.platform.library;
      [[fallthrough]];
    case Change::kCoreType:
      a.platform.core = b.platform.core;
      a.platform.isa = b.platform.isa;
      break;
    case Change::kThreads:
      a.platform.threads = b.platform.threads;
      break;
    case Change::kAlgorithm:
      a.platform.algorithm = b.platform.algorithm;
      break;
    case Change::kArithmetic:
      a.arithmetic = b.arithmetic;
      break;
  }
  return a;
}

std::vector<Trial> try_changes(const Replayer& replayer, const Replays& replays, const Replay& replay, bool products) {
  return Trials(replayer, replays, replay, products).all();
}

}  // namespace isobit::lab::explain
