// Where in the execution order platforms fork, and which CPU flags go with which class.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/lab/deviation/comparison_internal.h"

namespace isobit::lab::deviation {
namespace {

std::string field(const PlatformResult& p, const std::string& name) {
  const auto found = p.record.fields.find(name);
  return found == p.record.fields.end() ? "" : found->second;
}

}  // namespace

void find_fork(Comparison& c, const Trace& trace) {
  for (const TracedValue& value : trace.values) {
    if (value.recorded < 2) continue;
    c.values.push_back({value.step, value.name, value.op, value.recorded, value.class_count});
    if (value.class_count == 1 || c.fork) continue;
    Fork fork{c.values.size() - 1, value.groups(), {}};
    for (const records::ValueRecord* at : value.at) fork.kernels.push_back(at == nullptr ? "" : at->kernel);
    c.fork = std::move(fork);
  }
}

std::vector<FlagCohort> flag_cohorts(const Comparison& c) {
  std::map<std::tuple<std::string, std::string, std::string, int64_t>, std::vector<size_t>> members;
  for (size_t i = 0; i < c.platforms.size(); ++i) {
    const PlatformResult& p = c.platforms[i];
    // What a GPU computes does not depend on flags of the CPU beside it.
    if (p.equivalence_class == 0 || p.record.cpu_flags.empty() || p.record.fields.contains("gpu")) continue;
    // Of an emulated processor other flags are known than of a real one.
    const std::string emulator = field(p, "emulator");
    const std::string place = emulator.empty() ? field(p, "place") : text_of(p.record.engine, " under ", emulator);
    members[{p.record.engine, place, field(p, "threads"), p.record.cores}].push_back(i);
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
