#include "isobit/lab/explain/forks.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"

namespace isobit::lab::explain {
namespace {

// Nodes that a region without recorded values between them may have: a longer one says nothing to anybody.
constexpr size_t kMaxRegion = 256;

using Platforms = std::vector<size_t>;

// Where the inputs of a node come from.
struct Sources {
  std::vector<const TracedValue*> recorded;
  std::set<size_t> region;
  bool given = false;  // some are inputs or weights of the model
  std::string problem;
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

  TracedFork find(size_t place) const {
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

  // The values that the node's inputs follow from, `needed` having recorded each: a value that one of them has not is
  // replaced by what it is made of, and its node joins the region.
  Sources sources_of(const TracedValue& value, const Platforms& needed, bool look_through) const {
    Sources found;
    std::vector<size_t> open = {*value.node};
    found.region.insert(*value.node);
    while (!open.empty() && found.problem.empty()) {
      const size_t node = open.back();
      open.pop_back();
      for (const std::string& name : graph_[node].inputs) {
        if (name.empty()) continue;
        const auto maker = makers_.find(name);
        if (maker == makers_.end()) {
          found.given = true;
          continue;
        }
        if (const TracedValue* input = recorded_by(value.step, name, needed)) {
          found.recorded.push_back(input);
        } else if (!look_through) {
          found.problem = text_of("its input '", name, "' was not recorded on all platforms");
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

  const TracedValue* recorded_by(int64_t step, const std::string& name, const Platforms& needed) const {
    const auto found = values_.find({step, name});
    if (found == values_.end() || found->second.size() > 1) return nullptr;
    const TracedValue* value = found->second.front();
    const bool all = std::ranges::all_of(needed, [&](size_t p) { return value->classes[p] != 0; });
    return all ? value : nullptr;
  }

  // Platforms that recorded every direct input.
  Platforms with_inputs(const TracedValue& value, const Platforms& all) const {
    Platforms some;
    for (const size_t p : all) {
      if (sources_of(value, {p}, false).problem.empty()) some.push_back(p);
    }
    return some;
  }

  // Whether platforms of equal inputs have different outputs; fills the fork if so.
  static bool split(const TracedValue& value, const Platforms& platforms, const Sources& sources, TracedFork& fork) {
    std::map<std::vector<int>, std::map<int, std::vector<size_t>>> by_inputs;
    for (const size_t p : platforms) {
      std::vector<int> key;
      for (const TracedValue* input : sources.recorded) key.push_back(input->classes[p]);
      by_inputs[key][value.classes[p]].push_back(p);
    }
    fork.input_classes = static_cast<int>(by_inputs.size());
    for (const auto& [key, by_output] : by_inputs) {
      if (by_output.size() < 2) continue;
      Groups groups;
      for (const auto& [output, members] : by_output) groups.push_back(members);
      fork.splits.push_back(std::move(groups));
    }
    std::ranges::stable_sort(fork.splits, [](const Groups& a, const Groups& b) { return a.size() > b.size(); });
    if (fork.splits.empty()) return false;
    fork.origin = Origin::kIntroduced;
    fork.region.assign(sources.region.begin(), sources.region.end());
    return true;
  }

  void settle(const TracedValue& value, TracedFork& fork) const {
    const Platforms all = recorders(value), some = with_inputs(value, all);
    if (some.size() > 1) {
      const Sources direct = sources_of(value, some, false);
      if (direct.problem.empty() && split(value, some, direct, fork)) return;
    }
    const Sources wider = sources_of(value, all, true);
    if (!wider.problem.empty()) {
      fork.why_unknown = wider.problem;
      return;
    }
    if (!split(value, all, wider, fork)) fork.origin = Origin::kInherited;
  }

  bool inputs_are_equal_;
  int64_t first_step_ = INT64_MAX;  // of a training: the first one that has a fork
  const Trace& trace_;
  const std::vector<records::GraphNode>& graph_;
  std::map<std::string, size_t> makers_;
  std::map<std::pair<int64_t, std::string>, std::vector<const TracedValue*>> values_;
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
  const Finder finder(subject, trace, graph);
  std::vector<TracedFork> forks;
  for (size_t i = 0; i < trace.values.size(); ++i) {
    if (trace.values[i].class_count > 1) forks.push_back(finder.find(i));
  }
  return forks;
}

}  // namespace isobit::lab::explain
