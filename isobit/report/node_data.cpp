#include "isobit/report/node_data.h"

#include <map>
#include <nlohmann/json.hpp>

#include "isobit/base/text.h"

namespace isobit::report {

using Json = nlohmann::ordered_json;

namespace {

// Null where nothing is known.
Json number_of(const Json& value, NodeMetric metric) {
  const std::string origin = value.value("settled", "");
  const bool agrees = value["classes"] == 1;
  const auto figure = [&](const char* name) { return value.contains("figures") ? value["figures"][name] : Json(); };
  switch (metric) {
    case NodeMetric::kClasses:
      return value["classes"];
    case NodeMetric::kPrecision:
      if (agrees) return value.contains("bits") ? value["bits"] : Json();
      return figure("remaining_precision");
    case NodeMetric::kIntroduced:
      if (agrees || origin == "inherited") return 0;
      return origin == "introduced" ? figure("absolute") : Json();
  }
  return {};
}

// Recorded on several platforms: else there is nothing that could differ.
bool is_compared(const Json& value) {
  size_t platforms = 0;
  for (const Json& k : value["of"]) platforms += k != 0;
  return platforms > 1;
}

// A node of several outputs is as its worst one.
void add(Json& results, const std::string& key, const Json& number, bool least) {
  if (key.empty()) return;
  Json& result = results[key];
  const bool better = result.is_null() || (least ? number < result["value"] : number > result["value"]);
  if (better) result = {{"value", number}};
}

constexpr const char* kPlain = "#ffffff";
constexpr const char* kMarked = "#e69f00";  // told apart by the colour-blind, and text on it is readable

}  // namespace

Expected<NodeMetric> parse_node_metric(const std::string& name) {
  if (name == "introduced") return NodeMetric::kIntroduced;
  if (name == "precision") return NodeMetric::kPrecision;
  if (name == "classes") return NodeMetric::kClasses;
  return usage_error(text_of("--node-data: found '", name, "', expected introduced, precision or classes"));
}

Json node_data_of(const Json& document, NodeMetric metric) {
  const bool least = metric == NodeMetric::kPrecision;
  const Json& values = document["values"];
  Json results = Json::object();
  for (size_t i = 0; i < values.size(); ++i) {
    const Json& value = values[i];
    if (value.contains("step") || !is_compared(value)) continue;
    const Json number = number_of(value, metric);
    if (!number.is_number()) continue;
    add(results, value["name"], number, least);
    const Json& graph = document["graph"];
    if (value.contains("node") && graph.contains("names") && value["node"] < graph["names"].size()) {
      add(results, graph["names"][value["node"].get<size_t>()][1], number, least);
    }
  }
  const char* const names[] = {"largest difference where introduced", "bits that agree on all platforms",
                               "different results"};
  return {
      {"name", text_of("isobit: ", names[static_cast<size_t>(metric)])},
      {"results", results},
      {"gradient",
       {{{"stop", 0}, {"bgColor", least ? kMarked : kPlain}}, {{"stop", 1}, {"bgColor", least ? kPlain : kMarked}}}}};
}

}  // namespace isobit::report
