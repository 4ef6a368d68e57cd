#include <cstdio>

#include "isobit/base/text.h"
#include "isobit/bundle/disk.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/evaluation_report.h"
#include "isobit/cli/interrupt.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/log_report.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/profile_report.h"
#include "isobit/cli/train_result.h"
#include "isobit/run/job_file.h"
#include "isobit/run/keys.h"
#include "isobit/run/train_run.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string job, out, platform = "ordered", resume, engagement, data, key_folder, metrics, trace;
  std::vector<std::string> overrides;
  bool moved = false, profile = false;
  LimitOptions limits;
};

Expected<int> run(const Options& o, Console& console) {
  run::TrainRequest request;
  std::unique_ptr<ProfileReport> profile;
  const auto profiled = [&]() -> Status {
    if (!o.profile && o.trace.empty()) return {};
    if (!o.trace.empty()) {
      ISOBIT_RETURN_IF_ERROR(bundle::check_outside_coming_run(o.trace, request.out));
      ISOBIT_RETURN_IF_ERROR(check_output(o.trace, false));
      ISOBIT_RETURN_IF_ERROR(check_apart({{"--metrics", o.metrics}, {"--trace", o.trace}}, {}));
    }
    profile = std::make_unique<ProfileReport>(request.platform, "step", o.trace);
    profile->watch(request.conduct);
    return {};
  };
  ISOBIT_TRY(request.platform, platform::parse_platform(o.platform));
  ISOBIT_TRY(request.limits, limits_of(o.limits));
  if (o.resume.empty() == o.job.empty())
    return usage_error("train: give a JOB.toml, or --resume RUN to continue a run");
  if (!o.resume.empty() && !o.out.empty()) return usage_error("train: --resume names the run, --out cannot");
  if (!o.resume.empty() && !o.engagement.empty())
    return usage_error("train: --resume continues under the run's own engagement, --engagement cannot name another");
  if (o.moved && o.resume.empty()) return usage_error("train: --moved goes with --resume");
  request.moved = o.moved;
  request.metrics = o.metrics;
  request.overrides = with_data_path(o.overrides, o.data);
  if (!o.resume.empty()) {
    request.out = o.resume;
    ISOBIT_TRY(request.home, run::key_folder(o.key_folder, environment));
    if (!fs::exists(request.home / "trainer.key")) {
      return unreadable(text_of((request.home / "trainer.key").string(),
                                ": is missing; a run is continued with the key it was begun with: name its folder with "
                                "--keys"));
    }
    ISOBIT_TRY(request.trainer, run::existing_key(request.home, "trainer"));
    ISOBIT_RETURN_IF_ERROR(profiled());
    return train_and_report(std::move(request), true, console, profile.get());
  }
  ISOBIT_TRY(request.job, run::load_job(o.job, request.overrides, request.limits));
  request.out = o.out.empty() ? request.job.name + ".run" : o.out;
  ISOBIT_RETURN_IF_ERROR(sign_with_own_keys(o.key_folder, o.engagement, request, console));
  ISOBIT_RETURN_IF_ERROR(profiled());
  return train_and_report(std::move(request), false, console, profile.get());
}

std::string progress_line(const run::TrainProgress& p, double seconds) {
  const double rate = static_cast<double>(p.step - p.first_step) / std::max(seconds, 1e-9);
  char line[200];
  std::snprintf(line, sizeof line, "step %lld/%lld   loss %.4f   rate %.3g   %.1f steps/s   %s left",
                static_cast<long long>(p.step), static_cast<long long>(p.steps), static_cast<double>(p.loss), p.lr,
                rate, human_seconds(static_cast<double>(p.steps - p.step) / rate).c_str());
  return line;
}

nlohmann::ordered_json json_of(const run::TrainSummary& s, double seconds, const run::TrainRequest& request,
                               const ProfileReport* profile) {
  nlohmann::ordered_json document = {{"final_state_root", commit::hex_of(s.final_state_root)},
                                     {"transcript_root", commit::hex_of(s.transcript_root)},
                                     {"job_root", commit::hex_of(s.job_root)},
                                     {"steps", s.steps},
                                     {"final_loss", s.final_loss},
                                     {"seconds", seconds},
                                     {"platform", s.platform},
                                     {"inner_products", s.repairs.elements},
                                     {"repaired", s.repairs.repaired},
                                     {"step_seconds", s.step_seconds},
                                     {"step_bytes", s.step_bytes},
                                     {"recompute", runtime::name_of(request.limits.recompute)},
                                     {"log", log_json(s.log_counts, s.logged_steps, s.log_bytes)},
                                     {"notes", s.notes},
                                     {"run", request.out.string()}};
  add_evaluation(s.evaluation.samples, s.evaluation.metrics, "test_", document);
  if (profile != nullptr) profile->add_to(document);
  return document;
}

