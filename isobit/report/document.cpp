#include "isobit/report/document.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "isobit/base/printable.h"
#include "isobit/base/text.h"
#include "isobit/report/document_internal.h"

namespace isobit::report {

using lab::deviation::Comparison;
using lab::deviation::PlatformResult;
using lab::explain::Explanation;
using lab::explain::Separation;

std::string shown(const std::string& text) { return printable(lab::explain::shortened(text, kMaxShownText)); }

Json sentences(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& sentence : list) json.push_back(printable(sentence));
  return json;
}

Json shown(const std::vector<size_t>& platforms) {
  Json list = Json::array();
  for (const size_t p : platforms) {
    if (p < kMaxShownPlatforms) list.push_back(p);
  }
  return list;
}

Json figures_of(const lab::deviation::PairFigures& f) {
  Json json;
  json["elements"] = f.elements;
  json["differing"] = f.differing;
  json["l0"] = f.l0();
  json["remaining_precision"] = f.remaining_precision ? Json(*f.remaining_precision) : Json();
  json["ulp"] = f.ulp && *f.ulp != UINT64_MAX ? Json(*f.ulp) : Json();
  json["absolute"] = f.absolute;
  json["relative"] = f.relative;
  return json;
}

namespace {

constexpr size_t kMaxFields = 64;

Json subject_of(const lab::records::Subject& s) {
  Json json;
  json["kind"] = lab::records::name_of(s.kind);
  json["model"] = shown(s.model);
  json["model_sha256"] = s.model_sha256 ? Json(commit::hex_of(*s.model_sha256)) : Json();
  json["input_sha256"] = s.input_sha256 ? Json(commit::hex_of(*s.input_sha256)) : Json();
  json["settings"] = shown(s.settings);
  return json;
}

Json platform_of(const PlatformResult& p) {
  Json json;
  json["label"] = shown(p.label);
  json["engine"] = shown(p.record.engine);
  json["class"] = p.equivalence_class;
  json["error"] = shown(p.error);
  json["runs"] = p.runs;
  json["different_outputs"] = p.distinct;
  json["changed_by_a_tap"] = p.changed_by_a_tap;
  json["cores"] = p.record.cores;
  json["cpu_flags"] = p.record.cpu_flags.size();
  Json fields = Json::object();
  for (const auto& [name, value] : p.record.fields) {
    if (fields.size() < kMaxFields) fields[shown(name)] = shown(value);
  }
  json["fields"] = std::move(fields);
  return json;
}

Json pairs_of(const Comparison& c) {
  Json list = Json::array();
  const size_t n = std::min(c.pairs.size(), kMaxShownPlatforms);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      if (!c.pairs[i][j]) continue;
      Json pair = {{"a", i + 1}, {"b", j + 1}};
      pair.update(figures_of(*c.pairs[i][j]));
      pair["label_flips"] = c.label_flips[i][j] ? Json(*c.label_flips[i][j]) : Json();
      list.push_back(std::move(pair));
    }
  }
  return list;
}

Json separation_of(const Separation& s, const std::vector<size_t>& platforms) {
  Json json;
  json["platforms"] = shown(platforms);
  json["classes"] = s.classes;
  json["sets"] = Json::array();
  const auto names = [](const std::vector<std::string>& fields) {
    Json list = Json::array();
    for (const std::string& field : fields) {
      if (list.size() < kMaxFields) list.push_back(shown(field));
    }
    return list;
  };
  for (const auto& set : s.sets) {
    Json fields = Json::array();
    for (const auto& alike : set.fields) fields.push_back(names(alike));
    json["sets"].push_back({{"fields", fields},
                            {"values", set.values},
                            {"repeated", set.repeated},
                            {"partial", set.partial},
                            {"exact", set.exact}});
  }
  json["contrasts"] = Json::array();
  for (const auto& c : s.contrasts) {
    if (json["contrasts"].size() == kMaxFields) break;
    Json one = {{"fields", names(c.fields)}, {"differing", c.differing}, {"agreeing", c.agreeing}};
    if (c.differing > 0) {
      one["differing_pair"] = {platforms[c.differing_pair.first], platforms[c.differing_pair.second]};
    }
    if (c.agreeing > 0) one["agreeing_pair"] = {platforms[c.agreeing_pair.first], platforms[c.agreeing_pair.second]};
    json["contrasts"].push_back(std::move(one));
  }
  if (s.indistinguishable) {
    json["indistinguishable"] = {platforms[s.indistinguishable->first], platforms[s.indistinguishable->second]};
  }
  return json;
}

