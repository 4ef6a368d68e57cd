// 'isobit answer': the trainer's side of a spot check on another machine.
#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/conduct.h"
#include "isobit/cli/exchange.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/trust.h"
#include "isobit/run/spot_run.h"

namespace isobit::cli {
namespace {

struct Options {
  std::string run, through, platform = "ordered", data, trainer_key, cheat;
  std::vector<std::string> overrides;
  Trust trust;
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

Expected<int> run(const Options& o, Console& console) {
  std::error_code error;
  if (!fs::is_directory(o.through, error)) {
    return unreadable(text_of("--through ", o.through,
                              ": is no folder; it is the one that the auditor asks in "
                              "('isobit audit RUN --spot N --through FOLDER')"));
  }
  ISOBIT_TRY(const run::DisputeSide side, side_of(o));
  Deadline deadline(o.limits, console);
  ISOBIT_TRY(const std::unique_ptr<run::SpotSide> trainer, run::SpotSide::open(side));
  const auto answered = answer_all(
      o.through, [&](ByteView question) { return trainer->answer(question); },
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
  Command& c = commands.add("answer", "answer an auditor's spot check of one's own run, from another machine",
                            "  isobit answer digits.run --through shared/check     (docs/spot-checks.md)\n");
  c.positional("RUN", o->run, "folder of the run, which is your own");
  c.option("--through", "FOLDER", o->through, "where the auditor asks, and answers go", true);
  c.option("-p,--platform", "P", o->platform, "what computes its steps again (default: ordered)");
  add_trust_options(c, o->trust);
  c.option("--data", "PATH", o->data, "where the data lie, like --set data.path=PATH");
  c.option("--trainer-key", "FILE", o->trainer_key, "secret key of the run's trainer (default: your own)");
  c.option("--cheat", "KIND@STEP", o->cheat, "answer as the cheat that the run is");
  add_memory_option(c, o->limits);
  add_time_option(c, o->limits);
  c.list("--set", "T.KEY=VALUE", o->overrides, "where the run's files lie (data.path, data.salt, model.onnx)");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
