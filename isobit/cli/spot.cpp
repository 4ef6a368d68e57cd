#include "isobit/cli/spot.h"

#include <cstdio>
#include <set>

#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/cli/conduct.h"
#include "isobit/cli/dispute_report.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/own_files.h"
#include "isobit/dispute/inference.h"
#include "isobit/run/job_file.h"
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
  double seconds = 0;                      // of the auditor's side
  std::vector<double> of_elements;         // of that, for each that was checked
  uint64_t memory = 0;                     // at most, in bytes
  std::optional<uint64_t> trainer_memory;  // likewise, where it answered here
};

// What is missed where one in a hundred elements is false.
constexpr double kFraction = 0.01;

std::string whole(bool of_inference, uint64_t step) { return of_inference ? "the inference" : text_of("step ", step); }

void print_finding(const SpotFinding& f, bool of_inference, Console& console) {
  std::string where = whole(of_inference, f.step);
  if (f.entry) where += text_of(", '", printable(f.value), "'");
  if (f.node) where += text_of(", node ", *f.node, f.op.empty() ? "" : " (" + f.op + ")");
  if (f.element) where += text_of(", element ", *f.element);
  if (f.chunk) where += text_of(", part ", *f.chunk, " of its sum");
  console.line("false         " + where);
  if (f.element) console.line("  claimed     " + value_text(f.claimed, f.dtype));
  if (f.right) console.line("  right       " + value_text(*f.right, f.dtype));
  console.line("reason        " + printable(f.reason));
}

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
  const bool of_inference = check.of_inference();
  console.line(text_of("checked       ", check.checked().size(), " elements of ", whole(of_inference, check.step()),
                       ", of ", places.size(), " of its ", check.units(), of_inference ? " nodes" : " nodes and inputs",
                       long_sums == 1  ? "; of one long sum one part"
                       : long_sums > 1 ? text_of("; of ", long_sums, " long sums one part each")
                                       : std::string()));
  if (finding) print_finding(*finding, of_inference, console);
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
  console.line(text_of(
      "auditor       ", seconds, ", ", human_bytes(costs.memory), " at most",
      costs.trainer_memory ? text_of("; who answered had ", human_bytes(*costs.trainer_memory)) : std::string()));
  if (!of_inference) console.line("transcript    " + commit::hex_of(check.transcript_root()));
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

void document(const SpotCheck& check, uint64_t draws, const Bytes& seed, const std::string& file, const Costs& costs,
              Console& console) {
  nlohmann::ordered_json json = {{"verdict", check.finding() ? "rejected" : "accepted"},
                                 {"complete", false},
                                 {"step", nullptr},
                                 {"transcript_root", nullptr},
                                 {"finding", nullptr},
                                 {"elements", nlohmann::ordered_json::array()},
                                 {"nodes", check.units()}};
  if (!check.of_inference()) {
    json["step"] = check.step();
    json["transcript_root"] = commit::hex_of(check.transcript_root());
  }
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
  json["trainer_memory"] = costs.trainer_memory ? nlohmann::ordered_json(*costs.trainer_memory) : nullptr;
  json["seed"] = to_hex(seed);
  if (!file.empty()) json["file"] = file;
  console.document(json_text(json));
}

// Asks until the check is done, and says what it cost; seconds: of the auditor's side so far. messages: as
// run_spot_check.
Expected<Costs> ask_all(SpotCheck& check, const std::function<Expected<Bytes>(const Bytes& question)>& ask,
                        uint64_t draws, double seconds, std::vector<Bytes>* messages, const LimitOptions& limits,
                        Console& console) {
  Costs costs;
  costs.seconds = seconds;
  Deadline deadline(limits, console);
  double since = monotonic_seconds();
  const auto timed = [&](const Bytes& question) {
    costs.seconds += monotonic_seconds() - since;
    auto answer = ask(question);
    since = monotonic_seconds();
    return answer;
  };
  const auto progress = [&] {
    costs.of_elements.resize(check.checked().size());
    if (!costs.of_elements.empty()) costs.of_elements.back() += monotonic_seconds() - since;
    if (!check.done()) console.progress(text_of("checked ", check.checked().size(), "/", draws, " elements"));
  };
  const Status asked = run::run_spot_check(check, timed, progress, messages);
  costs.seconds += monotonic_seconds() - since;
  console.end_progress();
  ISOBIT_RETURN_IF_ERROR(asked);
  deadline.finish();
  costs.memory = peak_memory();
  return costs;
}

