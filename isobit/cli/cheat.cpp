#include "isobit/adversary/cheat.h"

#include "isobit/base/text.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/train_result.h"
#include "isobit/run/job_file.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string job, out, kind, platform = "ordered", engagement, key_folder;
  std::optional<uint64_t> at;
  std::vector<std::string> overrides;
};

Expected<int> run(const Options& o, Console& console) {
  run::TrainRequest request;
  ISOBIT_TRY(request.platform, platform::parse_platform(o.platform));
  ISOBIT_TRY(request.job, run::load_job(o.job, o.overrides, {}));
  request.out = o.out;
  const uint64_t at = o.at.value_or(static_cast<uint64_t>(request.job.steps));
  if (at > static_cast<uint64_t>(request.job.steps))
    return usage_error(text_of("--at ", at, ": expected 1 to ", request.job.steps, ", the steps of the job"));
  ISOBIT_RETURN_IF_ERROR(adversary::apply_cheat(o.kind, static_cast<int64_t>(at), request));
  ISOBIT_RETURN_IF_ERROR(sign_with_own_keys(o.key_folder, o.engagement, request, console));
  console.note(text_of("a dishonest run: '", o.kind, "' at step ", at));
  std::error_code ignored;
  const bool there = fs::exists(request.out, ignored);
  const Expected<int> done = train_and_report(std::move(request), false, console);
  // What could not be done leaves no run behind that would be resumed as an honest one.
  if (!done && done.error().code == ErrorCode::kUsage && !there) fs::remove_all(o.out, ignored);
  return done;
}

}  // namespace

void add_cheat(Commands& commands) {
  auto o = std::make_shared<Options>();
  static const std::string kKinds = [] {
    std::string text = "what to do:";
    for (const adversary::Cheat& c : adversary::cheats()) text += text_of("\n", c.name, ": ", c.what);
    return text;
  }();
  Command& c = commands.add("cheat", "make a dishonest run, to try auditors with",
                            "  isobit cheat examples/jobs/digits.toml --kind rate --at 120 --out bad.run\n"
                            "  isobit audit bad.run\n");
  c.positional("JOB.toml", o->job, "the job");
  c.option("--kind", "KIND", o->kind, kKinds.c_str(), true);
  c.option("--at", "STEP", o->at, "at which step (default: the last)");
  c.option("-o,--out", "RUN", o->out, "folder of the run, new or empty", true);
  c.option("-p,--platform", "P", o->platform, "where to run it (default: ordered)");
  c.option("--engagement", "FILE", o->engagement, "cheat under this engagement, which you have accepted");
  c.option("--keys", "FOLDER", o->key_folder, kKeysHelp);
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job; may be repeated");
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
