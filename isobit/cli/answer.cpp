// 'isobit answer': the side of who is checked in a spot check on another machine, a run's trainer or a receipt's
// server.
#include "isobit/base/text.h"
#include "isobit/cli/audit_receipt.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/conduct.h"
#include "isobit/cli/exchange.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/trust.h"
#include "isobit/lab/receipt_game.h"
#include "isobit/run/spot_run.h"

namespace isobit::cli {
namespace {

struct Options {
  std::string run, through, platform = "ordered", data, trainer_key, cheat;
  std::vector<std::string> overrides;
  Trust trust;
  AuditReceiptOptions receipt;  // the model, and its inputs
  LimitOptions limits;
};

Expected<run::DisputeSide> side_of(const Options& o) {
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  run::DisputeSide side;
  side.open.run = o.run;
  side.open.client = named.client;
  side.open.terms = named.terms;
  side.open.home = home_of(o.trust);
  side.open.overrides = with_data_path(o.overrides, o.data);
  ISOBIT_TRY(side.open.limits, limits_of(o.limits));
  ISOBIT_TRY(side.platform, platform::parse_platform(o.platform));
  ISOBIT_TRY(side.key, trainer_key(o.trainer_key, side.open.home));
  ISOBIT_TRY(side.conduct, conduct_of("--cheat", o.cheat, o.run, side.open.overrides));
  return side;
}

// Who answers, and what it answers by.
struct Side {
  std::unique_ptr<run::SpotSide> trainer;
  std::unique_ptr<adversary::FalseValue> lie;
  std::unique_ptr<lab::ReceiptSpotSide> server;
  Expected<Bytes> answer(ByteView question) { return trainer ? trainer->answer(question) : server->answer(question); }
};

Expected<Side> open_server(const Options& o) {
  const bool of_runs =
      !o.data.empty() || !o.overrides.empty() || !o.trust.client_key.empty() || !o.trust.engagement.empty();
  if (of_runs) {
    return usage_error(text_of("answer: '", o.run,
                               "' is a receipt, which goes with --model, --input and --dim; --data, ",
                               "--set, --client-key and --engagement are of runs"));
  }
  ISOBIT_RETURN_IF_ERROR(refuse_recompute("answer", o.limits));
  Side side;
  ISOBIT_TRY(side.lie, false_value_of("--cheat", o.cheat));
  ISOBIT_TRY(const run::Limits limits, limits_of(o.limits));
  lab::ReceiptSide computes{{}, {}, {}, std::nullopt, side.lie.get()};
  ISOBIT_TRY(computes.receipt, read_receipt(o.run));
  ISOBIT_TRY(computes.request, request_of(o.receipt, limits.max_memory));
  ISOBIT_TRY(computes.platform, platform::parse_platform(o.platform));
  ISOBIT_TRY(computes.key, server_secret(o.trainer_key, o.trust.key_folder));
  ISOBIT_TRY(side.server, lab::ReceiptSpotSide::open(computes));
  return side;
}

Expected<Side> open_side(const Options& o) {
  if (is_receipt_file(o.run)) return open_server(o);
  if (o.receipt.any()) {
    return usage_error(text_of("answer: --model, --input and --dim go with a receipt ('isobit run --receipt'), and '",
                               o.run, "' is none"));
  }
  ISOBIT_TRY(const run::DisputeSide computes, side_of(o));
  Side side;
  ISOBIT_TRY(side.trainer, run::SpotSide::open(computes));
  return side;
}

Expected<int> run(const Options& o, Console& console) {
  std::error_code error;
  if (!fs::is_directory(o.through, error)) {
    return unreadable(text_of("--through ", o.through,
                              ": is no folder; it is the one that the auditor asks in "
                              "('isobit audit RUN --spot N --through FOLDER')"));
  }
  Deadline deadline(o.limits, console);
  ISOBIT_TRY(Side side, open_side(o));
  const auto answered = answer_all(
      o.through, [&](ByteView question) { return side.answer(question); },
      [&](uint64_t number, bool waits) {
        console.progress(text_of(number, " answered; ", waits ? "waiting for the next question" : "answering"));
      });
  deadline.finish();
  console.end_progress();
  if (!answered) return tl::unexpected<Error>(answered.error());
  console.document(json_text(nlohmann::ordered_json{{"answered", *answered}}));
  console.line(text_of("answered      ", *answered, " questions"));
  return kAgreed;
}

}  // namespace

void add_answer(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c =
      commands.add("answer", "answer an auditor's spot check of one's own run or receipt, from another machine",
                   "  isobit answer digits.run --through shared/check     (docs/spot-checks.md)\n"
                   "  isobit answer image.receipt --model model.onnx --input image.npy --through shared/check\n");
  c.positional("RUN|RECEIPT", o->run, "folder of the run, or the receipt, which is your own");
  c.option("--through", "FOLDER", o->through, "where the auditor asks, and answers go", true);
  c.option("-p,--platform", "P", o->platform, "what computes its steps again (default: ordered)");
  add_trust_options(c, o->trust);
  c.option("--data", "PATH", o->data, "where the data lie, like --set data.path=PATH");
  c.option("--trainer-key", "FILE", o->trainer_key,
           "secret key of the run's trainer or the receipt's server (default: your own)");
  c.option("--cheat", "KIND@STEP", o->cheat, "answer as the cheat that the run is; of a receipt value@NODE");
  c.option("--model", "MODEL.onnx", o->receipt.model, "of a receipt: its model");
  c.list("-i,--input", "[NAME=]X.npy", o->receipt.inputs,
         "of a receipt: an input; others are drawn as by 'isobit run'");
  c.list("--dim", "NAME=N", o->receipt.dims, "of a receipt: extent of a dimension of inputs that are drawn");
  add_memory_option(c, o->limits);
  add_recompute_option(c, o->limits);
  add_time_option(c, o->limits);
  c.list("--set", "T.KEY=VALUE", o->overrides, "where the run's files lie (data.path, data.salt, model.onnx)");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
