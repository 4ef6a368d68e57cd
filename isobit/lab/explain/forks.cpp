#include "isobit/lab/explain/forks.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"

namespace isobit::lab::explain {
namespace {

// Nodes that a region without recorded values between them may have: a longer one says nothing to anybody.
constexpr size_t kMaxRegion = 256;
// Looks at what one platform recorded and at values, over all forks: a second or a few.
constexpr uint64_t kMostWork = 500'000'000;

using Platforms = std::vector<size_t>;

// The nearest values behind a value that two platforms both recorded.
struct Sources {
  std::vector<const TracedValue*> recorded;
  std::set<size_t> region;  // nodes between them and the value, its own among them
  bool given = false;       // some are inputs or weights of the model
  std::string problem;
};

// Platforms that recorded the same of what lies behind a value. For two of them, and for two of two such kinds, the
// sources are always the same.
using Kinds = std::vector<Platforms>;

// Pairs of kinds that have these sources in common.
struct Frontier {
  Sources sources;
  std::set<std::pair<size_t, size_t>> pairs;  // of kinds, the smaller first
};

class Finder {
 public:
  Finder(const records::Subject& subject, const Trace& trace, const std::vector<records::GraphNode>& graph)
      : inputs_are_equal_(subject.model_sha256.has_value() && subject.input_sha256.has_value()),
        trace_(trace),
        graph_(graph) {
    for (size_t n = 0; n < graph.size(); ++n) {
      for (const std::string& output : graph[n].outputs) {
        if (!output.empty()) makers_.emplace(output, n);
      }
    }
    for (const TracedValue& value : trace.values) {
      values_[{value.step, value.name}].push_back(&value);
      if (value.class_count > 1) first_step_ = std::min(first_step_, value.step);
    }
  }

  TracedFork find(size_t place) {
    TracedFork fork;
    fork.value = place;
    const TracedValue& value = trace_.values[place];
    if (graph_.empty()) {
      fork.why_unknown = "the lab has no graph of the model, so that the operator's inputs are not known";
    } else if (!value.node) {
      fork.why_unknown = "no node of the model's graph makes a value of this name";
    } else if (values_.at({value.step, value.name}).size() > 1) {
      fork.why_unknown = "several values of one step have this name";
    } else {
      settle(value, fork);
    }
    return fork;
  }

 private:
  // Those that recorded the value.
  static Platforms recorders(const TracedValue& value) {
    Platforms all;
    for (size_t p = 0; p < value.classes.size(); ++p) {
      if (value.classes[p] != 0) all.push_back(p);
    }
    return all;
  }

  // Of two platforms: a value that one of them has not is replaced by what it is made of, and its node joins the
  // region.
  Sources sources_of(const TracedValue& value, size_t p, size_t q) {
    Sources found;
    std::vector<size_t> open = {*value.node};
    found.region.insert(*value.node);
    while (!open.empty() && found.problem.empty()) {
      const size_t node = open.back();
      open.pop_back();
      for (const std::string& name : graph_[node].inputs) {
        if (name.empty()) continue;
        ++work_;
        const auto maker = makers_.find(name);
        if (maker == makers_.end()) {
          found.given = true;
          continue;
        }
        const TracedValue* input = only_value(value.step, name);
        if (input != nullptr && input->classes[p] != 0 && input->classes[q] != 0) {
          found.recorded.push_back(input);
        } else if (found.region.insert(maker->second).second) {
          open.push_back(maker->second);
          if (found.region.size() > kMaxRegion) found.problem = "too few values were recorded before it";
        }
      }
    }
    if (found.given && value.step > first_step_) {
      found.problem = "it reads what an earlier step left behind, and platforms differed there";
    } else if (found.given && !inputs_are_equal_) {
      found.problem = "the records have no hashes of the model and its inputs, which this operator reads";
    }
    return found;
  }

  // Null where there is none, or several: a loop makes several of one name.
  const TracedValue* only_value(int64_t step, const std::string& name) const {
    const auto found = values_.find({step, name});
    return found == values_.end() || found->second.size() > 1 ? nullptr : found->second.front();
  }

  // By which of the values behind `value` they recorded, as far back as not all have recorded what is there.
  Kinds kinds_of(const TracedValue& value, const Platforms& all) {
    std::vector<std::vector<bool>> has(all.size());
    std::vector<size_t> open = {*value.node};
    std::set<size_t> nodes = {*value.node};
    std::set<std::string> looked;
    for (size_t next = 0; next < open.size(); ++next) {
      for (const std::string& name : graph_[open[next]].inputs) {
        const auto maker = makers_.find(name);
        if (maker == makers_.end() || !looked.insert(name).second) continue;
        const TracedValue* input = only_value(value.step, name);
        size_t having = 0;
        for (const size_t p : all) having += input != nullptr && input->classes[p] != 0;
        work_ += all.size();
        if (having == all.size()) continue;
        for (size_t i = 0; having > 0 && i < all.size(); ++i) has[i].push_back(input->classes[all[i]] != 0);
        if (nodes.insert(maker->second).second) open.push_back(maker->second);
      }
      if (open.size() <= 4 * kMaxRegion) continue;
      // Too much to look through: whatever they recorded counts.
      const std::vector<std::vector<bool>>& whole = recorded_at(value.step);
      for (size_t i = 0; i < all.size(); ++i) has[i] = whole[all[i]];
      break;
    }
    return grouped(all, has);
  }

  static Kinds grouped(const Platforms& all, const std::vector<std::vector<bool>>& has) {
    std::map<std::vector<bool>, size_t> places;
    Kinds kinds;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto [place, is_new] = places.emplace(has[i], kinds.size());
      if (is_new) kinds.emplace_back();
      kinds[place->second].push_back(all[i]);
    }
    return kinds;
  }