void add_comparison(const Comparison& c, Json& json) {
  json["platforms"] = Json::array();
  for (size_t p = 0; p < std::min(c.platforms.size(), kMaxShownPlatforms); ++p) {
    json["platforms"].push_back(platform_of(c.platforms[p]));
  }
  json["classes"] = Json::array();
  for (size_t k = 0; k < std::min(c.classes.size(), kMaxShownPlatforms); ++k)
    json["classes"].push_back(shown(c.classes[k]));
  json["pairs"] = pairs_of(c);
  json["overall"] = c.overall ? figures_of(*c.overall) : Json();
  json["dendrogram"] = Json::array();
  for (const auto& m : c.dendrogram) {
    if (c.classes.size() > kMaxShownPlatforms) break;
    json["dendrogram"].push_back(
        {{"left", m.left}, {"right", m.right}, {"remaining_precision", m.similarity}, {"classes", m.items}});
  }
  json["bits"] = Json();  // of the significand of the outputs
  for (const PlatformResult& p : c.platforms) {
    for (const auto& output : p.outputs) {
      const auto format = lab::deviation::float_format(output.dtype);
      if (format && json["bits"].is_null()) json["bits"] = format->significand_bits;
    }
  }
}

Json left_out(const Explanation& e) {
  Json list = Json::array();
  const auto say = [&](size_t shown, size_t all, const char* what) {
    if (all > shown) list.push_back(text_of("Only the first ", shown, " of ", all, " ", what, " are shown."));
  };
  say(kMaxShownPlatforms, e.comparison.platforms.size(), "platforms");
  say(kMaxShownValues, e.trace.values.size(), "values");
  if (e.layers.not_compared > 0) {
    list.push_back(text_of("Of ", e.layers.not_compared,
                           " values that differ the distance is not known: not all of their tensors were kept."));
  }
  if (e.layers.truncated > 0) {
    list.push_back(text_of("Of ", e.layers.truncated, e.layers.truncated == 1 ? " value" : " values",
                           " with more than ", lab::explain::LayerBudget().classes,
                           " classes only the first ones were ", "compared with one another."));
  }
  if (e.layers.beyond_budget > 0) {
    list.push_back(text_of(e.layers.beyond_budget,
                           " values that differ were not compared element by element, since they "
                           "are too large together."));
  }
  return list;
}

}  // namespace

Json document_of(const Explanation& e, const Expected<Layout>& layout, const lab::explain::Causes* causes) {
  Json json;
  json["isobit_report"] = 1;
  json["subject"] = subject_of(e.comparison.subject);
  json["answer"] = sentences(lab::explain::in_words(e));
  json["causes"] = causes == nullptr ? Json() : causes_of(e, *causes);
  add_comparison(e.comparison, json);
  json["output_separation"] = separation_of(e.of_output, e.output_platforms);
  json["fork_separation"] = separation_of(e.of_fork, e.fork_platforms);
  json["values"] = values_of(e);
  const auto shown_value = [&](size_t fork) {
    const size_t value = e.forks[fork].value;
    return value < kMaxShownValues ? Json(value) : Json();
  };
  json["first_introduced"] = e.first ? shown_value(*e.first) : Json();
  json["first_fork"] = e.forks.empty() ? Json() : shown_value(0);
  json["graph"] = graph_of(e, layout);
  json["left_out"] = left_out(e);
  return json;
}

}  // namespace isobit::report
