#include "isobit/lab/deviation/trace.h"

#include <algorithm>
#include <list>
#include <map>
#include <tuple>

#include "isobit/lab/deviation/dendrogram.h"

namespace isobit::lab::deviation {
namespace {

using records::RunRecord;
using records::ValueRecord;
using Key = std::tuple<int64_t, std::string, int>;  // step, name, occurrence

// The run with recorded operators that stands for a platform; null: there is none.
const RunRecord* tapped_run(const std::vector<const RunRecord*>& runs) {
  const RunRecord* chosen = nullptr;
  for (const RunRecord* run : settled(runs).ran) {
    if (!run->tapped) continue;
    if (chosen == nullptr || run->repeat < chosen->repeat) chosen = run;
  }
  return chosen;
}

// All traces as one list: what is new in a trace stands behind what precedes it there.
class Merged {
 public:
  explicit Merged(size_t platforms) : platforms_(platforms) {}

  void add(size_t platform, const RunRecord& run) {
    std::map<std::pair<int64_t, std::string>, int> seen;
    auto behind = list_.begin();
    for (const ValueRecord& value : run.values) {
      const int occurrence = seen[{value.step, value.name}]++;
      const auto [place, is_new] = places_.try_emplace(Key(value.step, value.name, occurrence));
      if (is_new) {
        place->second = list_.insert(behind, TracedValue());
        TracedValue& added = *place->second;
        added.step = value.step, added.name = value.name, added.op = value.op, added.occurrence = occurrence;
        added.at.resize(platforms_);
      }
      if (place->second->op.empty()) place->second->op = value.op;
      place->second->at[platform] = &value;
      behind = std::next(place->second);
    }
  }

  std::vector<TracedValue> take() { return {std::move_iterator(list_.begin()), std::move_iterator(list_.end())}; }

 private:
  size_t platforms_;
  std::list<TracedValue> list_;
  std::map<Key, std::list<TracedValue>::iterator> places_;
};

void number(TracedValue& value) {
  std::vector<std::tuple<std::string, std::vector<int64_t>, records::Hash128>> keys;
  for (const ValueRecord* r : value.at) {
    if (r != nullptr) keys.emplace_back(r->dtype, r->dims, r->hash);
  }
  const std::vector<int> classes = number_classes(keys);
  value.recorded = keys.size();
  value.classes.assign(value.at.size(), 0);
  for (size_t p = 0, k = 0; p < value.at.size(); ++p) {
    if (value.at[p] != nullptr) value.classes[p] = classes[k++];
  }
  value.class_count = std::ranges::max(classes);
}

// By step, then by node; a value that no node makes stays behind the one that it follows.
void order(std::vector<TracedValue>& values, const std::vector<records::GraphNode>& graph) {
  std::map<std::string, size_t> makers;
  for (size_t n = 0; n < graph.size(); ++n) {
    for (const std::string& output : graph[n].outputs) {
      if (!output.empty()) makers.emplace(output, n);
    }
  }
  std::map<int64_t, size_t> last;
  std::vector<std::tuple<int64_t, size_t, size_t>> keys;  // step, node, place
  for (size_t i = 0; i < values.size(); ++i) {
    TracedValue& value = values[i];
    if (const auto maker = makers.find(value.name); maker != makers.end()) {
      value.node = maker->second;
      last[value.step] = maker->second;
    }
    keys.emplace_back(value.step, last[value.step], i);
  }
  std::ranges::sort(keys);
  std::vector<TracedValue> sorted;
  sorted.reserve(values.size());
  for (const auto& key : keys) sorted.push_back(std::move(values[std::get<2>(key)]));
  values = std::move(sorted);
}

// What is known of a platform whether or not it ran.
using KnownAnyway = std::pair<std::vector<std::string>, int64_t>;
KnownAnyway known_anyway(const records::PlatformRecord& platform) {
  const auto field = [&](const char* name) {
    const auto found = platform.fields.find(name);
    return found == platform.fields.end() ? std::string() : found->second;
  };
  KnownAnyway known{{platform.name}, platform.cores};
  for (const char* name : {"version", "cpu", "environment", "emulator"}) known.first.push_back(field(name));
  // Flags of an emulated processor are known to what runs there.
  if (!field("emulator").empty()) return known;
  known.first.insert(known.first.end(), platform.cpu_flags.begin(), platform.cpu_flags.end());
  return known;
}

bool none_ran(const std::vector<const RunRecord*>& runs) {
  return std::ranges::none_of(runs, [](const RunRecord* run) { return run->error.empty(); });
}

}  // namespace

std::vector<std::vector<size_t>> TracedValue::groups() const {
  std::vector<std::vector<size_t>> all(static_cast<size_t>(class_count));
  for (size_t p = 0; p < classes.size(); ++p) {
    if (classes[p] != 0) all[static_cast<size_t>(classes[p]) - 1].push_back(p);
  }
  return all;
}

std::vector<std::vector<const RunRecord*>> runs_by_platform(const std::vector<RunRecord>& runs) {
  std::map<commit::Digest, size_t> places;
  std::vector<std::vector<const RunRecord*>> platforms;
  for (const RunRecord& run : runs) {
    const auto [place, is_new] = places.emplace(run.platform.digest(), platforms.size());
    if (is_new) platforms.emplace_back();
    platforms[place->second].push_back(&run);
  }
  std::map<KnownAnyway, size_t> whose_failures;  // those that ran go before
  for (const bool failed : {false, true}) {
    for (size_t p = 0; p < platforms.size(); ++p) {
      if (platforms[p].empty() || none_ran(platforms[p]) != failed) continue;
      const auto [place, is_new] = whose_failures.emplace(known_anyway(*platforms[p].front()->platform), p);
      if (is_new || !failed) continue;
      auto& runs_of = platforms[place->second];
      runs_of.insert(runs_of.end(), platforms[p].begin(), platforms[p].end());
      platforms[p].clear();
    }
  }
  std::erase_if(platforms, [](const auto& of_platform) { return of_platform.empty(); });
  return platforms;
}

Settled settled(const std::vector<const RunRecord*>& runs) {
  std::map<std::pair<bool, uint32_t>, std::vector<const RunRecord*>> claims;
  for (const RunRecord* run : runs) {
    if (run->error.empty() && !run->values.empty()) claims[{run->tapped, run->repeat}].push_back(run);
  }
  Settled settled;
  for (const auto& [of, records] : claims) {
    const auto other =
        std::ranges::find_if(records, [&](const RunRecord* run) { return run->values != records.front()->values; });
    if (other == records.end()) {
      settled.ran.push_back(records.front());
    } else {
      settled.contested.emplace_back(records.front(), *other);
    }
  }
  return settled;
}

Trace align(const std::vector<std::vector<const RunRecord*>>& platforms, const std::vector<records::GraphNode>& graph) {
  Trace trace;
  Merged merged(platforms.size());
  for (size_t p = 0; p < platforms.size(); ++p) {
    const RunRecord* run = tapped_run(platforms[p]);
    if (run == nullptr) continue;
    ++trace.platforms;
    merged.add(p, *run);
  }
  trace.values = merged.take();
  for (TracedValue& value : trace.values) number(value);
  order(trace.values, graph);
  return trace;
}

}  // namespace isobit::lab::deviation
