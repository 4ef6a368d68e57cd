#include "isobit/cli/audit_receipt.h"

#include <cstdio>

#include "isobit/base/text.h"
#include "isobit/cli/conduct.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/spot.h"
#include "isobit/cli/trust.h"
#include "isobit/dispute/inference.h"
#include "isobit/lab/receipt_game.h"
#include "isobit/run/keys.h"

namespace isobit::cli {
namespace {

using lab::ReceiptFinding;
using verify::InferenceReceipt;

// Whose receipts count: --server-key, else one's own server's.
Expected<commit::PublicKey> trusted_server(const std::string& server_key, const std::string& key_folder) {
  if (!server_key.empty()) return commit::read_public_key(server_key);
  ISOBIT_TRY(const fs::path home, run::key_folder(key_folder, environment));
  const fs::path own = home / "server.pub";
  std::error_code ignored;
  if (fs::exists(own, ignored)) return commit::read_public_key(own);
  return usage_error(text_of("--server-key: is missing, and there is no ", own.string(),
                             "; name the public key of the server whose receipt it is"));
}

nlohmann::ordered_json finding_json(const std::optional<ReceiptFinding>& finding) {
  if (!finding) return nullptr;
  return {{"part", lab::name_of(finding->part)},
          {"what", finding->what},
          {"claimed", finding->claimed},
          {"found", finding->found}};
}

void report(const InferenceReceipt& receipt, const std::string& file, const std::optional<ReceiptFinding>& finding,
            bool replayed, const std::string& platform, double seconds, size_t outputs_compared, Console& console) {
  nlohmann::ordered_json document = {{"verdict", finding ? "rejected" : "accepted"},
                                     {"replayed", replayed},
                                     {"finding", finding_json(finding)},
                                     {"reason", finding ? finding->reason : ""},
                                     {"platform", platform},
                                     {"seconds", seconds},
                                     {"outputs_compared", outputs_compared},
                                     {"receipt", receipt_json(receipt, file)}};
  console.document(json_text(document));
  console.line(text_of("verdict       ", finding ? console.bad("rejected") : console.good("accepted"),
                       replayed || finding ? "" : " (nothing was replayed)"));
  if (replayed) {
    char time[32];
    std::snprintf(time, sizeof time, "%.3g s", seconds);
    console.line(text_of("checked       ", receipt.outputs.size(), receipt.outputs.size() == 1 ? " output" : " outputs",
                         receipt.trace ? " and the trace" : "", ", run again on ", platform, " in ", time, ", ",
                         receipt.of.arithmetic));
  }
  if (outputs_compared > 0 && !finding) {
    console.line(text_of("              ", outputs_compared,
                         outputs_compared == 1 ? " file of an output has the receipt's digest"
                                               : " files of outputs have the receipt's digests"));
  }
  if (finding) {
    console.line(text_of("differs       ", printable(finding->what)));
    if (!finding->claimed.empty()) console.line("  claimed     " + printable(finding->claimed));
    if (!finding->found.empty()) console.line("  found       " + printable(finding->found));
    console.line("reason        " + printable(finding->reason));
  }
  print_receipt(receipt, file, console);
}

// What everybody wants of a receipt, whatever they check it by.
Expected<lab::ReceiptWanted> wanted_by(const AuditReceiptOptions& o, const std::string& key_folder) {
  lab::ReceiptWanted wanted;
  ISOBIT_TRY(wanted.server, trusted_server(o.server_key, key_folder));
  if (!o.challenge.empty()) {
    ISOBIT_TRY(wanted.challenge, challenge_of(o.challenge));
  }
  if (o.arithmetic.empty()) return wanted;
  if (platform::find_arithmetic(o.arithmetic) == nullptr) {
    return usage_error(text_of("--arithmetic: ", platform::named_arithmetic(o.arithmetic).error().message));
  }
  wanted.arithmetic = o.arithmetic;
  return wanted;
}

}  // namespace

Expected<lab::InferenceRequest> request_of(const AuditReceiptOptions& o, uint64_t max_memory) {
  if (o.model.empty()) {
    return usage_error(
        "--model: is missing; name the model that the receipt is of ('isobit verify' checks the signature without it)");
  }
  lab::InferenceRequest request;
  request.model = o.model;
  request.max_memory = max_memory;
  ModelInputOptions inputs;
  inputs.inputs = o.inputs;
  inputs.dims = o.dims;
  ISOBIT_RETURN_IF_ERROR(read_model_inputs(inputs, max_memory, request));
  return request;
}

void add_audit_receipt_options(Command& c, AuditReceiptOptions& o) {
  c.option("--model", "MODEL.onnx", o.model, "of a receipt: the model that it is to be of");
  c.list("-i,--input", "[NAME=]X.npy", o.inputs, "of a receipt: an input; others are drawn as 'isobit run' draws them");
  c.list("--dim", "NAME=N", o.dims, "of a receipt: extent of a dimension of inputs that are drawn (default: 1)");
  c.list("--output", "[NAME=]Y.npy", o.outputs, "of a receipt: an output that you were given with it");
  c.option("--server-key", "FILE", o.server_key,
           "of a receipt: public key of its server (default: your own server.pub)");
  c.option("--challenge", "HEX", o.challenge, "of a receipt: the challenge that it must answer");
  c.option("-a,--arithmetic", "A", o.arithmetic, "of a receipt: the arithmetic that it must be of");
}

Expected<int> audit_receipt(const AuditReceiptOptions& o, const WhichReceipt& which, const LimitOptions& limit_options,
                            Console& console) {
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform(which.platform));
  ISOBIT_TRY(const run::Limits limits, limits_of(limit_options));
  ISOBIT_TRY(const lab::ReceiptWanted wanted, wanted_by(o, which.key_folder));
  ISOBIT_TRY(const InferenceReceipt receipt, read_receipt(which.file));
  ISOBIT_TRY(const lab::InferenceRequest request, request_of(o, limits.max_memory));
  ISOBIT_TRY(const auto given, read_named_tensors("--output", o.outputs, limits.max_memory));
  Deadline deadline(limit_options, console);
  // Whose it is, and what it says that it is, before the model is opened.
  lab::ReceiptAudit audit;
  audit.finding = lab::check_receipt(receipt, wanted);
  platform::Engine engine(p);
  if (!audit.finding) audit.finding = lab::check_given_outputs(receipt, given, engine.pool());
  if (!audit.finding) {
    ISOBIT_TRY(audit, lab::audit_receipt(receipt, request, engine));
  }
  deadline.finish();
  report(receipt, which.file, audit.finding, audit.ran, p.text(), audit.seconds, given.size(), console);
  return audit.finding ? kDisagreed : kAgreed;
}