// The seed is one that the trainer has not seen: a draw that was made before is no draw.
Status check_options(const SpotOptions& o, uint64_t steps) {
  if (o.step && (*o.step < 1 || *o.step > steps)) {
    return usage_error(text_of("--step ", *o.step, ": expected 1 to ", steps, ", the steps of this job"));
  }
  ISOBIT_RETURN_IF_ERROR(check_draws(o.draws));
  return o.out.empty() ? Status() : check_output(o.out, false);
}

}  // namespace

Status check_draws(uint64_t draws) {
  if (draws >= 1 && draws <= dispute::kMaxSpotDraws) return {};
  return usage_error(text_of("--spot ", draws, ": expected 1 to ", dispute::kMaxSpotDraws));
}

Expected<int> spot_audit(const SpotOptions& o, const run::OpenRequest& open, const LimitOptions& limits,
                         Console& console) {
  const double begin = monotonic_seconds();
  ISOBIT_TRY(run::SpotKnown known, run::spot_known(open));
  ISOBIT_RETURN_IF_ERROR(check_options(o, known.subject.rules.steps));
  dispute::SpotRecord record{known.subject.engagement, o.seed, o.draws, o.step, {}};
  SpotCheck check(std::move(known.subject), o.seed, o.draws, o.step, known.transcript);
  const double seconds = monotonic_seconds() - begin;
  const auto side = std::make_shared<std::unique_ptr<run::SpotSide>>();  // over there
  ISOBIT_TRY(Answerer trainer, Answerer::start(o.through, [&]() -> Expected<OtherSide::Answer> {
               ISOBIT_TRY(const run::DisputeSide computes, trainer_side(o, open));
               ISOBIT_TRY(*side, run::SpotSide::open(computes));
               return OtherSide::Answer([side](ByteView question) { return (*side)->answer(question); });
             }));
  return finish_spot_check(check, trainer, std::move(record), o.out, seconds, limits, console);
}

Expected<int> finish_spot_check(SpotCheck& check, Answerer& other, dispute::SpotRecord record, const std::string& out,
                                double seconds, const LimitOptions& limits, Console& console) {
  const uint64_t draws = record.draws;
  const auto ask = [&](const Bytes& question) { return other.ask(question, console); };
  ISOBIT_TRY(Costs costs,
             ask_all(check, ask, draws, seconds, out.empty() ? nullptr : &record.messages, limits, console));
  ISOBIT_TRY(costs.trainer_memory, other.end());
  const bool writes = check.finding() && !out.empty();
  // What was found is told even where it cannot be written.
  const Status written = writes ? create_file_durably(out, dispute::encode(record)) : Status();
  document(check, draws, record.seed, writes && written ? out : "", costs, console);
  print(check, draws, record.seed, costs, console);
  ISOBIT_RETURN_IF_ERROR(written);
  const char* how = check.of_inference() ? " --server-key server.pub)" : " --job JOB.toml)";
  if (writes) console.line(text_of("wrote         ", out, "   (check it: isobit verify ", out, how));
  if (check.finding() && !writes) console.line("              --out FILE writes it down for others to check");
  return check.finding() ? kDisagreed : kAgreed;
}

