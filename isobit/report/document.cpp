#include "isobit/report/document.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "isobit/base/printable.h"
#include "isobit/base/text.h"
#include "isobit/report/comparison_json.h"
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

namespace {

constexpr size_t kMaxFields = 64;

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

// Of the significand of the outputs; null where they have none.
Json bits_of(const Comparison& c) {
  for (const PlatformResult& p : c.platforms) {
    for (const auto& output : p.outputs) {
      if (const auto format = lab::deviation::float_format(output.dtype)) return format->significand_bits;
    }
  }
  return {};
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

// What records and replays show together. A replay speaks of the platforms that ran again: where they agree, others may
// still have been recorded with equal inputs and different outputs.
void settle(Json& values, const Json& causes) {
  for (Json& value : values) {
    if (value.contains("origin")) value["settled"] = value["origin"];
  }
  if (causes.is_null()) return;
  for (const Json& replay : causes["replays"]) {
    if (replay["value"].is_null() || replay["origin"] == name_of(lab::explain::Origin::kUnknown)) continue;
    Json& value = values[replay["value"].get<size_t>()];
    if (value["origin"] != name_of(lab::explain::Origin::kIntroduced)) value["settled"] = replay["origin"];
  }
}

}  // namespace

Json document_of(const Explanation& e, const Expected<Layout>& layout, const lab::explain::Causes* causes) {
  Json json;
  json["isobit_report"] = 2;
  json["answer"] = sentences(lab::explain::in_words(e));
  json["causes"] = causes == nullptr ? Json() : causes_of(e, *causes);
  json.update(
      comparison_json(e.comparison, {kMaxShownPlatforms, kMaxFields, [](const auto& text) { return shown(text); }}));
  json["bits"] = bits_of(e.comparison);
  json["output_separation"] = separation_of(e.of_output, e.output_platforms);
  json["fork_separation"] = separation_of(e.of_fork, e.fork_platforms);
  json["values"] = values_of(e);
  settle(json["values"], json["causes"]);
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
