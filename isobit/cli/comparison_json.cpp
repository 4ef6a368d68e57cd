#include "isobit/report/comparison_json.h"

#include <set>

#include "isobit/base/text.h"
#include "isobit/cli/comparison_report.h"

namespace isobit::cli {
namespace {

using lab::deviation::Comparison;
using nlohmann::ordered_json;

ordered_json labels(const Comparison& c, const std::vector<size_t>& platforms) {
  ordered_json list = ordered_json::array();
  for (const size_t i : platforms) list.push_back(c.platforms[i].label);
  return list;
}

ordered_json outputs_json(const lab::deviation::PlatformResult& platform) {
  ordered_json outputs = ordered_json::array();
  for (const auto& v : platform.outputs) {
    outputs.push_back({{"name", v.name},
                       {"step", v.step},
                       {"dtype", v.dtype},
                       {"shape", v.dims},
                       {"hash", lab::records::hex_of(v.hash)}});
  }
  return outputs;
}

ordered_json cohorts_json(const Comparison& c) {
  ordered_json list = ordered_json::array();
  for (const auto& cohort : c.cohorts) {
    ordered_json clusters = ordered_json::array();
    for (const auto& cluster : cohort.flags.clusters) {
      clusters.push_back({{"flags", cluster.flags}, {"present", cluster.present}});
    }
    list.push_back({{"platforms_of", cohort.name},
                    {"platforms", labels(c, cohort.platforms)},
                    {"classes", cohort.classes},
                    {"flags", cohort.flags.flags},
                    {"common", cohort.flags.common},
                    {"clusters", clusters}});
  }
  return list;
}

ordered_json operators_json(const Comparison& c) {
  ordered_json values = ordered_json::array();
  for (const auto& v : c.values) {
    values.push_back(
        {{"step", v.step}, {"name", v.name}, {"operator", v.op}, {"platforms", v.platforms}, {"classes", v.classes}});
  }
  ordered_json fork;
  if (c.fork) {
    const auto& v = c.values[c.fork->value];
    fork = {{"place", c.fork->value}, {"step", v.step}, {"name", v.name}, {"operator", v.op}};
    fork["classes"] = ordered_json::array();
    for (size_t g = 0; g < c.fork->groups.size(); ++g) {
      ordered_json kernels = ordered_json::array();
      for (const size_t p : c.fork->groups[g]) kernels.push_back(c.fork->kernels[p]);
      fork["classes"].push_back({{"platforms", labels(c, c.fork->groups[g])}, {"kernels", kernels}});
    }
  }
  return {{"first_fork", fork}, {"values", values}};
}

// What a report has, too, and what is of each class, field, processor and operator.
ordered_json subject_json(const Comparison& c, const std::string& by) {
  ordered_json s = report::comparison_json(c);
  for (size_t k = 0; k < c.classes.size(); ++k) {
    s["classes"][k]["outputs"] = outputs_json(c.platforms[c.classes[k].front()]);
  }
  s["classes_by"] = {{"field", by}, {"counts", classes_by(c, by)}};
  s["flag_clusters"] = cohorts_json(c);
  s["operators"] = operators_json(c);
  return s;
}

}  // namespace

std::optional<std::string> value_of(const lab::records::PlatformRecord& platform, const std::string& field) {
  if (field == kEngineField) return platform.engine;
  const auto found = platform.fields.find(field);
  return found == platform.fields.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, size_t> classes_by(const Comparison& c, const std::string& field) {
  std::map<std::string, std::set<int>> classes;
  for (const auto& p : c.platforms) {
    const auto value = value_of(p.record, field);
    if (p.equivalence_class > 0 && value) classes[*value].insert(p.equivalence_class);
  }
  std::map<std::string, size_t> counts;
  for (const auto& [value, of_value] : classes) counts[value] = of_value.size();
  return counts;
}

ordered_json comparison_json(const lab::deviation::LabComparison& comparison, const std::string& by) {
  ordered_json document;
  document["subjects"] = ordered_json::array();
  size_t repeated = 0, disagree = 0;
  for (const Comparison& c : comparison.subjects) {
    document["subjects"].push_back(subject_json(c, by));
    repeated += c.repeated();
    disagree += c.nondeterministic();
  }
  document["repeated"] = {{"cells", repeated}, {"disagree_with_themselves", disagree}};
  document["input_independent"] = ordered_json::array();
  for (const auto& [model, found] : comparison.input_independent) {
    document["input_independent"].push_back(
        {{"model", model}, {"platform", found.platform}, {"spread", found.spread}, {"median_spread", found.typical}});
  }
  document["remarks"] = comparison.remarks;
  return document;
}

}  // namespace isobit::cli
