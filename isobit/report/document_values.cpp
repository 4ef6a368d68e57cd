// The values of a report, in execution order, and the drawing of the graph.
#include <algorithm>
#include <cmath>
#include <set>

#include "isobit/report/comparison_json.h"
#include "isobit/report/document_internal.h"

namespace isobit::report {

using lab::deviation::TracedValue;
using lab::explain::Explanation;
using lab::explain::Origin;
using lab::explain::TracedFork;
using lab::records::ValueRecord;

namespace {

constexpr size_t kMaxShownRank = 16;
constexpr size_t kMaxShownSplits = 16;

// Kernels, each once, and which of them each platform used; nothing where no engine says.
void add_kernels(const TracedValue& value, size_t platforms, Json& json) {
  std::vector<std::string> names;
  Json of = Json::array();
  for (size_t p = 0; p < platforms; ++p) {
    if (value.at[p] == nullptr || value.at[p]->kernel.empty()) {
      of.push_back(-1);
      continue;
    }
    const std::string name = shown(value.at[p]->kernel);
    const auto known = std::ranges::find(names, name);
    of.push_back(known - names.begin());
    if (known == names.end()) names.push_back(name);
  }
  if (names.empty()) return;
  json["kernels"] = names;
  json["kernel_of"] = std::move(of);
}

void add_fork(const TracedFork& fork, Json& json) {
  json["origin"] = name_of(fork.origin);
  json["input_classes"] = fork.input_classes;
  if (!fork.why_unknown.empty()) json["why_unknown"] = shown(fork.why_unknown);
  if (fork.origin != Origin::kIntroduced) return;
  json["region"] = fork.region;
  json["splits"] = Json::array();
  for (const auto& groups : fork.splits) {
    if (json["splits"].size() == kMaxShownSplits) break;
    Json shown_groups = Json::array();
    for (const auto& group : groups) shown_groups.push_back(shown(group));
    json["splits"].push_back(std::move(shown_groups));
  }
}

Json value_of(const TracedValue& value) {
  const size_t platforms = std::min(value.at.size(), kMaxShownPlatforms);
  Json json;
  if (value.step != 0) json["step"] = value.step;
  json["name"] = shown(value.name);
  json["op"] = shown(value.op);
  if (value.node) json["node"] = *value.node;
  std::vector<const ValueRecord*> first(static_cast<size_t>(value.class_count));
  for (size_t p = value.at.size(); p-- > 0;) {
    if (value.at[p] != nullptr) first[static_cast<size_t>(value.classes[p]) - 1] = value.at[p];
  }
  json["dtype"] = shown(first[0]->dtype);
  const auto& dims = first[0]->dims;
  json["dims"] =
      std::vector<int64_t>(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(std::min(dims.size(), kMaxShownRank)));
  if (first[0]->is_output) json["output"] = true;
  json["classes"] = value.class_count;
  json["of"] = std::vector<int>(value.classes.begin(), value.classes.begin() + static_cast<ptrdiff_t>(platforms));
  json["hashes"] = Json::array();
  for (const ValueRecord* record : first) {
    if (json["hashes"].size() < kMaxShownPlatforms) json["hashes"].push_back(lab::records::hex_of(record->hash));
  }
  const auto format = lab::deviation::float_format(first[0]->dtype);
  if (format) json["bits"] = format->significand_bits;
  add_kernels(value, platforms, json);
  return json;
}

// Of one value over all classes.
Json figures_of(const lab::deviation::PairFigures& f) {
  return {
      {"elements", f.elements}, {"differing", f.differing},
      {"l0", f.l0()},           {"remaining_precision", f.remaining_precision ? Json(*f.remaining_precision) : Json()},
      {"ulp", ulp_json(f.ulp)}, {"absolute", f.absolute},
      {"relative", f.relative}};
}

double rounded(double inches) { return std::round(inches * 1000) / 1000; }

Json points_of(const std::vector<Point>& points) {
  Json list = Json::array();
  for (const Point& p : points) {
    list.push_back(rounded(p.x));
    list.push_back(rounded(p.y));
  }
  return list;
}

}  // namespace

std::vector<std::pair<size_t, size_t>> edges_of(const std::vector<lab::records::GraphNode>& graph) {
  std::map<std::string, size_t> makers;
  std::vector<std::pair<size_t, size_t>> edges;
  std::set<std::pair<size_t, size_t>> known;
  for (size_t n = 0; n < graph.size(); ++n) {
    for (const std::string& input : graph[n].inputs) {
      const auto maker = input.empty() ? makers.end() : makers.find(input);
      if (maker != makers.end() && known.emplace(maker->second, n).second) edges.emplace_back(maker->second, n);
    }
    for (const std::string& output : graph[n].outputs) makers.emplace(output, n);
  }
  return edges;
}

Json values_of(const Explanation& e) {
  Json list = Json::array();
  std::map<size_t, const TracedFork*> forks;
  for (const TracedFork& fork : e.forks) forks[fork.value] = &fork;
  for (size_t i = 0; i < std::min(e.trace.values.size(), kMaxShownValues); ++i) {
    Json value = value_of(e.trace.values[i]);
    if (const auto fork = forks.find(i); fork != forks.end()) add_fork(*fork->second, value);
    if (e.layers.figures[i]) value["figures"] = figures_of(*e.layers.figures[i]);
    list.push_back(std::move(value));
  }
  return list;
}

Json graph_of(const Explanation& e, const Expected<Layout>& layout) {
  Json json;
  json["nodes"] = e.graph.size();
  if (e.graph.empty()) {
    json["absent"] = "The lab has no graph of this model.";
    return json;
  }
  if (!layout) {
    json["absent"] = "The graph is not drawn: " + shown(layout.error().message) + ".";
    return json;
  }
  json["width"] = rounded(layout->width);
  json["height"] = rounded(layout->height);
  json["node_width"] = kNodeWidth;
  json["node_height"] = kNodeHeight;
  json["names"] = Json::array();
  for (const auto& node : e.graph) json["names"].push_back({shown(node.op), shown(node.name)});
  json["centres"] = points_of(layout->centres);
  json["edges"] = Json::array();
  for (const Layout::Edge& edge : layout->edges) {
    json["edges"].push_back({{"from", edge.from}, {"to", edge.to}, {"points", points_of(edge.points)}});
  }
  return json;
}

}  // namespace isobit::report
