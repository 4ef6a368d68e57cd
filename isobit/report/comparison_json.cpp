#include "isobit/report/comparison_json.h"

#include <algorithm>

namespace isobit::report {
namespace {

using Json = nlohmann::ordered_json;
using lab::deviation::Comparison;
using lab::deviation::PairFigures;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json hash_json(const std::optional<commit::Digest>& digest) { return digest ? Json(commit::hex_of(*digest)) : Json(); }

// Writes one comparison.
class Writer {
 public:
  Writer(const Comparison& comparison, const Shown& shown)
      : c_(comparison), shown_(shown), classes_(std::min(c_.classes.size(), shown.platforms)) {}

  Json subject() const {
    return {{"kind", lab::records::name_of(c_.subject.kind)},
            {"model", shown_.text(c_.subject.model)},
            {"model_sha256", hash_json(c_.subject.model_sha256)},
            {"input_sha256", hash_json(c_.subject.input_sha256)},
            {"settings", shown_.text(c_.subject.settings)}};
  }

  Json platforms() const {
    Json list = Json::array();
    for (const auto& p : c_.platforms) {
      if (list.size() == shown_.platforms) break;
      Json one = {{"name", shown_.text(p.label)},    {"engine", shown_.text(p.record.engine)},
                  {"cores", p.record.cores},         {"cpu_flags", p.record.cpu_flags.size()},
                  {"fields", fields(p.record)},      {"runs", p.runs},
                  {"different_outputs", p.distinct}, {"changed_by_a_tap", p.changed_by_a_tap}};
      one["class"] = p.equivalence_class == 0 ? Json() : Json(p.equivalence_class);
      if (!p.error.empty()) one["error"] = shown_.text(p.error);
      list.push_back(std::move(one));
    }
    return list;
  }

  Json classes() const {
    Json list = Json::array();
    for (size_t k = 0; k < classes_; ++k) list.push_back({{"class", k + 1}, {"platforms", names(c_.classes[k])}});
    return list;
  }

  void put_distances(Json& to) const {
    const std::optional<PairFigures>& all = c_.overall;
    const auto over_all = [&](auto figure) { return all ? Json(figure(*all)) : Json(); };
    const auto precision = [](const PairFigures& f) { return or_null(f.remaining_precision); };
    const auto ulp = [](const PairFigures& f) { return ulp_json(f.ulp); };
    const auto l0 = [](const PairFigures& f) { return Json(f.l0()); };
    const auto absolute = [](const PairFigures& f) { return Json(f.absolute); };
    const auto relative = [](const PairFigures& f) { return Json(f.relative); };
    to["remaining_precision"] = {{"least", over_all(precision)}, {"pairs", of_pairs(nullptr, precision)}};
    to["ulp"] = {{"largest", over_all(ulp)}, {"pairs", of_pairs(0, ulp)}};
    to["l0"] = {{"largest", over_all(l0)}, {"pairs", of_pairs(0, l0)}};
    to["largest_difference"] = {{"absolute", over_all(absolute)},
                                {"relative", over_all(relative)},
                                {"not_finite", over_all([](const PairFigures& f) { return Json(f.not_finite); })},
                                {"absolute_pairs", of_pairs(0, absolute)},
                                {"relative_pairs", of_pairs(0, relative)}};
    to["label_flips"] = {{"output", c_.label_output.empty() ? Json() : Json(shown_.text(c_.label_output))},
                         {"rows", c_.churn ? Json(c_.churn->rows) : Json()},
                         {"pairs", matrix(0, [&](size_t i, size_t j) { return or_null(c_.label_flips[i][j]); })}};
    to["churn"] =
        c_.churn ? Json{{"pairwise_mean", c_.churn->pairwise_mean}, {"any_differ", c_.churn->any_differ}} : Json();
  }

  Json dendrogram() const {
    Json list = Json::array();
    if (classes_ < c_.classes.size()) return list;
    for (const auto& m : c_.dendrogram) {
      list.push_back(
          {{"left", m.left}, {"right", m.right}, {"remaining_precision", m.similarity}, {"classes", m.items}});
    }
    return list;
  }

  Json beyond_rounding() const {
    Json list = Json::array();
    for (size_t g = 1; g < c_.groups.size(); ++g) {
      if (list.size() < shown_.platforms) list.push_back(names(c_.groups[g]));
    }
    return list;
  }

 private:
  Json names(const std::vector<size_t>& platforms) const {
    Json list = Json::array();
    for (const size_t p : platforms) {
      if (p < shown_.platforms) list.push_back(shown_.text(c_.platforms[p].label));
    }
    return list;
  }

  Json fields(const lab::records::PlatformRecord& record) const {
    Json all = Json::object();
    for (const auto& [name, value] : record.fields) {
      if (all.size() < shown_.fields) all[shown_.text(name)] = shown_.text(value);
    }
    return all;
  }

  // [i][j] of classes i and j; `same` on the diagonal.
  template <class F>
  Json matrix(const Json& same, F figure) const {
    if (c_.too_many_classes()) return nullptr;
    Json rows = Json::array();
    for (size_t i = 0; i < classes_; ++i) {
      Json row = Json::array();
      for (size_t j = 0; j < classes_; ++j) row.push_back(i == j ? same : figure(std::min(i, j), std::max(i, j)));
      rows.push_back(std::move(row));
    }
    return rows;
  }

  template <class F>
  Json of_pairs(const Json& same, F figure) const {
    return matrix(same, [&](size_t i, size_t j) { return c_.pairs[i][j] ? Json(figure(*c_.pairs[i][j])) : Json(); });
  }

  const Comparison& c_;
  const Shown& shown_;
  const size_t classes_;  // that are shown
};

}  // namespace

Json ulp_json(const std::optional<uint64_t>& ulp) { return ulp && *ulp != UINT64_MAX ? Json(*ulp) : Json(); }

Json comparison_json(const Comparison& comparison, const Shown& shown) {
  const Writer writer(comparison, shown);
  Json json;
  json["subject"] = writer.subject();
  json["verdict"] = lab::deviation::name_of(comparison.agreement());
  json["platforms"] = writer.platforms();
  json["classes"] = writer.classes();
  json["repeated"] = {{"platforms", comparison.repeated()},
                      {"disagree_with_themselves", comparison.nondeterministic()}};
  writer.put_distances(json);
  json["dendrogram"] = writer.dendrogram();
  json["beyond_rounding"] = writer.beyond_rounding();
  return json;
}

}  // namespace isobit::report
