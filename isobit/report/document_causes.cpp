// What was replayed and tried, and how kernels add.
#include "isobit/base/printable.h"
#include "isobit/report/document_internal.h"

namespace isobit::report {

using lab::explain::Causes;
using lab::explain::Explanation;
using lab::explain::KernelTree;
using lab::explain::Replay;
using lab::explain::Trial;

namespace {

constexpr size_t kMaxShownNodes = 32;

Json replay_of(const Explanation& e, const Replay& r) {
  Json json;
  const size_t value = e.forks[r.fork].value;
  json["value"] = value < kMaxShownValues ? Json(value) : Json();
  json["nodes"] = Json::array();
  for (const std::string& node : r.nodes) {
    if (json["nodes"].size() < kMaxShownNodes) json["nodes"].push_back(shown(node));
  }
  json["platforms"] = shown(r.platforms);
  json["classes"] = Json::array();
  for (size_t i = 0; i < r.platforms.size(); ++i) {
    if (r.platforms[i] < kMaxShownPlatforms) json["classes"].push_back(r.classes[i]);
  }
  json["reproduced"] = r.reproduced;
  json["origin"] = name_of(r.origin());
  json["problem"] = shown(r.problem);
  return json;
}

Json trial_of(const Trial& t) {
  return {{"changed", t.changed},       {"like", t.like},     {"change", name_of(t.change)},
          {"from", shown(t.from)},      {"to", shown(t.to)},  {"platform", shown(t.platform)},
          {"is_like", t.is_like},       {"agrees", t.agrees}, {"unchanged", t.unchanged},
          {"problem", shown(t.problem)}};
}

Json tree_of(const KernelTree& t) {
  return {{"platform", t.platform},
          {"asked", shown(t.asked)},
          {"call", shown(t.call)},
          {"words", printable(t.words)},
          {"arithmetic", printable(t.rounding)},
          {"tree", t.tree},
          {"digest", t.digest},
          {"svg", t.svg},
          {"problem", shown(t.problem)}};
}

Json diagnosis_of(const lab::explain::DiagnosedPair& pair) {
  const lab::explain::Diagnosis& d = pair.diagnosis;
  Json also = Json::array();
  for (const lab::explain::Kind kind : d.also) also.push_back(name_of(kind));
  return {{"replay", pair.replay},
          {"a", pair.a},
          {"b", pair.b},
          {"kind", name_of(d.kind)},
          {"also", also},
          {"confirmed", d.confirmed},
          {"compared", d.compared},
          {"words", printable(d.words)}};
}

}  // namespace

Json causes_of(const Explanation& e, const Causes& c) {
  Json json;
  json["words"] = sentences(lab::explain::in_words(e, c));
  json["reference"] = c.replays.reference ? Json(c.replays.reference->place) : Json();
  json["platforms"] = Json::array();
  for (const auto& native : c.replays.platforms) json["platforms"].push_back(native.place);
  json["replays"] = Json::array();
  for (const Replay& r : c.replays.forks) json["replays"].push_back(replay_of(e, r));
  json["first"] = c.first ? Json(*c.first) : Json();
  json["diagnoses"] = Json::array();
  for (const auto& pair : c.diagnoses) json["diagnoses"].push_back(diagnosis_of(pair));
  json["trials"] = Json::array();
  for (const Trial& t : c.trials) json["trials"].push_back(trial_of(t));
  json["asked"] = shown(c.asked.words);
  json["trees"] = Json::array();
  for (const KernelTree& t : c.trees) json["trees"].push_back(tree_of(t));
  json["again"] = Json::array();
  for (const auto& again : c.again) {
    Json pair = {{"asked", shown(again.asked.words)}, {"trees", Json::array()}};
    for (const KernelTree& t : again.trees) pair["trees"].push_back(tree_of(t));
    json["again"].push_back(std::move(pair));
  }
  json["earlier"] = Json();
  if (c.earlier && e.forks[*c.earlier].value < kMaxShownValues) {
    json["earlier"] = {
        {"value", e.forks[*c.earlier].value}, {"asked", shown(c.earlier_asked.words)}, {"trees", Json::array()}};
    for (const KernelTree& t : c.earlier_trees) json["earlier"]["trees"].push_back(tree_of(t));
  }
  return json;
}

}  // namespace isobit::report
