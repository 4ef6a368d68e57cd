#include "isobit/cli/spot.h"

#include <cstdio>
#include <set>

#include "isobit/base/text.h"
#include "isobit/cli/conduct.h"
#include "isobit/cli/dispute_report.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/other_side.h"
#include "isobit/cli/own_files.h"
#include "isobit/run/spot_run.h"

namespace isobit::cli {
namespace {

using dispute::SpotCheck;
using dispute::SpotFinding;

Expected<run::DisputeSide> trainer_side(const SpotOptions& o, const run::OpenRequest& open) {
  run::DisputeSide side;
  side.open = open;
  ISOBIT_TRY(side.platform, platform::parse_platform(o.platform));
  ISOBIT_TRY(side.key, trainer_key(o.trainer_key, o.home));
  ISOBIT_TRY(side.conduct, conduct_of("--cheat", o.cheat, open.run, open.overrides));
  return side;
}

struct Costs {
  double seconds = 0;                       // of the auditor's side
  std::vector<double> of_elements;          // of that, for each that was checked
  uint64_t memory = 0, trainer_memory = 0;  // at most, in bytes
};

// What is missed where one in a hundred elements is false.
constexpr double kFraction = 0.01;

void print(const SpotCheck& check, uint64_t draws, const Bytes& seed, const Costs& costs, Console& console) {
  const auto& finding = check.finding();
  console.line(text_of("verdict       ", finding ? console.bad("rejected")
                                                 : console.good("accepted") + " (the elements that were checked)"));
  std::set<std::pair<int64_t, uint64_t>> places;  // a node; or a part of the batch by its entry
  size_t long_sums = 0;
  uint64_t most_bytes = 0;
  for (const SpotCheck::Checked& c : check.checked()) {
    const int64_t node = check.schema()[c.place.entry].node;
    places.insert({node, node < 0 ? c.place.entry : 0});
    long_sums += c.chunks > 1 ? 1 : 0;
    most_bytes = std::max(most_bytes, c.bytes);
  }
  console.line(text_of("checked       ", check.checked().size(), " elements of step ", check.step(), ", of ",
                       places.size(), " of its ", check.units(), " nodes and inputs; of ", long_sums,
                       " long sums one part each"));
  if (finding) {
    const SpotFinding& f = *finding;
    std::string where = text_of("step ", f.step);
    if (f.entry) where += text_of(", '", printable(f.value), "'");
    if (f.node) where += text_of(", node ", *f.node, f.op.empty() ? "" : " (" + f.op + ")");
    if (f.element) where += text_of(", element ", *f.element);
    if (f.chunk) where += text_of(", part ", *f.chunk, " of its sum");
    console.line("false         " + where);
    if (f.element) console.line("  claimed     " + value_text(f.claimed, f.dtype));
    if (f.right) console.line("  right       " + value_text(*f.right, f.dtype));
    console.line("reason        " + printable(f.reason));
  }
  if (check.units() > 0) {
    char line[240];
    std::snprintf(line, sizeof line,
                  "missed        with probability %.3g where 1 %% of the elements of one node are false, %.3g where it "
                  "is 1 %% of every node's; of a sum in c parts, of which one is false, c times as rarely found",
                  dispute::spot_miss_probability(check.units(), 1, draws, kFraction),
                  dispute::spot_miss_probability(check.units(), check.units(), draws, kFraction));
    console.line(line);
  }
  char seconds[40];
  std::snprintf(seconds, sizeof seconds, "%.3f s", costs.seconds);
  console.line(text_of("received      ", human_bytes(check.bytes()), ", of which ", human_bytes(check.list_bytes()),
                       " are lists; at most ", human_bytes(most_bytes), " for an element"));
  console.line(text_of("auditor       ", seconds, ", ", human_bytes(costs.memory), " at most; who answered had ",
                       human_bytes(costs.trainer_memory)));
  console.line("transcript    " + commit::hex_of(check.transcript_root()));
  console.line("seed          " + to_hex(seed));
}

nlohmann::ordered_json finding_json(const SpotFinding& f) {
  nlohmann::ordered_json json = {{"level", dispute::name_of(f.level)}, {"step", f.step}, {"reason", f.reason}};
  if (f.entry) json["value"] = f.value;
  if (f.node) json["node"] = *f.node;
  if (!f.op.empty()) json["operator"] = f.op;
  if (f.element) json["element"] = *f.element;
  if (f.element) json["claimed"] = hex_bits(f.claimed, f.dtype);
  if (f.right) json["right"] = hex_bits(*f.right, f.dtype);
  if (f.chunk) json["part"] = *f.chunk;
  return json;
}

void document(const SpotCheck& check, uint64_t draws, const Bytes& seed, const Costs& costs, Console& console) {
  nlohmann::ordered_json json = {{"verdict", check.finding() ? "rejected" : "accepted"},
                                 {"complete", false},
                                 {"step", check.step()},
                                 {"transcript_root", commit::hex_of(check.transcript_root())},
                                 {"finding", nullptr},
                                 {"elements", nlohmann::ordered_json::array()},
                                 {"nodes", check.units()}};
  if (check.finding()) json["finding"] = finding_json(*check.finding());
  for (size_t i = 0; i < check.checked().size(); ++i) {
    const SpotCheck::Checked& c = check.checked()[i];
    const train::TraceEntry& e = check.schema()[c.place.entry];
    json["elements"].push_back({{"value", e.name},
                                {"node", e.node},
                                {"operator", c.op},
                                {"element", c.place.element},
                                {"parts", c.chunks},
                                {"bytes", c.bytes},
                                {"seconds", costs.of_elements[i]}});
  }
  if (check.units() > 0) {
    const auto missed = [&](uint64_t nodes) {
      return dispute::spot_miss_probability(check.units(), nodes, draws, kFraction);
    };
    json["fraction"] = kFraction;
    json["missed_in_one_node"] = missed(1);
    json["missed_in_every_node"] = missed(check.units());
  }
  json["bytes"] = check.bytes();
  json["list_bytes"] = check.list_bytes();
  json["auditor_seconds"] = costs.seconds;
  json["auditor_memory"] = costs.memory;
  json["trainer_memory"] = costs.trainer_memory;
  json["seed"] = to_hex(seed);
  console.document(json_text(json));
}

}  // namespace

Expected<int> spot_audit(const SpotOptions& o, const run::OpenRequest& open, const LimitOptions& limits,
                         Console& console) {
  double since = monotonic_seconds();
  Costs costs;
  ISOBIT_TRY(run::SpotKnown known, run::spot_known(open));
  const uint64_t steps = known.subject.rules.steps;
  if (o.step && (*o.step < 1 || *o.step > steps)) {
    return usage_error(text_of("--step ", *o.step, ": expected 1 to ", steps, ", the steps of this job"));
  }
  if (o.draws < 1 || o.draws > dispute::kMaxSpotDraws) {
    return usage_error(text_of("--spot ", o.draws, ": expected 1 to ", dispute::kMaxSpotDraws));
  }
  SpotCheck check(std::move(known.subject), o.seed, o.draws, o.step, known.transcript);
  costs.seconds += monotonic_seconds() - since;
  std::unique_ptr<run::SpotSide> side;  // over there
  ISOBIT_TRY(OtherSide trainer, OtherSide::start([&]() -> Expected<OtherSide::Answer> {
               ISOBIT_TRY(const run::DisputeSide computes, trainer_side(o, open));
               ISOBIT_TRY(side, run::SpotSide::open(computes));
               return OtherSide::Answer([&](ByteView question) { return side->answer(question); });
             }));
  Deadline deadline(limits, console);
  const auto ask = [&](const Bytes& question) {
    costs.seconds += monotonic_seconds() - since;
    auto answer = trainer.ask(question);
    since = monotonic_seconds();
    return answer;
  };
  since = monotonic_seconds();
  const Status asked = run::run_spot_check(check, ask, [&] {
    costs.of_elements.resize(check.checked().size());
    if (!costs.of_elements.empty()) costs.of_elements.back() += monotonic_seconds() - since;
    if (!check.done()) console.progress(text_of("checked ", check.checked().size(), "/", o.draws, " elements"));
  });
  costs.seconds += monotonic_seconds() - since;
  console.end_progress();
  ISOBIT_RETURN_IF_ERROR(asked);
  deadline.finish();
  costs.memory = peak_memory();
  costs.trainer_memory = trainer.end();
  document(check, o.draws, o.seed, costs, console);
  print(check, o.draws, o.seed, costs, console);
  return check.finding() ? kDisagreed : kAgreed;
}

}  // namespace isobit::cli