  // Of each platform: which values of the step it recorded.
  const std::vector<std::vector<bool>>& recorded_at(int64_t step) {
    auto& of_step = recorded_[step];
    if (!of_step.empty()) return of_step;
    for (const TracedValue& v : trace_.values) {
      if (v.step != step) continue;
      of_step.resize(v.classes.size());
      for (size_t p = 0; p < v.classes.size(); ++p) of_step[p].push_back(v.classes[p] != 0);
      work_ += v.classes.size();
    }
    return of_step;
  }

  // The sources of every two platforms that differ, the nearest first.
  std::vector<Frontier> frontiers_of(const TracedValue& value, const Kinds& kinds) {
    std::map<std::pair<size_t, std::set<size_t>>, Frontier> found;
    std::vector<std::set<int>> outputs;
    for (const Platforms& kind : kinds) {
      outputs.emplace_back();
      for (const size_t p : kind) outputs.back().insert(value.classes[p]);
    }
    for (size_t i = 0; i < kinds.size() && work_ <= kMostWork; ++i) {
      for (size_t j = i; j < kinds.size() && work_ <= kMostWork; ++j) {
        ++work_;
        if (outputs[i].size() == 1 && outputs[i] == outputs[j]) continue;
        Sources sources = sources_of(value, kinds[i].front(), kinds[j].front());
        Frontier& frontier = found[{sources.region.size(), sources.region}];
        if (frontier.pairs.empty()) frontier.sources = std::move(sources);
        frontier.pairs.emplace(i, j);
      }
    }
    std::vector<Frontier> all;
    for (auto& [key, frontier] : found) all.push_back(std::move(frontier));
    return all;
  }

  // Whether two platforms whose nearest common sources these are had them equal and made different outputs; fills the
  // fork if so. All that recorded them are told, nearer sources or not.
  bool split(const TracedValue& value, const Kinds& kinds, const Frontier& frontier, TracedFork& fork) {
    std::set<size_t> concerned;
    for (const auto& [i, j] : frontier.pairs) concerned.insert({i, j});
    struct Member {
      size_t platform, kind;
    };
    std::map<std::vector<int>, std::map<int, std::vector<Member>>> by_inputs;
    for (const size_t k : concerned) {
      for (const size_t p : kinds[k]) {
        std::vector<int> key;
        for (const TracedValue* input : frontier.sources.recorded) key.push_back(input->classes[p]);
        by_inputs[key][value.classes[p]].push_back({p, k});
        work_ += key.size() + 1;
      }
    }
    fork.input_classes = std::max(fork.input_classes, static_cast<int>(by_inputs.size()));
    for (const auto& [key, by_output] : by_inputs) {
      std::map<size_t, std::set<int>> outputs;  // of kinds
      Groups groups;
      for (const auto& [output, members] : by_output) {
        groups.emplace_back();
        for (const Member& m : members) {
          outputs[m.kind].insert(output);
          groups.back().push_back(m.platform);
        }
        std::ranges::sort(groups.back());
      }
      const bool differs = std::ranges::any_of(frontier.pairs, [&](const auto& pair) {
        const auto i = outputs.find(pair.first), j = outputs.find(pair.second);
        return i != outputs.end() && j != outputs.end() && (i->second.size() > 1 || i->second != j->second);
      });
      if (differs) fork.splits.push_back(std::move(groups));
      work_ += frontier.pairs.size();
    }
    std::ranges::stable_sort(fork.splits, [](const Groups& a, const Groups& b) { return a.size() > b.size(); });
    if (fork.splits.empty()) return false;
    fork.origin = Origin::kIntroduced;
    fork.region.assign(frontier.sources.region.begin(), frontier.sources.region.end());
    fork.input_classes = static_cast<int>(by_inputs.size());
    return true;
  }

  // What every two platforms both recorded decides: one may have looked where another has not.
  void settle(const TracedValue& value, TracedFork& fork) {
    constexpr char kTooMuch[] = "platforms recorded too many different sets of values to look at every two of them";
    if (work_ > kMostWork) {
      fork.why_unknown = kTooMuch;
      return;
    }
    const Kinds kinds = kinds_of(value, recorders(value));
    for (const Frontier& frontier : frontiers_of(value, kinds)) {
      if (!frontier.sources.problem.empty()) {
        fork.why_unknown = frontier.sources.problem;
      } else if (split(value, kinds, frontier, fork)) {
        fork.why_unknown.clear();
        return;
      }
    }
    if (work_ > kMostWork) fork.why_unknown = kTooMuch;
    if (fork.why_unknown.empty()) fork.origin = Origin::kInherited;
  }

  bool inputs_are_equal_;
  int64_t first_step_ = INT64_MAX;  // of a training: the first one that has a fork
  const Trace& trace_;
  const std::vector<records::GraphNode>& graph_;
  std::map<std::string, size_t> makers_;
  std::map<std::pair<int64_t, std::string>, std::vector<const TracedValue*>> values_;
  std::map<int64_t, std::vector<std::vector<bool>>> recorded_;
  uint64_t work_ = 0;
};

}  // namespace

const char* name_of(Origin origin) {
  switch (origin) {
    case Origin::kIntroduced:
      return "introduced";
    case Origin::kInherited:
      return "inherited";
    case Origin::kUnknown:
      break;
  }
  return "unknown";
}

std::vector<TracedFork> find_forks(const records::Subject& subject, const Trace& trace,
                                   const std::vector<records::GraphNode>& graph) {
  Finder finder(subject, trace, graph);
  std::vector<TracedFork> forks;
  for (size_t i = 0; i < trace.values.size(); ++i) {
    if (trace.values[i].class_count > 1) forks.push_back(finder.find(i));
  }
  return forks;
}

}  // namespace isobit::lab::explain
