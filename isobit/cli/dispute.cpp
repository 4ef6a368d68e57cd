#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/conduct.h"
#include "isobit/cli/dispute_report.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/trust.h"
#include "isobit/dispute/record.h"
#include "isobit/run/dispute_run.h"

namespace isobit::cli {
namespace {

struct Options {
  std::string trainer, challenger, platform = "ordered", other_platform = "ordered", data, out, trainer_key,
                                   challenger_key, cheat, other_cheat;
  std::vector<std::string> overrides;
  Trust trust;
  LimitOptions limits;
};

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
  if (o.challenger_key.empty()) {
    ISOBIT_TRY(request.challenger->key, commit::SecretKey::generate());
  } else {
    ISOBIT_TRY(request.challenger->key, commit::read_secret_key(o.challenger_key));
  }
  return request;
}

std::string asked_for(const dispute::Question& q) {
  switch (q.kind) {
    case dispute::Kind::kChallenge:
      return "challenge";
    case dispute::Kind::kSteps:
      return text_of("steps ", q.first_step + 1, " to ", q.last_step);
    case dispute::Kind::kValues:
      return text_of("values of step ", q.step);
    case dispute::Kind::kBatch:
      return text_of("samples of step ", q.step);
    case dispute::Kind::kSample:
      return text_of("a sample of step ", q.step);
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
  }
  return "";
}

Expected<int> run(const Options& o, Console& console) {
  if (!o.out.empty()) ISOBIT_RETURN_IF_ERROR(check_output(o.out, true));
  std::vector<std::string> read = values_of(o.overrides);
  read.insert(read.end(), {o.data, o.trust.client_key, o.trust.engagement, o.trainer_key, o.challenger_key});
  ISOBIT_RETURN_IF_ERROR(check_apart({{"--out", o.out}}, read));
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
  print_dispute(result->verdict, console);
  const dispute::Referee::Counts& counts = result->counts;
  char time[32];
  std::snprintf(time, sizeof time, "%.3f s", result->referee_seconds);
  console.line(text_of("referee       ", time, ", ", result->turns, " rounds, ", human_bytes(counts.bytes),
                       " of which ", human_bytes(counts.list_bytes), " are the parties' lists"));
  if (!o.out.empty()) {
    const Bytes record = encode(dispute::Record{result->engagement, result->record, {}});
    ISOBIT_RETURN_IF_ERROR(write_file_durably(o.out, record));
    console.line(text_of("wrote         ", o.out, ", ", human_bytes(record.size()), ": check it with 'isobit verify'"));
  }
  nlohmann::ordered_json document = dispute_json(result->verdict);
  document["rounds"] = result->turns;
  document["referee_seconds"] = result->referee_seconds;
  document["referee_bytes"] = counts.bytes;
  document["list_bytes"] = counts.list_bytes;
  console.document(json_text(document));
  return exit_code_of(result->verdict);
}

}  // namespace

void add_dispute(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c = commands.add("dispute", "settle which of two runs of a job is false: step, operator and element",
                            "  isobit dispute theirs.run mine.run\n"
                            "  isobit dispute theirs.run mine.run --out settled.dispute\n"
                            "  isobit verify settled.dispute --job digits.toml\n");
  c.positional("RUN", o->trainer, "the run in doubt, whose trainer's key is at hand");
  c.positional("RUN", o->challenger, "the run of whoever doubts it");
  c.option("-p,--platform", "P", o->platform, "where the trainer computes again (default: ordered)");
  c.option("--challenger-platform", "P", o->other_platform, "where the other one does (default: ordered)");
  c.option("--trainer-key", "FILE", o->trainer_key, "secret key of the run's trainer (default: your own)");
  c.option("--challenger-key", "FILE", o->challenger_key,
           "secret key of who doubts it (default: one for this dispute)");
  c.option("--cheat", "KIND@STEP", o->cheat, "the trainer answers as the cheat that it is ('isobit cheat')");
  c.option("--challenger-cheat", "KIND@STEP", o->other_cheat, "so does the other one");
  c.option("-o,--out", "FILE", o->out, "write the record of the dispute, from which anybody gets the verdict");
  c.option("--data", "PATH", o->data, "where your copy of the data lies, like --set data.path=PATH");
  c.list("--set", "T.KEY=VALUE", o->overrides, "where other files of the job lie; may be repeated");
  add_trust_options(c, o->trust);
  add_memory_option(c, o->limits);
  add_time_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