void print(const run::TrainSummary& s, double seconds, const run::TrainRequest& request, const Console& console) {
  char line[160];
  const auto steps_here = static_cast<double>(std::max<int64_t>(s.steps - s.first_step, 1));
  std::snprintf(line, sizeof line, "trained       %lld steps on %s in %s (%.3g ms a step)",
                static_cast<long long>(s.steps), s.platform.c_str(), human_seconds(seconds).c_str(),
                1e3 * s.step_seconds / steps_here);
  console.line(line);
  if (s.step_bytes > 0) {
    const runtime::Recompute again = request.limits.recompute;
    console.line(text_of("memory        ", human_bytes(s.step_bytes), " at most in the values of a step",
                         again == runtime::Recompute::kNothing ? "" : text_of(", computing again: ", name_of(again))));
  }
  std::snprintf(line, sizeof line, "final loss    %.6g", static_cast<double>(s.final_loss));
  console.line(line);
  if (s.repairs.elements > 0) {
    std::snprintf(line, sizeof line, "correct       %lld of %lld inner products evaluated again (%.2g), no log",
                  static_cast<long long>(s.repairs.repaired), static_cast<long long>(s.repairs.elements),
                  static_cast<double>(s.repairs.repaired) / static_cast<double>(s.repairs.elements));
    console.line(line);
  }
  if (s.logged_steps > 0) console.line(log_line(s.log_counts, s.logged_steps, s.log_bytes));
  if (log::total(s.log_counts).checked > 0) console.line(checked_line(s.log_counts));
  for (const std::string& note : s.notes) console.line(text_of("note          ", note));
  if (s.evaluation.samples > 0) {
    console.line(text_of("test          ", train::text_of_metrics(s.evaluation.samples, s.evaluation.metrics)));
  }
  console.line(text_of("state root    ", commit::hex_of(s.final_state_root)));
  console.line(text_of("transcript    ", commit::hex_of(s.transcript_root)));
  console.line(text_of("run           ", request.out.string(), "   (",
                       request.engagement ? "the client checks it" : "check it", ": isobit audit ",
                       request.out.string(), request.engagement ? " --engagement ENGAGEMENT" : "", ")"));
}

Status show(const ProfileReport* profile, Console& console) {
  if (profile == nullptr) return {};
  profile->print(console);
  return profile->write_trace();
}

}  // namespace

Expected<int> train_and_report(run::TrainRequest request, bool resume, Console& console, const ProfileReport* profile) {
  const double begin = monotonic_seconds();
  request.seconds = monotonic_seconds;
  const Interruptible interruptible;
  request.stop = &interruptible.stop();
  double shown = 0;
  request.progress = [&](const run::TrainProgress& p) {
    if (p.scores) {
      console.end_progress();
      console.note(text_of("step ", p.step, ": test ", train::text_of_metrics(p.scores->samples, p.scores->metrics)));
    }
    const double now = monotonic_seconds();
    if (!console.shows_progress() || (now - shown < 0.1 && p.step < p.steps)) return;
    shown = now;
    console.progress(progress_line(p, now - begin));
  };
  const Expected<run::TrainSummary> done = resume ? run::resume_run(request) : run::train_run(request);
  console.end_progress();
  if (!done) return tl::unexpected<Error>(done.error());
  if (!done->finished) {
    console.note(text_of("stopped after step ", done->step, " of ", done->steps,
                         "; continue with: isobit train --resume ", request.out.string()));
    nlohmann::ordered_json document = {
        {"finished", false}, {"step", done->step}, {"steps", done->steps}, {"run", request.out.string()}};
    if (profile != nullptr) profile->add_to(document);
    console.document(json_text(document));
    ISOBIT_RETURN_IF_ERROR(show(profile, console));
    return kInterrupted;
  }
  const double seconds = monotonic_seconds() - begin;
  console.document(json_text(json_of(*done, seconds, request, profile)));
  print(*done, seconds, request, console);
  ISOBIT_RETURN_IF_ERROR(show(profile, console));
  return kAgreed;
}

std::string percent(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

void add_train(Commands& commands) {
  auto o = std::make_shared<Options>();
  const std::string examples = with_job_fields(
      "  isobit train examples/jobs/digits.toml --out digits.run\n"
      "  isobit train job.toml --platform ordered@avx2/1t --set job.steps=50\n"
      "  isobit train job.toml --metrics metrics.jsonl --set evaluate.every=100\n"
      "  isobit train job.toml --profile --trace steps.json\n"
      "  isobit train job.toml --engagement engagement --out job.run\n"
      "  isobit train --resume digits.run\n");
  Command& c = commands.add("train", "train a job and write a run that others can audit", examples.c_str());
  c.positional("JOB.toml", o->job, "the job", false);
  c.option("-o,--out", "RUN", o->out, "folder of the run, new or empty (default: NAME.run)");
  c.option("-p,--platform", "P", o->platform, "where to run it (default: ordered, see 'isobit platforms')");
  c.list("--set", "T.KEY=VALUE", o->overrides, "override a field of the job; may be repeated");
  c.option("--resume", "RUN", o->resume, "continue a run that was stopped or killed");
  c.flag("--moved", o->moved, "with --resume: the run was moved to this folder, and no copy of it goes on elsewhere");
  c.option("--metrics", "FILE", o->metrics,
           "write a line of JSON for each step: loss, rate, time, and scores as evaluate.every asks for them");
  c.flag("--profile", o->profile, "show where the time of the steps goes, by operator and by kernel");
  c.option("--trace", "FILE", o->trace, "as --profile, and write what happened when for ui.perfetto.dev to a new file");
  c.option("--engagement", "FILE", o->engagement, "train under this engagement, which you have accepted");
  c.option("--data", "PATH", o->data, "where the data lie, like --set data.path=PATH");
  c.option("--keys", "FOLDER", o->key_folder, kKeysHelp);
  add_memory_option(c, o->limits);
  add_recompute_option(c, o->limits);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
