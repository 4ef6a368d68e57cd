#include <set>

#include "isobit/base/text.h"
#include "isobit/cli/comparison_report.h"

namespace isobit::cli {
namespace {

using lab::deviation::Comparison;
using lab::deviation::PairFigures;
using nlohmann::ordered_json;

ordered_json hash_json(const std::optional<commit::Digest>& digest) {
  return digest ? ordered_json(commit::hex_of(*digest)) : ordered_json();
}

ordered_json labels(const Comparison& c, const std::vector<size_t>& platforms) {
  ordered_json list = ordered_json::array();
  for (const size_t i : platforms) list.push_back(c.platforms[i].label);
  return list;
}

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

// [i][j] of classes i and j; `same` on the diagonal.
template <class F>
ordered_json matrix(const Comparison& c, const ordered_json& same, F figure) {
  if (c.too_many_classes()) return nullptr;
  ordered_json rows = ordered_json::array();
  for (size_t i = 0; i < c.classes.size(); ++i) {
    ordered_json row = ordered_json::array();
    for (size_t j = 0; j < c.classes.size(); ++j) {
      row.push_back(i == j ? same : ordered_json(figure(std::min(i, j), std::max(i, j))));
    }
    rows.push_back(row);
  }
  return rows;
}

template <class F>
ordered_json pair_matrix(const Comparison& c, const ordered_json& same, F figure) {
  return matrix(c, same, [&](size_t i, size_t j) {
    return c.pairs[i][j] ? ordered_json(figure(*c.pairs[i][j])) : ordered_json();
  });
}

ordered_json platforms_json(const Comparison& c) {
  ordered_json list = ordered_json::array();
  for (const auto& p : c.platforms) {
    ordered_json one = {{"name", p.label},
                        {"engine", p.record.engine},
                        {"cores", p.record.cores},
                        {"fields", p.record.fields},
                        {"runs", p.runs},
                        {"different_outputs", p.distinct},
                        {"changed_by_a_tap", p.changed_by_a_tap}};
    one["class"] = p.equivalence_class == 0 ? ordered_json() : ordered_json(p.equivalence_class);
    if (!p.error.empty()) one["error"] = p.error;
    list.push_back(one);
  }
  return list;
}

ordered_json classes_json(const Comparison& c) {
  ordered_json list = ordered_json::array();
  for (size_t k = 0; k < c.classes.size(); ++k) {
    ordered_json outputs = ordered_json::array();
    for (const auto& v : c.platforms[c.classes[k].front()].outputs) {
      outputs.push_back({{"name", v.name},
                         {"step", v.step},
                         {"dtype", v.dtype},
                         {"shape", v.dims},
                         {"hash", lab::records::hex_of(v.hash)}});
    }
    list.push_back({{"class", k + 1}, {"platforms", labels(c, c.classes[k])}, {"outputs", outputs}});
  }
  return list;
}

void put_distances(const Comparison& c, ordered_json& to) {
  const std::optional<PairFigures>& all = c.overall;
  ordered_json precision, ulp;
  precision["least"] = all ? or_null(all->remaining_precision) : ordered_json();
  precision["pairs"] = pair_matrix(c, nullptr, [](const PairFigures& f) { return or_null(f.remaining_precision); });
  to["remaining_precision"] = precision;
  // A NaN against a number is no distance.
  const auto finite = [](const std::optional<uint64_t>& u) {
    return u && *u != UINT64_MAX ? ordered_json(*u) : ordered_json();
  };
  ulp["largest"] = all ? finite(all->ulp) : ordered_json();
  ulp["pairs"] = pair_matrix(c, 0, [&](const PairFigures& f) { return finite(f.ulp); });
  to["ulp"] = ulp;
  to["l0"] = {{"largest", all ? ordered_json(all->l0()) : ordered_json()},
              {"pairs", pair_matrix(c, 0, [](const PairFigures& f) { return f.l0(); })}};
  to["largest_difference"] = {{"absolute", all ? ordered_json(all->absolute) : ordered_json()},
                              {"relative", all ? ordered_json(all->relative) : ordered_json()},
                              {"not_finite", all ? ordered_json(all->not_finite) : ordered_json()},
                              {"absolute_pairs", pair_matrix(c, 0, [](const PairFigures& f) { return f.absolute; })}};
  to["label_flips"] = {{"output", c.label_output.empty() ? ordered_json() : ordered_json(c.label_output)},
                       {"rows", c.churn ? ordered_json(c.churn->rows) : ordered_json()},
                       {"pairs", matrix(c, 0, [&](size_t i, size_t j) { return or_null(c.label_flips[i][j]); })}};
  to["churn"] = c.churn ? ordered_json{{"pairwise_mean", c.churn->pairwise_mean}, {"any_differ", c.churn->any_differ}}
                        : ordered_json();
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

ordered_json subject_json(const Comparison& c, const std::string& by) {
  ordered_json s;
  s["subject"] = {{"kind", lab::records::name_of(c.subject.kind)},
                  {"model", c.subject.model},
                  {"model_sha256", hash_json(c.subject.model_sha256)},
                  {"input_sha256", hash_json(c.subject.input_sha256)},
                  {"settings", c.subject.settings}};
  s["verdict"] = lab::deviation::name_of(c.agreement());
  s["platforms"] = platforms_json(c);
  s["classes"] = classes_json(c);
  if (!by.empty()) s["classes_by"] = {{"field", by}, {"counts", classes_by(c, by)}};
  s["repeated"] = {{"platforms", c.repeated()}, {"disagree_with_themselves", c.nondeterministic()}};
  put_distances(c, s);
  s["dendrogram"] = ordered_json::array();
  for (const auto& m : c.dendrogram) {
    s["dendrogram"].push_back(
        {{"left", m.left}, {"right", m.right}, {"remaining_precision", m.similarity}, {"classes", m.items}});
  }
  s["flag_clusters"] = cohorts_json(c);
  s["operators"] = operators_json(c);
  s["beyond_rounding"] = ordered_json::array();
  for (size_t g = 1; g < c.groups.size(); ++g) s["beyond_rounding"].push_back(labels(c, c.groups[g]));
  return s;
}

}  // namespace

std::map<std::string, size_t> classes_by(const Comparison& c, const std::string& field) {
  std::map<std::string, std::set<int>> classes;
  for (const auto& p : c.platforms) {
    const auto value = p.record.fields.find(field);
    if (p.equivalence_class > 0 && value != p.record.fields.end()) classes[value->second].insert(p.equivalence_class);
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
