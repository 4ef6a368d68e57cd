#include "isobit/cli/dispute_report.h"

#include <cstdio>
#include <cstring>

#include "isobit/base/new_file.h"
#include "isobit/base/text.h"
#include "isobit/cli/json_text.h"
#include "isobit/dispute/inference.h"
#include "isobit/dispute/record.h"
#include "isobit/judge/question.h"
#include "isobit/run/dispute_run.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/job_file.h"

namespace isobit::cli {
namespace {

using dispute::Verdict;

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

}  // namespace

std::string hex_bits(judge::Bits bits, DType dtype) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%0*llx", static_cast<int>(2 * size_of(dtype)),
                static_cast<unsigned long long>(bits));
  return text;
}

// "0x3f800000 (1)"
std::string value_text(judge::Bits bits, DType dtype) {
  char number[40] = "";
  if (dtype == DType::kFloat32) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    std::snprintf(number, sizeof number, " (%.9g)", static_cast<double>(x));
  } else if (dtype == DType::kFloat64) {
    double x = 0;
    std::memcpy(&x, &bits, sizeof x);
    std::snprintf(number, sizeof number, " (%.17g)", x);
  }
  return hex_bits(bits, dtype) + number;
}

nlohmann::ordered_json dispute_json(const Verdict& v) {
  nlohmann::ordered_json element;
  if (v.element) {
    element = {{"element", v.element->element},
               {"trainer", hex_bits(v.element->trainer, v.dtype)},
               {"challenger", hex_bits(v.element->challenger, v.dtype)},
               {"right", v.element->right ? or_null(hex_bits(*v.element->right, v.dtype)) : nullptr}};
  }
  return {{"verdict", name_of(v.outcome)},
          {"level", name_of(v.level)},
          {"reason", v.reason},
          {"step", or_null(v.step)},
          {"sample", or_null(v.sample)},
          {"metric", or_null(v.metric)},
          {"node", or_null(v.node)},
          {"operator", or_null(v.op)},
          {"value", or_null(v.value)},
          {"entry", or_null(v.entry)},
          {"dtype", v.entry ? or_null(name_of(v.dtype)) : nullptr},
          {"element", element},
          {"chunk", or_null(v.chunk)},
          {"finding", or_null(v.finding)}};
}

void print_dispute(const Verdict& v, Console& console) {
  const bool accused = exit_code_of(v) != kAgreed;
  const std::string outcome = name_of(v.outcome);
  console.line("verdict       " + (accused ? console.bad(outcome) : console.good(outcome)));
  if (v.step) console.line(text_of("step          ", *v.step));
  if (v.sample) {
    console.line(text_of("evaluation    sample ", *v.sample, v.metric.empty() ? "" : ", ", printable(v.metric)));
  }
  if (v.node) console.line(text_of("operator      ", v.op.empty() ? "" : printable(v.op) + ", ", "node ", *v.node));
  if (v.entry) console.line(text_of("value         ", printable(v.value), ", ", name_of(v.dtype)));
  if (v.element) {
    console.line(text_of("element       ", v.element->element));
    console.line("  trainer     " + value_text(v.element->trainer, v.dtype));
    console.line("  challenger  " + value_text(v.element->challenger, v.dtype));
    if (v.element->right) console.line("  right       " + value_text(*v.element->right, v.dtype));
  }
  if (v.chunk) console.line(text_of("part          chunk ", *v.chunk, " of the element's sum"));
  if (!v.finding.empty()) console.line("finding       " + v.finding);
  console.line("reason        " + printable(v.reason));
}

std::string asked_for(const dispute::Question& q) {
  const std::string where = q.of_evaluation ? text_of("sample ", q.sample) : text_of("step ", q.step);
  switch (q.kind) {
    case dispute::Kind::kChallenge:
    case dispute::Kind::kOutputs:
      return "challenge";
    case dispute::Kind::kSteps:
      return text_of("steps ", q.first_step + 1, " to ", q.last_step);
    case dispute::Kind::kValues:
      return "values of " + where;
    case dispute::Kind::kBatch:
      return text_of("samples of step ", q.step);
    case dispute::Kind::kSample:
      return "a sample of " + where;
    case dispute::Kind::kLog:
      return text_of("log entry of element ", q.element, " of value ", q.entry);
    case dispute::Kind::kEntry:
      return text_of("an entry of the log of step ", q.step);
    case dispute::Kind::kLoss:
      return text_of("loss of step ", q.step);
    case dispute::Kind::kTiles:
    case dispute::Kind::kParts:
    case dispute::Kind::kLeaf:
      return text_of(q.of_states ? "partial sums" : "tiles", " of value ", q.entry);
    case dispute::Kind::kNode:
    case dispute::Kind::kStates:
    case dispute::Kind::kGrounds:
      return text_of("element ", q.element, " of value ", q.entry);
    case dispute::Kind::kSums:
      return text_of(q.of_items ? "scores within " + where : "scores", " from ", q.part.begin);
    case dispute::Kind::kGraph:
      return "graph of the evaluation";
    case dispute::Kind::kScore:
      return "score of " + where;
  }
  return "";
}

Status report_dispute(const Settled& settled, const dispute::Record& record, const std::string& out, Console& console) {
  print_dispute(settled.verdict, console);
  char time[32];
  std::snprintf(time, sizeof time, "%.3f s", settled.referee_seconds);
  console.line(text_of("referee       ", time, ", ", settled.turns, " rounds, ", human_bytes(settled.counts.bytes),
                       " of which ", human_bytes(settled.counts.list_bytes), " are the parties' lists"));
  if (!out.empty()) {
    const Bytes bytes = encode(record);
    ISOBIT_RETURN_IF_ERROR(create_file_durably(out, bytes));
    console.line(text_of("wrote         ", out, ", ", human_bytes(bytes.size()), ": check it with 'isobit verify'"));
  }
  nlohmann::ordered_json document = dispute_json(settled.verdict);
  document["rounds"] = settled.turns;
  document["referee_seconds"] = settled.referee_seconds;
  document["referee_bytes"] = settled.counts.bytes;
  document["list_bytes"] = settled.counts.list_bytes;
  console.document(json_text(document));
  return {};
}