namespace {

// Whether something false is proved; if not, that is told.
bool tell_proved(const Expected<dispute::SpotProof>& proved, const char* of_what, Console& console) {
  console.line(text_of("verdict       ", proved ? console.good("accepted") : console.bad("rejected"),
                       " (what a spot check found false in ", of_what, ")"));
  if (proved) return true;
  console.line("reason        " + printable(proved.error().message));
  console.document(json_text({{"verdict", "rejected"}, {"reason", proved.error().message}}));
  return false;
}

nlohmann::ordered_json proved_json(const dispute::SpotProof& proved) {
  return {{"verdict", "accepted"}, {"reason", ""}, {"finding", finding_json(proved.finding)}};
}

// Nothing but the file is needed: what was computed is named by the receipt in it.
Expected<int> verify_receipt_finding(const dispute::SpotRecord& record, const std::optional<commit::PublicKey>& server,
                                     Console& console) {
  const verify::InferenceReceipt& receipt = *record.receipt;
  const auto proved = [&]() -> Expected<dispute::SpotProof> {
    if (server && receipt.server != *server) {
      return rejected("the receipt is by another server's key than the one that is trusted");
    }
    ISOBIT_TRY(const dispute::Subject subject, dispute::subject_of(receipt));
    return dispute::prove(record, subject);
  }();
  if (!proved && proved.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(proved.error());
  if (!tell_proved(proved, "an inference", console)) return kDisagreed;
  print_finding(proved->finding, true, console);
  console.line("signed by     " + commit::hex_of(receipt.server));
  console.line("receipt       " + to_hex(receipt.id()));
  console.line("computation   " + commit::hex_of(receipt.of.digest()));
  note_unpinned_server(server.has_value(), console);
  nlohmann::ordered_json document = proved_json(*proved);
  document["signer"] = commit::hex_of(receipt.server);
  document["server_pinned"] = server.has_value();
  document["receipt"] = to_hex(receipt.id());
  document["computation"] = commit::hex_of(receipt.of.digest());
  console.document(json_text(document));
  return kAgreed;
}

}  // namespace

Expected<int> verify_spot_finding(const std::string& file, const Bytes& bytes, const std::string& job,
                                  const std::vector<std::string>& overrides, const Trusted& trusted,
                                  const std::optional<commit::PublicKey>& server, Console& console) {
  ISOBIT_TRY(const dispute::SpotRecord record, dispute::decode_spot_record(bytes, file));
  if (record.receipt) {
    if (!job.empty()) return usage_error("--job: goes with what was found in a run; this was found in an inference");
    return verify_receipt_finding(record, server, console);
  }
  if (server) return usage_error("--server-key: goes with what was found in an inference; this was found in a run");
  if (job.empty()) return usage_error("--job: is missing; what a spot check found is judged by the job that it is of");
  ISOBIT_TRY(const train::Job named, run::load_job(job, overrides, {}));
  ISOBIT_TRY(const dispute::Subject subject, dispute_subject(named, record.engagement));
  const verify::EngagementTerms& terms = record.engagement.terms;
  const auto proved = [&]() -> Expected<dispute::SpotProof> {
    ISOBIT_RETURN_IF_ERROR(verify::verify_engagement(record.engagement, trusted.client.value_or(terms.client_key)));
    if (trusted.terms) ISOBIT_RETURN_IF_ERROR(verify::check_terms(terms, *trusted.terms));
    return dispute::prove(record, subject);
  }();
  if (!proved && proved.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(proved.error());
  if (!tell_proved(proved, "a run", console)) return kDisagreed;
  print_finding(proved->finding, false, console);
  console.line("signed by     " + commit::hex_of(record.engagement.trainer_key));
  console.line("run id        " + to_hex(terms.run_id));
  console.line("transcript    " + commit::hex_of(*proved->transcript_root));
  console.line("client        " + commit::hex_of(terms.client_key));
  note_unpinned(trusted.client.has_value(), console);
  nlohmann::ordered_json document = proved_json(*proved);
  document["signer"] = commit::hex_of(record.engagement.trainer_key);
  document["run_id"] = to_hex(terms.run_id);
  document["job_root"] = commit::hex_of(terms.job_root);
  document["client_key"] = commit::hex_of(terms.client_key);
  document["client_pinned"] = trusted.client.has_value();
  document["transcript_root"] = commit::hex_of(*proved->transcript_root);
  console.document(json_text(document));
  return kAgreed;
}

}  // namespace isobit::cli
