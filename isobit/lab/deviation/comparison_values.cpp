// Where in the execution order platforms fork, and which CPU flags go with which class.
#include <algorithm>
#include <list>

#include "isobit/base/text.h"
#include "isobit/lab/deviation/comparison_internal.h"

namespace isobit::lab::deviation {
namespace {

using records::RunRecord;
using records::ValueRecord;

// The name of a value in a run: loops make several of one name.
using ValueKey = std::tuple<int64_t, std::string, int>;

struct Occurrence {
  size_t platform;
  const ValueRecord* value;
};

// The tapped run that stands for a platform; null: none.
const RunRecord* tapped_run(const std::vector<const RunRecord*>& runs) {
  const RunRecord* chosen = nullptr;
  for (const RunRecord* run : runs) {
    if (!run->tapped || !run->error.empty()) continue;
    if (chosen == nullptr || run->repeat < chosen->repeat) chosen = run;
  }
  return chosen;
}

int classes_of(const std::vector<Occurrence>& values, std::vector<std::vector<size_t>>* groups) {
  std::vector<std::tuple<std::string, std::vector<int64_t>, records::Hash128>> keys;
  for (const Occurrence& o : values) keys.emplace_back(o.value->dtype, o.value->dims, o.value->hash);
  const std::vector<int> classes = number_classes(keys);
  const int count = std::ranges::max(classes);
  if (groups != nullptr) {
    groups->assign(static_cast<size_t>(count), {});
    for (size_t i = 0; i < values.size(); ++i) {
      (*groups)[static_cast<size_t>(classes[i]) - 1].push_back(values[i].platform);
    }
  }
  return count;
}

std::string field(const PlatformResult& p, const std::string& name) {
  const auto found = p.record.fields.find(name);
  return found == p.record.fields.end() ? "" : found->second;
}

}  // namespace

void find_fork(Comparison& c, const std::vector<std::vector<const RunRecord*>>& runs) {
  // What one platform recorded and those before it did not goes behind the value that came before it there, so that a
  // platform that fuses operators does not move those of the others.
  std::list<ValueKey> order;
  std::map<ValueKey, std::list<ValueKey>::iterator> places;
  std::map<ValueKey, std::vector<Occurrence>> values;
  for (size_t p = 0; p < runs.size(); ++p) {
    const RunRecord* run = tapped_run(runs[p]);
    if (run == nullptr) continue;
    std::map<std::pair<int64_t, std::string>, int> seen;
    auto next = order.begin();
    for (const ValueRecord& value : run->values) {
      const ValueKey key(value.step, value.name, seen[{value.step, value.name}]++);
      const auto known = places.find(key);
      const auto place = known != places.end() ? known->second : order.insert(next, key);
      places.emplace(key, place);
      next = std::next(place);
      values[key].push_back({p, &value});
    }
  }
  order.sort([](const ValueKey& a, const ValueKey& b) { return std::get<0>(a) < std::get<0>(b); });  // stable
  for (const ValueKey& key : order) {
    const std::vector<Occurrence>& at = values[key];
    if (at.size() < 2) continue;
    const ValueRecord& first = *at.front().value;
    const int classes = classes_of(at, nullptr);
    c.values.push_back({first.step, first.name, first.op, at.size(), classes});
    if (classes == 1 || c.fork) continue;
    Fork fork{c.values.size() - 1, {}, {}};
    classes_of(at, &fork.groups);
    for (const std::vector<size_t>& group : fork.groups) {
      const auto of_first = std::ranges::find(at, group.front(), &Occurrence::platform);
      fork.kernels.push_back(of_first->value->kernel);
    }
    c.fork = std::move(fork);
  }
}

std::vector<FlagCohort> flag_cohorts(const Comparison& c) {
  std::map<std::tuple<std::string, std::string, std::string, int64_t>, std::vector<size_t>> members;
  for (size_t i = 0; i < c.platforms.size(); ++i) {
    const PlatformResult& p = c.platforms[i];
    // What a GPU computes does not depend on flags of the CPU beside it.
    if (p.equivalence_class == 0 || p.record.cpu_flags.empty() || p.record.fields.contains("gpu")) continue;
    members[{p.record.engine, field(p, "place"), field(p, "threads"), p.record.cores}].push_back(i);
  }
  std::vector<FlagCohort> cohorts;
  for (auto& [key, platforms] : members) {
    const auto& [engine, place, threads, cores] = key;
    std::ranges::stable_sort(platforms, {}, [&](size_t i) { return c.platforms[i].equivalence_class; });
    FlagCohort cohort;
    cohort.name = text_of(place.empty() ? engine : place, threads.empty() ? "" : text_of(", ", threads, " threads"),
                          cores == 0 ? "" : text_of(", ", cores, cores == 1 ? " core" : " cores"));
    std::vector<std::vector<std::string>> flags;
    std::vector<int> classes;
    for (const size_t i : platforms) {
      flags.push_back(c.platforms[i].record.cpu_flags);
      classes.push_back(c.platforms[i].equivalence_class);
    }
    cohort.flags = cluster_flags(flags);
    if (cohort.flags.clusters.empty()) continue;  // one CPU, or several that say the same of themselves
    cohort.classes = number_classes(classes);
    cohort.platforms = std::move(platforms);
    cohorts.push_back(std::move(cohort));
  }
  return cohorts;
}

}  // namespace isobit::lab::deviation
