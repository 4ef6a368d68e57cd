#include "isobit/cli/verdict_report.h"

#include "isobit/base/file.h"
#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/cli/command.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/log_report.h"

namespace isobit::cli {
namespace {

using Json = nlohmann::ordered_json;

// The contents of a document that is not genuine are shown without colour, because no trusted key stands for them.
void print_verdict(const verify::Verdict& v, bool genuine, Console& console) {
  const char* outcome = verify::name_of(v.audit.outcome);
  console.line(text_of(genuine ? "verdict       " : "it says       ",
                       !genuine             ? outcome
                       : v.audit.accepted() ? console.good(outcome)
                                            : console.bad(outcome),
                       v.audit.accepted() && !v.audit.complete ? " (the part that was checked)" : ""));
  console.line(text_of("checked       ", v.audit.steps_checked, " steps on ", printable(v.platform)));
  console.line(text_of("client key    ", commit::hex_of(v.client_key)));
  print_run_names(v, console);
  for (const std::string& line : finding_lines(v.findings)) console.line(line);
  if (v.sample) {
    console.line(text_of("sample        the last and ", v.sample->drawn, " others of ", v.sample->intervals,
                         " intervals, drawn with the seed ", to_hex(v.sample->seed)));
  }
  if (!v.audit.reason.empty()) console.line(text_of("reason        ", printable(v.audit.reason)));
  console.line(v.signature ? text_of("signed by     ", commit::hex_of(v.signature->auditor_key))
                           : "signed by     nobody");
}

}  // namespace

Json sample_json(const std::optional<verify::SampleNames>& sample) {
  if (!sample) return nullptr;
  return {{"seed", to_hex(sample->seed)}, {"intervals", sample->intervals}, {"drawn", sample->drawn}};
}

Expected<verify::Verdict> read_verdict(const std::string& file) {
  ISOBIT_TRY(const Bytes bytes, read_file(file, verify::kMaxVerdictBytes));
  if (has_tag(bytes, verify::kVerdictTag)) return verify::decode_verdict(bytes, file);
  return unreadable(text_of(file, ": is no verdict ('isobit audit --verdict' writes one)"));
}

Expected<std::string> problem_of(const verify::Verdict& v, const Trusted& trusted, const std::string& auditor_key) {
  if (const Status valid = verify::verify_verdict(v); !valid) return valid.error().message;
  if (trusted.client && v.client_key != *trusted.client) {
    return text_of("verdict: field 'client_key': found ", commit::hex_of(v.client_key), ", expected ",
                   commit::hex_of(*trusted.client), "; it is of another client's run");
  }
  if (const auto& terms = trusted.terms) {
    if (!v.engaged) return std::string("verdict: is of no valid engagement, so of none that you hold");
    const verify::EngagedNames& named = *v.engaged;
    if (named.run_id != terms->run_id) {
      return text_of("verdict: field 'run_id': found ", to_hex(named.run_id), ", your engagement has ",
                     to_hex(terms->run_id), "; it is of a run under another one");
    }
    if (named.job_root != terms->job_root) {
      return text_of("verdict: field 'job_root': found ", commit::hex_of(named.job_root), ", your engagement has ",
                     commit::hex_of(terms->job_root), "; it is of a run of another job");
    }
  }
  if (auditor_key.empty()) return std::string();
  ISOBIT_TRY(const commit::PublicKey auditor, commit::read_public_key(auditor_key));
  if (!v.signature) return std::string("verdict: is not signed; nobody stands by it");
  if (v.signature->auditor_key == auditor) return std::string();
  return text_of("verdict: field 'auditor_key': found ", commit::hex_of(v.signature->auditor_key), ", expected ",
                 commit::hex_of(auditor), "; another auditor signed it");
}

Json difference_json(const std::optional<verify::FirstDifference>& d) {
  if (!d) return nullptr;
  return {{"step", d->step},
          {"first_step", d->first_step},
          {"last_step", d->last_step},
          {"part", verify::name_of(d->part)},
          {"operator", d->op ? Json(*d->op) : Json(nullptr)},
          {"claimed", d->claimed},
          {"found", d->found}};
}

Json run_names_json(const verify::Verdict& v) {
  if (!v.engaged) return nullptr;
  Json json = {{"job_root", commit::hex_of(v.engaged->job_root)},
               {"run_id", to_hex(v.engaged->run_id)},
               {"named_by", v.finished ? "trainer" : "engagement"}};
  if (!v.finished) return json;
  json["transcript_root"] = commit::hex_of(v.finished->transcript_root);
  json["final_state_root"] = commit::hex_of(v.finished->final_state_root);
  json["last_head"] = {{"leaves", v.finished->last_head.size}, {"root", commit::hex_of(v.finished->last_head.root)}};
  return json;
}

void print_run_names(const verify::Verdict& v, Console& console) {
  if (!v.engaged) return;
  console.line(text_of("job root      ", commit::hex_of(v.engaged->job_root)));
  console.line(
      text_of("run id        ", to_hex(v.engaged->run_id),
              v.finished ? "" : "   (named by the engagement alone; this verdict shows nothing to be the trainer's)"));
  if (!v.finished) return;
  console.line(text_of("transcript    ", commit::hex_of(v.finished->transcript_root)));
  console.line(text_of("state root    ", commit::hex_of(v.finished->final_state_root)));
  console.line(text_of("last head     ", commit::hex_of(v.finished->last_head.root), "   (", v.finished->last_head.size,
                       " leaves)"));
}

int exit_code_of(verify::Outcome outcome) {
  switch (outcome) {
    case verify::Outcome::kAccepted:
      return kAgreed;
    case verify::Outcome::kRejected:
      return kDisagreed;
    case verify::Outcome::kInconclusive:
      return kInconclusive;
  }
  return kDisagreed;
}

Expected<int> check_verdict(const std::string& file, const Trusted& trusted, const std::string& auditor_key,
                            Deadline& deadline, Console& console) {
  ISOBIT_TRY(const verify::Verdict v, read_verdict(file));
  ISOBIT_TRY(const std::string problem, problem_of(v, trusted, auditor_key));
  deadline.finish();
  const Json document = {{"genuine", problem.empty()},
                         {"problem", problem},
                         {"verdict", verify::name_of(v.audit.outcome)},
                         {"complete", v.audit.complete},
                         {"steps_checked", v.audit.steps_checked},
                         {"first_difference", difference_json(v.audit.first_difference)},
                         {"reason", v.audit.reason},
                         {"client_key", commit::hex_of(v.client_key)},
                         {"run", run_names_json(v)},
                         {"platform", v.platform},
                         {"findings", findings_json(v.findings)},
                         {"sample", sample_json(v.sample)},
                         {"auditor_key", v.signature ? Json(commit::hex_of(v.signature->auditor_key)) : Json(nullptr)}};
  console.document(json_text(document));
  if (!problem.empty()) console.line(text_of("genuine       ", console.bad("no"), ": ", problem));
  print_verdict(v, problem.empty(), console);
  if (!problem.empty()) return kDisagreed;
  if (v.signature) {
    console.line(text_of("genuine       ", console.good("yes"), ": the signature is valid",
                         auditor_key.empty() ? "; whose key it is, --auditor-key can compare" : ""));
  } else {
    console.note("nobody has signed this verdict: it is a note, and no auditor stands by it");
  }
  return exit_code_of(v.audit.outcome);
}

}  // namespace isobit::cli