int exit_code_of(const Verdict& v) {
  using dispute::Outcome;
  const bool failed = v.outcome == Outcome::kChallengerWrong || v.outcome == Outcome::kChallengerForfeits ||
                      v.outcome == Outcome::kNobodyWrong;
  return failed ? kAgreed : kDisagreed;
}

Expected<dispute::Subject> dispute_subject(const train::Job& job, const verify::Engagement& engagement) {
  if (run::job_digest(job) != engagement.terms.job_digest) {
    return usage_error(text_of("the job is ", commit::hex_of(run::job_digest(job)), ", and the engagement is of ",
                               commit::hex_of(engagement.terms.job_digest), ": name that job"));
  }
  return run::dispute_subject(job, engagement);
}

namespace {

int told_no_dispute(const std::string& reason, Console& console) {
  console.line("verdict       " + console.bad("no dispute"));
  console.line("reason        " + printable(reason));
  console.document(json_text({{"genuine", false}, {"reason", reason}}));
  return kDisagreed;
}

// Nothing but the record is needed: what was computed is named by the receipt in it.
Expected<int> verify_receipt_dispute(const dispute::Record& record, const std::optional<commit::PublicKey>& server,
                                     Console& console) {
  const verify::InferenceReceipt& receipt = *record.receipt;
  if (server && receipt.server != *server) {
    return told_no_dispute("the receipt is by another server's key than the one that is trusted", console);
  }
  const auto subject = dispute::subject_of(receipt);
  const auto replayed = subject ? dispute::replay(record, *subject) : tl::unexpected<Error>(subject.error());
  if (!replayed && replayed.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(replayed.error());
  if (!replayed) return told_no_dispute(replayed.error().message, console);
  print_dispute(replayed->verdict, console);
  console.line("trainer       " + hex_of(receipt.server) + ", the receipt's server");
  console.line("challenger    " + hex_of(replayed->challenger));
  console.line("receipt       " + to_hex(receipt.id()));
  console.line("computation   " + commit::hex_of(receipt.of.digest()));
  note_unpinned_server(server.has_value(), console);
  nlohmann::ordered_json document = dispute_json(replayed->verdict);
  document["genuine"] = true;
  document["server"] = hex_of(receipt.server);
  document["server_pinned"] = server.has_value();
  document["challenger"] = hex_of(replayed->challenger);
  document["receipt"] = to_hex(receipt.id());
  document["computation"] = commit::hex_of(receipt.of.digest());
  document["rounds"] = replayed->turns;
  console.document(json_text(document));
  return exit_code_of(replayed->verdict);
}

}  // namespace

Expected<int> verify_dispute(const std::string& file, const Bytes& bytes, const std::string& job,
                             const std::vector<std::string>& overrides, const Trusted& trusted,
                             const std::optional<commit::PublicKey>& server, Console& console) {
  ISOBIT_TRY(const dispute::Record record, dispute::decode_record(bytes, file));
  if (record.receipt) {
    if (!job.empty()) return usage_error("--job: goes with a dispute about a run; this one is about a receipt");
    return verify_receipt_dispute(record, server, console);
  }
  if (server) return usage_error("--server-key: goes with a dispute about a receipt; this one is about a run");
  if (job.empty()) return usage_error("--job: is missing; a dispute is judged by the job that it is about");
  ISOBIT_TRY(const train::Job named, run::load_job(job, overrides, {}));
  ISOBIT_TRY(const dispute::Subject subject, dispute_subject(named, record.engagement));
  const verify::EngagementTerms& terms = record.engagement.terms;
  const auto check = [&]() -> Status {
    ISOBIT_RETURN_IF_ERROR(verify::verify_engagement(record.engagement, trusted.client.value_or(terms.client_key)));
    return trusted.terms ? verify::check_terms(terms, *trusted.terms) : Status();
  }();
  const auto replayed = check ? dispute::replay(record, subject) : tl::unexpected<Error>(check.error());
  if (!replayed && replayed.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(replayed.error());
  if (!replayed) return told_no_dispute(replayed.error().message, console);
  print_dispute(replayed->verdict, console);
  console.line("trainer       " + hex_of(record.engagement.trainer_key));
  console.line("challenger    " + hex_of(replayed->challenger));
  console.line("client        " + hex_of(terms.client_key));
  // That a deadline passed nobody can compute again.
  const bool is_word = is_forfeit(replayed->verdict.outcome);
  if (is_word) console.line("referee       " + hex_of(*terms.referee_key) + ", whose word the forfeit is");
  note_unpinned(trusted.client.has_value(), console);
  nlohmann::ordered_json document = dispute_json(replayed->verdict);
  document["genuine"] = true;
  document["trainer"] = hex_of(record.engagement.trainer_key);
  document["challenger"] = hex_of(replayed->challenger);
  document["client"] = hex_of(terms.client_key);
  document["client_pinned"] = trusted.client.has_value();
  document["referee"] = is_word ? or_null(hex_of(*terms.referee_key)) : nullptr;
  document["job_root"] = commit::hex_of(terms.job_root);
  document["run_id"] = to_hex(terms.run_id);
  document["rounds"] = replayed->turns;
  console.document(json_text(document));
  return exit_code_of(replayed->verdict);
}

}  // namespace isobit::cli