Expected<commit::SecretKey> server_secret(const std::string& file, const std::string& key_folder) {
  if (!file.empty()) return commit::read_secret_key(file);
  ISOBIT_TRY(const fs::path home, run::key_folder(key_folder, environment));
  return run::existing_key(home, "server");
}

Expected<int> spot_receipt(const AuditReceiptOptions& o, const WhichReceipt& which, const ReceiptSpotOptions& spot,
                           const LimitOptions& limit_options, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check_draws(spot.draws));
  ISOBIT_TRY(const run::Limits limits, limits_of(limit_options));
  ISOBIT_TRY(const lab::ReceiptWanted wanted, wanted_by(o, which.key_folder));
  ISOBIT_TRY(const InferenceReceipt receipt, read_receipt(which.file));
  ISOBIT_TRY(const std::unique_ptr<adversary::FalseValue> lie, false_value_of("--cheat", spot.cheat));
  ISOBIT_TRY(const platform::Platform p, platform::parse_platform(which.platform));
  ISOBIT_TRY(lab::InferenceRequest request, request_of(o, limits.max_memory));
  if (auto finding = lab::check_receipt(receipt, wanted)) {
    report(receipt, which.file, finding, false, "", 0, 0, console);
    return kDisagreed;
  }
  ISOBIT_TRY(dispute::Subject subject, dispute::subject_of(receipt));
  if (!spot.out.empty()) ISOBIT_RETURN_IF_ERROR(check_output(spot.out, false));
  // Before this process has threads.
  std::unique_ptr<lab::ReceiptSpotSide> side;  // over there
  ISOBIT_TRY(Answerer server, Answerer::start(spot.through, [&]() -> Expected<OtherSide::Answer> {
               lab::ReceiptSide computes{receipt, request, p, std::nullopt, lie.get()};
               ISOBIT_TRY(computes.key, server_secret(spot.server_secret, which.key_folder));
               ISOBIT_TRY(side, lab::ReceiptSpotSide::open(computes));
               return OtherSide::Answer([&](ByteView question) { return side->answer(question); });
             }));
  const double begin = monotonic_seconds();
  std::optional<lab::ReceiptFinding> finding;
  size_t given_outputs = 0;
  {
    platform::Engine engine(p);
    ISOBIT_TRY(const auto given, read_named_tensors("--output", o.outputs, limits.max_memory));
    given_outputs = given.size();
    finding = lab::check_given_outputs(receipt, given, engine.pool());
    if (!finding) {
      request.arithmetic = receipt.of.arithmetic;
      ISOBIT_TRY(const lab::ComputationReady own, lab::ComputationReady::prepare(request, engine));
      finding = lab::check_computation(receipt, own.computation());
    }
  }
  if (finding) {
    report(receipt, which.file, finding, false, "", 0, given_outputs, console);
    return kDisagreed;
  }
  dispute::SpotRecord record{subject.engagement, spot.seed, spot.draws, std::nullopt, {}, receipt};
  dispute::SpotCheck check(std::move(subject), spot.seed, spot.draws);
  return finish_spot_check(check, server, std::move(record), spot.out, monotonic_seconds() - begin, limit_options,
                           console);
}

Expected<int> verify_receipt_file(const std::string& file, const std::string& server_key, Console& console) {
  lab::ReceiptWanted wanted;
  if (!server_key.empty()) {
    ISOBIT_TRY(wanted.server, commit::read_public_key(server_key));
  }
  ISOBIT_TRY(const InferenceReceipt receipt, read_receipt(file));
  const auto finding = lab::check_receipt(receipt, wanted);
  report(receipt, file, finding, false, "", 0, 0, console);
  if (!finding) note_unpinned_server(wanted.server.has_value(), console);
  return finding ? kDisagreed : kAgreed;
}

}  // namespace isobit::cli
