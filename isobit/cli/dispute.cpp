#include "isobit/base/text.h"
#include "isobit/cli/audit_receipt.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/conduct.h"
#include "isobit/cli/dispute_connect.h"
#include "isobit/cli/dispute_report.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/trust.h"
#include "isobit/lab/receipt_game.h"
#include "isobit/run/dispute_run.h"

namespace isobit::cli {
namespace {

struct Options {
  std::string trainer, challenger, platform = "ordered", other_platform = "ordered", data, out, trainer_key,
                                   challenger_key, cheat, other_cheat;
  std::vector<std::string> overrides;
  Trust trust;
  AuditReceiptOptions receipt;
  LimitOptions limits;
  ConnectOptions connect;
};

// What is given to the wrong one of the two kinds of dispute.
Status check_kind(const Options& o) {
  const bool here = !o.trainer.empty() || !o.challenger.empty();
  if (o.connect.addresses.empty()) {
    if (o.trainer.empty() || o.challenger.empty()) {
      return usage_error("dispute: name two runs, RUN RUN; or the parties' addresses, with --connect");
    }
    for (const auto& [option, value] : {std::pair("--certificate", &o.connect.certificate),
                                        {"--key", &o.connect.key},
                                        {"--job", &o.connect.job},
                                        {"--authority", &o.connect.authority},
                                        {"--state", &o.connect.state},
                                        {"--challenger", &o.connect.challenger},
                                        {"--referee-key", &o.connect.referee_key}}) {
      if (!value->empty()) return usage_error(text_of(option, ": is of a dispute over a network (--connect)"));
    }
    return {};
  }
  if (here) return usage_error("--connect: the parties have their runs; name no RUN");
  for (const auto& [option, value] : {std::pair("--trainer-key", &o.trainer_key),
                                      {"--challenger-key", &o.challenger_key},
                                      {"--cheat", &o.cheat},
                                      {"--challenger-cheat", &o.other_cheat},
                                      {"--data", &o.data}}) {
    if (!value->empty()) return usage_error(text_of(option, ": is the party's, which has it where it serves"));
  }
  return {};
}

Expected<run::DisputeSide> side_of(const Options& o, const std::string& path, const std::string& platform) {
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  run::DisputeSide side;
  side.open.run = path;
  side.open.client = named.client;
  side.open.home = home_of(o.trust);
  side.open.overrides = with_data_path(o.overrides, o.data);
  ISOBIT_TRY(side.open.limits, limits_of(o.limits));
  ISOBIT_TRY(side.platform, platform::parse_platform(platform));
  return side;
}

Expected<commit::SecretKey> challenger_key(const Options& o) {
  return o.challenger_key.empty() ? commit::SecretKey::generate() : commit::read_secret_key(o.challenger_key);
}

Expected<run::DisputeRequest> request_of(const Options& o) {
  run::DisputeRequest request;
  ISOBIT_TRY(request.trainer, side_of(o, o.trainer, o.platform));
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  request.trainer.open.terms = named.terms;
  ISOBIT_TRY(request.challenger, side_of(o, o.challenger, o.other_platform));
  ISOBIT_TRY(request.trainer.conduct, conduct_of("--cheat", o.cheat, o.trainer, request.trainer.open.overrides));
  ISOBIT_TRY(request.challenger->conduct,
             conduct_of("--challenger-cheat", o.other_cheat, o.challenger, request.challenger->open.overrides));
  ISOBIT_TRY(request.trainer.key, trainer_key(o.trainer_key, home_of(o.trust)));
  ISOBIT_TRY(request.challenger->key, challenger_key(o));
  return request;
}

Expected<int> run_receipts(const Options& o, Console& console) {
  if (!o.data.empty() || !o.overrides.empty() || !o.trust.client_key.empty() || !o.trust.engagement.empty()) {
    return usage_error(
        "dispute: --data, --set, --client-key and --engagement are of runs; receipts go with --model "
        "and --input");
  }
  ISOBIT_RETURN_IF_ERROR(refuse_recompute("dispute", o.limits));
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  ISOBIT_TRY(const lab::InferenceRequest inference, request_of(o.receipt, limits.max_memory));
  ISOBIT_TRY(const auto lie, false_value_of("--cheat", o.cheat));
  ISOBIT_TRY(const auto other_lie, false_value_of("--challenger-cheat", o.other_cheat));
  ISOBIT_TRY(const platform::Platform here, platform::parse_platform(o.platform));
  ISOBIT_TRY(const platform::Platform there, platform::parse_platform(o.other_platform));
  ISOBIT_TRY(const verify::InferenceReceipt of_server, read_receipt(o.trainer));
  ISOBIT_TRY(const verify::InferenceReceipt of_challenger, read_receipt(o.challenger));
  lab::ReceiptDispute request{
      {of_server, inference, here, std::nullopt, lie.get()},
      {of_challenger, inference, there, std::nullopt, other_lie.get()},
      [&](const dispute::Question& q) { console.progress(text_of("turn ", q.turn, ": ", asked_for(q))); },
      monotonic_seconds};
  ISOBIT_TRY(request.server.key, server_secret(o.trainer_key, o.trust.key_folder));
  ISOBIT_TRY(request.challenger.key, challenger_key(o));
  Deadline deadline(o.limits, console);
  const auto result = lab::dispute_receipts(request);
  console.end_progress();
  if (!result) return tl::unexpected<Error>(result.error());
  deadline.finish();
  ISOBIT_RETURN_IF_ERROR(report_dispute({result->verdict, result->counts, result->turns, result->referee_seconds},
                                        {result->engagement, result->record, {}, of_server}, o.out, console));
  return exit_code_of(result->verdict);
}

Expected<int> run(const Options& o, Console& console) {
  ISOBIT_RETURN_IF_ERROR(check_kind(o));
  if (!o.out.empty()) ISOBIT_RETURN_IF_ERROR(check_output(o.out, false));
  std::vector<std::string> read = values_of(o.overrides);
  read.insert(read.end(), {o.data, o.trust.client_key, o.trust.engagement, o.trainer_key, o.challenger_key});
  read.insert(read.end(), {o.connect.referee_key, o.connect.challenger, o.connect.certificate, o.connect.key,
                           o.connect.authority, o.connect.job});
  read.insert(read.end(), {o.trainer, o.challenger, o.receipt.model});
  ISOBIT_RETURN_IF_ERROR(check_apart({{"--out", o.out}}, read));
  if (!o.connect.addresses.empty()) {
    ISOBIT_RETURN_IF_ERROR(refuse_recompute("dispute", o.limits));
    ConnectOptions connect = o.connect;
    connect.overrides = o.overrides;
    return connect_dispute(connect, o.trust, o.out, console);
  }
  if (is_receipt_file(o.trainer)) return run_receipts(o, console);
  if (o.receipt.any())
    return usage_error(text_of("dispute: --model, --input and --dim go with receipts ('isobit run --receipt'), and '",
                               o.trainer, "' is none"));
  ISOBIT_TRY(run::DisputeRequest request, request_of(o));
  request.seconds = monotonic_seconds;
  request.progress = [&](const dispute::Question& q) {
    console.progress(text_of("turn ", q.turn, ": ", asked_for(q)));
  };
  Deadline deadline(o.limits, console);
  const auto result = run::dispute_runs(request);
  console.end_progress();
  if (!result) return tl::unexpected<Error>(result.error());
  deadline.finish();
  ISOBIT_RETURN_IF_ERROR(report_dispute({result->verdict, result->counts, result->turns, result->referee_seconds},
                                        {result->engagement, result->record, {}}, o.out, console));
  return exit_code_of(result->verdict);
}

}  // namespace

void add_dispute(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add(
      "dispute", "settle which of two runs or receipts is false: step, operator and element",
      "  isobit dispute theirs.run mine.run\n"
      "  isobit dispute theirs.run mine.run --out settled.dispute\n"
      "  isobit verify settled.dispute --job digits.toml\n"
      "  isobit dispute theirs.receipt mine.receipt --model model.onnx --input image.npy\n"
      "  isobit dispute --connect trainer.example:7420 --connect challenger.example:7421 --job digits.toml\n"
      "      --certificate tls/referee.crt --key tls/referee.key --authority tls/authority.crt\n");
  c.positional("RUN|RECEIPT", o->trainer, "the run or receipt in doubt, whose trainer's or server's key is at hand",
               false);
  c.positional("OTHER", o->challenger, "that of whoever doubts it", false);
  c.option("-p,--platform", "P", o->platform, "where the trainer computes again (default: ordered)");
  c.option("--challenger-platform", "P", o->other_platform, "where the other one does (default: ordered)");
  c.option("--trainer-key", "FILE", o->trainer_key,
           "secret key of the run's trainer or the receipt's server (default: your own)");
  c.option("--challenger-key", "FILE", o->challenger_key,
           "secret key of who doubts it (default: one for this dispute)");
  c.option("--cheat", "KIND@STEP", o->cheat,
           "the trainer answers as the cheat that it is ('isobit cheat'); of a receipt value@NODE");
  c.option("--challenger-cheat", "KIND@STEP", o->other_cheat, "so does the other one");
  c.option("--model", "MODEL.onnx", o->receipt.model, "of receipts: their model");
  c.list("-i,--input", "[NAME=]X.npy", o->receipt.inputs, "of receipts: an input; others are drawn as by 'isobit run'");
  c.list("--dim", "NAME=N", o->receipt.dims, "of receipts: extent of a dimension of inputs that are drawn");
  c.option("-o,--out", "FILE", o->out, "write the record of the dispute, from which anybody gets the verdict");
  c.option("--data", "PATH", o->data, "where your copy of the data lies, like --set data.path=PATH");
  c.list("--set", "T.KEY=VALUE", o->overrides, "where other files of the job lie; may be repeated");
  c.list("--connect", "HOST:PORT", o->connect.addresses,
         "twice, the trainer's and the challenger's address: be their referee ('isobit serve')");
  c.option("--job", "JOB.toml", o->connect.job, "the job that the dispute is about (--connect)");
  c.option("--referee-key", "FILE", o->connect.referee_key,
           "secret key of the engaged referee (default: your own; --connect)");
  c.option("--challenger", "FILE", o->connect.challenger,
           "public key of who challenges (default: the one that it has; --connect)");
  c.option("--certificate", "FILE", o->connect.certificate, "your certificate, in PEM (--connect)");
  c.option("--key", "FILE", o->connect.key, "its private key, in PEM (--connect)");
  c.option("--authority", "FILE", o->connect.authority, "whose certificates the parties must have, in PEM (--connect)");
  c.option("--state", "FOLDER", o->connect.state,
           "where what counted is kept, so that the same command goes on after it was stopped (--connect)");
  add_trust_options(c, o->trust);
  add_memory_option(c, o->limits);
  add_recompute_option(c, o->limits);
  add_time_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
