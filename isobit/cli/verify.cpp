#include <algorithm>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/cli/audit_receipt.h"
#include "isobit/cli/audited.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/dispute_report.h"
#include "isobit/cli/evidence.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/spot.h"
#include "isobit/cli/value_report.h"
#include "isobit/cli/verdict_report.h"
#include "isobit/dispute/record.h"
#include "isobit/dispute/spot_record.h"
#include "isobit/platform/platform.h"
#include "isobit/run/open_run.h"
#include "isobit/run/static_checks.h"
#include "isobit/verify/evidence.h"

namespace isobit::cli {

namespace {

constexpr const char* kJobGoesWith =
    "--job: goes with the record of a dispute ('isobit dispute --out') or what a spot check found "
    "('isobit audit --spot --out')";
constexpr const char* kKindsOfFiles = "verdict, evidence, shown value, dispute, spot check or receipt";
constexpr const char* kTraceRootGoesWith = "--trace-root: goes with a shown value ('isobit open --out')";
constexpr const char* kServerKeyGoesWith =
    "--server-key: goes with a receipt ('isobit run --receipt'), or with a dispute or a spot check about one";

struct Options {
  std::string run, other, out, trace_root, job, server_key;
  std::vector<std::string> overrides;
  Trust trust;
  AuditedOptions audited;
  LimitOptions limits;
};

Expected<int> verify_run(const Options& o, Deadline& deadline, Console& console) {
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  run::OpenRequest request;
  request.run = o.run;
  ISOBIT_TRY(request.verdict, named_verdict(o.audited, named, home_of(o.trust), false));
  ISOBIT_TRY(request.client, require_client(named, o.trust));
  request.terms = named.terms;
  ISOBIT_TRY(request.limits, limits_of(o.limits));
  request.checkpoints = bundle::Checkpoints::kLeave;
  const auto opened = run::open_run(request);
  if (!opened && opened.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(opened.error());
  const bundle::BundleReader* reader = opened ? &opened->reader : nullptr;
  if (reader != nullptr) ISOBIT_RETURN_IF_ERROR(reader->require_finished());
  std::string reason = opened ? "" : opened.error().message;
  if (reader != nullptr) {
    ThreadPool pool(platform::available_threads());
    const auto roots = run::read_checkpoints(*reader, pool);
    if (!roots && roots.error().code != ErrorCode::kRejected) return tl::unexpected<Error>(roots.error());
    if (!roots) reason = roots.error().message;
    if (const auto finding = roots ? run::static_finding(*reader, *roots) : std::nullopt) reason = finding->reason;
  }
  deadline.finish();
  const bool good = reason.empty();
  console.document(json_text(nlohmann::ordered_json{{"verdict", good ? "accepted" : "rejected"},
                                                    {"replayed", false},
                                                    {"reason", reason},
                                                    {"audited", good ? audited_json(request.verdict) : nullptr}}));
  console.line(
      text_of("verdict       ", good ? console.good("accepted") : console.bad("rejected"), " (nothing was replayed)"));
  if (!good) {
    console.line(text_of("reason        ", printable(reason)));
    return kDisagreed;
  }
  console.line(text_of("checked       engagement, ", reader->heads().size(), " signed heads, ",
                       reader->transcript().size(), " leaves, ", reader->checkpoints().size(),
                       " checkpoints, digests of ", reader->manifest()->files.size(), " files"));
  print_audited(request.verdict, console);
  if (!request.verdict) console.line("              'isobit audit' replays the run as well");
  return kAgreed;
}

// A value of a step, shown: whether its parts lead to one trace, and to the one that was named.
Expected<int> verify_opening(const Options& o, const Bytes& bytes, Console& console) {
  ISOBIT_TRY(const verify::ValueOpening opening, verify::decode_value_opening(bytes, o.run));
  const auto roots = opening.roots();
  std::string reason = roots ? "" : roots.error().message;
  if (roots && !o.trace_root.empty()) {
    const auto wanted = from_hex(o.trace_root);
    if (!wanted || wanted->size() != roots->trace.size()) {
      return usage_error(text_of("--trace-root: found '", o.trace_root, "', expected 64 hex digits"));
    }
    if (!std::ranges::equal(*wanted, roots->trace)) {
      reason = text_of("it is a value of the trace ", commit::hex_of(roots->trace), ", not of the one that was named");
    }
  }
  const bool good = reason.empty();
  nlohmann::ordered_json document = {
      {"verdict", good ? "accepted" : "rejected"}, {"reason", reason}, {"trace_named", !o.trace_root.empty()}};
  console.line(text_of("verdict       ", good ? console.good("accepted") : console.bad("rejected")));
  if (good) report_opening(opening, *roots, document, console);
  if (good && o.trace_root.empty()) {
    console.line("              compare the trace root with one that was committed to, or name that with --trace-root");
  }
  if (!good) console.line(text_of("reason        ", printable(reason)));
  console.document(json_text(document));
  return good ? kAgreed : kDisagreed;
}

// Small files say by their tag what they are. Which client and which engagement they name is compared where one was
// named.
Expected<int> verify_file(const Options& o, Deadline& deadline, Console& console) {
  ISOBIT_TRY(const Bytes bytes, read_file(o.run, dispute::kMaxRecordBytes));
  const bool of_dispute = has_tag(bytes, dispute::kRecordTag) || has_tag(bytes, dispute::kReceiptRecordTag);
  if (of_dispute || has_tag(bytes, dispute::kSpotRecordTag) || has_tag(bytes, dispute::kReceiptSpotRecordTag)) {
    ISOBIT_TRY(const Trusted named, trusted_if_named(o.trust));
    std::optional<commit::PublicKey> server;
    if (!o.server_key.empty()) {
      ISOBIT_TRY(server, commit::read_public_key(o.server_key));
    }
    const auto verify = of_dispute ? verify_dispute : verify_spot_finding;
    return verify(o.run, bytes, o.job, o.overrides, named, server, console);
  }
  if (!o.job.empty()) return usage_error(kJobGoesWith);
  if (has_tag(bytes, verify::kReceiptTag)) return verify_receipt_file(o.run, o.server_key, console);
  if (!o.server_key.empty()) return usage_error(kServerKeyGoesWith);
  if (has_tag(bytes, verify::kValueOpeningTag)) return verify_opening(o, bytes, console);
  if (!o.trace_root.empty()) return usage_error(kTraceRootGoesWith);
  ISOBIT_TRY(const Trusted named, trusted_if_named(o.trust));
  if (has_tag(bytes, verify::kVerdictTag)) {
    return check_verdict(o.run, named, o.audited.auditor_key, deadline, console);
  }
  if (!has_tag(bytes, verify::kEvidenceTag)) {
    return unreadable(text_of(o.run, ": is no ", kKindsOfFiles,
                              has_tag(bytes, verify::kTraceListTag)
                                  ? "; a list of values is compared with 'isobit open RUN --step T --against FILE'"
                                  : ""));
  }
  if (!o.audited.auditor_key.empty()) return usage_error("verify: --auditor-key goes with a verdict");
  return verify_evidence_file(o.run, bytes, named, deadline, console);
}

Expected<int> run(const Options& o, Console& console) {
  if (o.other.empty() && !o.out.empty()) {
    return usage_error("verify: --out takes the evidence of two runs; name both");
  }
  Deadline deadline(o.limits, console);
  std::error_code error;
  if (fs::status(o.run, error).type() == fs::file_type::not_found) {
    return unreadable(
        text_of(o.run, ": No such file or directory", "; expected the folder of a run, or a file: ", kKindsOfFiles));
  }
  const bool of_file = o.other.empty() && fs::is_regular_file(o.run, error);
  if (!o.trace_root.empty() && !of_file) return usage_error(kTraceRootGoesWith);
  if (!o.job.empty() && !of_file) return usage_error(kJobGoesWith);
  if (!o.server_key.empty() && !of_file) return usage_error(kServerKeyGoesWith);
  if (o.other.empty() && !of_file) return verify_run(o, deadline, console);
  if (!o.audited.verdict.empty())
    return usage_error("verify: --verdict goes with one run; a verdict's file stands alone");
  if (o.audited.partial) return usage_error("verify: --partial goes with --verdict");
  if (of_file) return verify_file(o, deadline, console);
  if (!o.audited.auditor_key.empty()) return usage_error("verify: --auditor-key goes with a verdict");
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  return verify_two_runs({o.run, o.other, o.out, o.trust, limits}, deadline, console);
}

}  // namespace

void add_verify(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c =
      commands.add("verify", "check what was signed without replaying it: a run, a verdict, evidence, a receipt",
                   "  isobit verify digits.run\n"
                   "  isobit verify digits.verdict --auditor-key auditor.pub\n"
                   "  isobit verify digits.run --verdict digits.verdict --auditor-key auditor.pub\n"
                   "  isobit verify theirs.run what-they-gave-others.run --out fork.evidence\n"
                   "  isobit verify fork.evidence\n"
                   "  isobit verify fc.opening --trace-root 1f3c...\n"
                   "  isobit verify image.receipt --server-key server.pub\n"
                   "  isobit verify settled.dispute --job digits.toml\n"
                   "  isobit verify found --job digits.toml\n");
  c.positional("RUN|FILE", o->run,
               "folder of a run, or a file: verdict, evidence, shown value, dispute, spot check, receipt");
  c.positional("RUN", o->other, "another copy of the same run: did its trainer sign two histories?", false);
  c.option("-o,--out", "FILE", o->out, "where to write what convicts the signer of two histories");
  c.option("--trace-root", "HEX", o->trace_root, "of a shown value: the trace that it must be of");
  c.option("--job", "JOB.toml", o->job, "of a dispute, or of what a spot check found: the job that it is about");
  c.option("--server-key", "FILE", o->server_key,
           "of a receipt, or a dispute about one: public key of the server whose it must be");
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of that job; may be repeated");
  add_trust_options(c, o->trust);
  add_audited_options(c, o->audited);
  add_memory_option(c, o->limits);
  add_time_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
