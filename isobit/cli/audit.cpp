#include <cstdio>

#include "isobit/base/new_file.h"
#include "isobit/base/random.h"
#include "isobit/base/text.h"
#include "isobit/cli/audit_receipt.h"
#include "isobit/cli/commands.h"
#include "isobit/cli/evidence.h"
#include "isobit/cli/follow.h"
#include "isobit/cli/json_text.h"
#include "isobit/cli/limits.h"
#include "isobit/cli/log_report.h"
#include "isobit/cli/own_files.h"
#include "isobit/cli/spot.h"
#include "isobit/cli/trust.h"
#include "isobit/cli/verdict_report.h"
#include "isobit/run/audit_run.h"
#include "isobit/run/job_file.h"
#include "isobit/run/keys.h"

namespace isobit::cli {

namespace {

struct Options {
  std::string run, platform = "ordered", job, data, seed, verdict, sign, out, keep, through, trainer_key, cheat;
  Trust trust;
  AuditReceiptOptions receipt;
  std::vector<std::string> overrides;
  std::optional<uint64_t> from, sample, spot, step;
  bool follow = false;
  LimitOptions limits;
};

// Whom the auditor trusts and what it wants.
Status read_wanted(const Options& o, run::AuditRequest& request) {
  ISOBIT_TRY(request.home, run::key_folder(o.trust.key_folder, environment));
  request.overrides = with_data_path(o.overrides, o.data);
  if (!o.job.empty()) {
    ISOBIT_TRY(request.job, run::load_job(o.job, request.overrides, request.limits));
  }
  ISOBIT_TRY(const Trusted named, trusted(o.trust));
  ISOBIT_TRY(request.client, require_client(named, o.trust));
  request.terms = named.terms;
  return {};
}

// out: the file that convicts the signer of two histories, if it was written.
nlohmann::ordered_json document_of(const run::AuditSummary& s, const verify::Verdict& verdict, const Bytes& seed,
                                   double seconds, const std::string& out) {
  const verify::AuditVerdict& v = s.verdict;
  nlohmann::ordered_json document = {{"verdict", verify::name_of(v.outcome)},
                                     {"complete", v.complete},
                                     {"steps_checked", v.steps_checked},
                                     {"first_difference", difference_json(v.first_difference)},
                                     {"reason", v.reason},
                                     {"client_key", commit::hex_of(verdict.client_key)},
                                     {"run", run_names_json(verdict)},
                                     {"platform", s.platform},
                                     {"seconds", seconds},
                                     {"step_seconds", s.step_seconds},
                                     {"step_bytes", s.step_bytes},
                                     {"log", log_json(s.log_counts, v.steps_checked, 0)},
                                     {"findings", findings_json(verdict.findings)}};
  if (!s.sampled.empty()) {
    document["intervals"] = s.intervals;
    document["sampled"] = nlohmann::ordered_json::array();
    for (const verify::Interval& i : s.sampled) document["sampled"].push_back({i.first_step, i.last_step});
    document["detection_probability"] = s.detection_probability;
    document["seed"] = to_hex(seed);
  }
  if (s.before > 0) document["before"] = s.before;
  if (s.fork) document["fork"] = fork_json(*s.fork);
  if (s.fork && !out.empty()) document["file"] = out;
  return document;
}

void print_difference(const verify::FirstDifference& d, const std::string& reason, Console& console) {
  console.line(text_of("first differs ", verify::name_of(d.part), " at step ", d.step,
                       d.first_step == d.last_step
                           ? ""
                           : text_of(" (the wrong step is one of ", d.first_step, " to ", d.last_step, ")")));
  if (!d.claimed.empty()) console.line(text_of("  claimed     ", d.claimed));
  if (!d.found.empty() && (!d.claimed.empty() || reason.find(d.found) == std::string::npos)) {
    console.line(text_of("  found       ", printable(d.found)));
  }
  if (d.op) console.line(text_of("  operator    ", printable(*d.op)));
}

void print(const run::AuditSummary& s, const verify::Verdict& verdict, const Bytes& seed, double seconds,
           const std::string& out, Console& console) {
  const verify::AuditVerdict& v = s.verdict;
  console.line(text_of("verdict       ",
                       v.accepted() ? console.good("accepted") : console.bad(verify::name_of(v.outcome)),
                       v.accepted() && !v.complete ? " (the part that was checked)" : ""));
  console.line(text_of("checked       ", v.steps_checked, " steps on ", s.platform, " in ", human_seconds(seconds)));
  if (s.step_bytes > 0) {
    console.line(text_of("memory        ", human_bytes(s.step_bytes), " at most in the values of a step"));
  }
  if (!s.sampled.empty()) {
    char line[200];
    std::snprintf(
        line, sizeof line,
        "sample        the last and %zu others of %llu intervals: one wrong interval among the others would be "
        "hit with probability %.3g",
        s.sampled.size() - 1, static_cast<unsigned long long>(s.intervals), s.detection_probability);
    console.line(line);
    console.line(text_of("sample seed   ", to_hex(seed)));
  }
  for (const std::string& line : followed_lines(s.log_counts, v.steps_checked)) console.line(line);
  if (v.first_difference) print_difference(*v.first_difference, v.reason, console);
  // Nothing is said twice.
  const bool said = v.first_difference && !v.first_difference->claimed.empty() &&
                    v.reason.find(v.first_difference->claimed) != std::string::npos;
  if (!v.reason.empty() && !said) console.line(text_of("reason        ", printable(v.reason)));
  print_run_names(verdict, console);
  if (!s.fork) return;
  console.line(text_of("evidence      ", console.bad("two histories of one run were signed")));
  print_fork(*s.fork, console);
  print_fork_file(out, console);
}

// The verdict as a document. It leaves out the folder in which the auditor keeps the run, which is private.
verify::Verdict verdict_of(const run::AuditRequest& request, const run::AuditSummary& s) {
  verify::AuditVerdict audit = s.verdict;
  const std::string folder = (request.run / "").string();
  for (size_t at = 0; (at = audit.reason.find(folder, at)) != std::string::npos;) audit.reason.erase(at, folder.size());
  verify::Verdict verdict = verify::make_verdict(request.client, s.engaged, s.finished, audit, s.platform);
  verdict.findings = findings_of(s.log_counts);
  if (!s.sampled.empty()) verdict.sample = {request.sample_seed, s.intervals, s.sampled.size() - 1};
  return verdict;
}

// That of --seed, else from the system.
Expected<Bytes> seed_of(const Options& o) {
  Bytes seed(32);
  if (o.seed.empty()) {
    ISOBIT_RETURN_IF_ERROR(fill_random(seed));
    return seed;
  }
  const auto given = from_hex(o.seed);
  if (!given) return usage_error(text_of("--seed ", o.seed, ": ", given.error().message));
  ISOBIT_RETURN_IF_ERROR(verify::check_seed(*given));
  return *given;
}

Status check(const Options& o) {
  if (!o.sign.empty() && o.verdict.empty()) return usage_error("audit: --sign goes with --verdict FILE");
  if (o.from && o.sample) return usage_error("audit: --from and --sample exclude each other");
  if (!o.seed.empty() && !o.sample && !o.spot) return usage_error("audit: --seed goes with --sample or --spot");
  if (o.sample && *o.sample == 0) return usage_error("audit: --sample 0 checks nothing");
  if (o.spot && (o.from || o.sample || !o.verdict.empty())) {
    return usage_error("audit: --spot replays nothing: it excludes --from, --sample and --verdict");
  }
  if (o.follow && (o.from || o.sample || o.spot)) {
    return usage_error("audit: --follow checks every step as it comes: it excludes --from, --sample and --spot");
  }
  if (!o.keep.empty() && !o.follow) return usage_error("audit: --keep goes with --follow");
  if (!o.through.empty() && (!o.spot || !o.trainer_key.empty() || !o.cheat.empty())) {
    return usage_error("audit: --through goes with --spot; the trainer, who answers elsewhere, brings its own key");
  }
  if (!o.spot && (o.step || !o.trainer_key.empty() || !o.cheat.empty())) {
    return usage_error("audit: --step, --trainer-key and --cheat go with --spot");
  }
  return {};
}

Expected<int> spot(const Options& o, const run::AuditRequest& request, Console& console) {
  run::OpenRequest open;
  open.run = request.run;
  open.client = request.client;
  open.overrides = request.overrides;
  open.job = request.job;
  open.home = request.home;
  open.terms = request.terms;
  open.limits = request.limits;
  SpotOptions options{*o.spot, o.step, {}, o.trainer_key, o.cheat, o.platform, request.home, o.through, o.out};
  ISOBIT_TRY(options.seed, seed_of(o));
  return spot_audit(options, open, o.limits, console);
}

// What is shown while a finished run is audited.
void show_progress(run::AuditRequest& request, Console& console) {
  struct Times {
    double shown = 0, replayed_since = monotonic_seconds();
  };
  const auto times = std::make_shared<Times>();
  request.checkpoint_progress = [times, &console](uint64_t done, uint64_t total) {
    times->replayed_since = monotonic_seconds();
    if (!console.shows_progress() || times->replayed_since - times->shown < 0.1) return;
    times->shown = times->replayed_since;
    console.progress(text_of("read ", done, "/", total, " checkpoints"));
  };
  request.progress = [times, &console](uint64_t done, uint64_t total) {
    const double now = monotonic_seconds();
    if (!console.shows_progress() || now - times->shown < 0.1) return;
    times->shown = now;
    const double rate = static_cast<double>(done) / std::max(now - times->replayed_since, 1e-9);
    console.progress(text_of("checked ", done, "/", total, " steps   ",
                             human_seconds(static_cast<double>(total - done) / rate), " left"));
  };
}

// None where it was stopped before the run had ended.
Expected<std::optional<run::AuditSummary>> audit(const Options& o, run::AuditRequest& request, Console& console) {
  Standing standing;
  const auto standing_text = [&standing] { return standing.text(); };
  Deadline deadline(o.limits, console, o.follow ? standing_text : std::function<std::string()>());
  if (o.follow) {
    ISOBIT_TRY(run::FollowSummary followed, follow(request, o.keep, standing, console));
    return std::move(followed.ended);
  }
  show_progress(request, console);
  ISOBIT_TRY(run::AuditSummary summary, run::audit_run(request));
  deadline.finish();
  return summary;
}

// What belongs to runs is refused, not ignored.
Expected<int> run_receipt(const Options& o, Console& console) {
  const bool of_runs = o.from || o.sample || o.follow || !o.keep.empty() || o.step || !o.job.empty() ||
                       !o.data.empty() || !o.verdict.empty() || !o.sign.empty() || !o.overrides.empty() ||
                       !o.trust.client_key.empty() || !o.trust.engagement.empty();
  if (of_runs) {
    return usage_error(
        text_of("audit: '", o.run,
                "' is a receipt, which goes with --model, --input, --output, --server-key, --challenge, --arithmetic, "
                "--platform, --spot, --through and --out; the other options are of runs"));
  }
  ISOBIT_RETURN_IF_ERROR(refuse_recompute("audit", o.limits));
  const WhichReceipt which{o.run, o.platform, o.trust.key_folder};
  if (o.spot) {
    if (!o.through.empty() && (!o.trainer_key.empty() || !o.cheat.empty())) {
      return usage_error("audit: --through: the server, who answers elsewhere, brings its own key");
    }
    ReceiptSpotOptions spot{*o.spot, {}, o.trainer_key, o.cheat, o.through, o.out};
    ISOBIT_TRY(spot.seed, seed_of(o));
    return spot_receipt(o.receipt, which, spot, o.limits, console);
  }
  if (!o.seed.empty() || !o.trainer_key.empty() || !o.cheat.empty() || !o.through.empty() || !o.out.empty()) {
    return usage_error("audit: of a receipt, --seed, --trainer-key, --cheat, --through and --out go with --spot");
  }
  return audit_receipt(o.receipt, which, o.limits, console);
}

Expected<int> run(const Options& o, Console& console) {
  if (is_receipt_file(o.run)) return run_receipt(o, console);
  if (o.receipt.any()) {
    return usage_error(
        text_of("audit: --model, --input, --dim, --output, --server-key, --challenge and --arithmetic go "
                "with a receipt ('isobit run --receipt'), and '",
                o.run, "' is none"));
  }
  ISOBIT_RETURN_IF_ERROR(check(o));
  run::AuditRequest request;
  request.run = o.run;
  ISOBIT_TRY(request.platform, platform::parse_platform(o.platform));
  ISOBIT_TRY(request.limits, limits_of(o.limits));
  ISOBIT_RETURN_IF_ERROR(read_wanted(o, request));
  if (o.spot) return spot(o, request, console);
  std::optional<commit::SecretKey> auditor;
  if (!o.verdict.empty()) ISOBIT_RETURN_IF_ERROR(check_output(o.verdict, false));
  if (!o.out.empty()) ISOBIT_RETURN_IF_ERROR(check_output(o.out, false));
  ISOBIT_RETURN_IF_ERROR(check_apart({{"--verdict", o.verdict}, {"--out", o.out}}, {}));
  if (!o.sign.empty()) {
    ISOBIT_TRY(auditor, commit::read_secret_key(o.sign));
  }
  request.from_step = o.from;
  request.sample = o.sample;
  if (o.sample) {
    ISOBIT_TRY(request.sample_seed, seed_of(o));
  }
  const double begin = monotonic_seconds();
  request.seconds = monotonic_seconds;
  ISOBIT_TRY(const auto audited, audit(o, request, console));
  if (!audited) return kInterrupted;
  const run::AuditSummary& summary = *audited;
  console.end_progress();
  verify::Verdict verdict = verdict_of(request, summary);
  if (auditor) verify::sign(verdict, *auditor);
  // What was computed is told even where the document cannot be written.
  const Status written =
      summary.fork && !o.out.empty() ? create_file_durably(o.out, verify::encode(*summary.fork)) : Status();
  const double seconds = monotonic_seconds() - begin;
  const std::string evidence = written ? o.out : "";
  console.document(json_text(document_of(summary, verdict, request.sample_seed, seconds, evidence)));
  print(summary, verdict, request.sample_seed, seconds, evidence, console);
  ISOBIT_RETURN_IF_ERROR(written);
  if (!o.verdict.empty()) {
    ISOBIT_RETURN_IF_ERROR(create_file_durably(o.verdict, verify::encode(verdict)));
    console.line(text_of("wrote         ", o.verdict));
  }
  return exit_code_of(summary.verdict.outcome);
}

}  // namespace

void add_audit(Commands& commands) {
  auto o = std::make_shared<Options>();
  Command& c =
      commands.add("audit", "replay a run, or an inference with a receipt, on this machine and compare; verdict",
                   "  isobit audit digits.run\n"
                   "  isobit audit digits.run --platform ordered@portable/1t\n"
                   "  isobit audit theirs.run --engagement engagement --job job.toml\n"
                   "  isobit audit theirs.run --client-key client.pub --data /my/mnist\n"
                   "  isobit audit digits.run --sample 5\n"
                   "  isobit audit digits.run --follow --max-time 86400 --out fork.evidence\n"
                   "  isobit audit digits.run --spot 200 --step 7\n"
                   "  isobit audit theirs.run --spot 200 --through shared/check --out found\n"
                   "  isobit audit image.receipt --model model.onnx --input image.npy --server-key server.pub\n"
                   "  isobit audit digits.run --verdict digits.verdict --sign ~/.config/isobit/auditor.key\n");
  c.positional("RUN|RECEIPT", o->run, "folder of the run; or the receipt of an inference ('isobit run --receipt')");
  c.option("-p,--platform", "P", o->platform, "where to replay it (default: ordered, see 'isobit platforms')");
  add_trust_options(c, o->trust);
  c.option("--job", "JOB.toml", o->job, "the job that is wanted, with your own copy of the data");
  c.option("--data", "PATH", o->data, "where your copy of the data lies, like --set data.path=PATH");
  c.option("--verdict", "FILE", o->verdict, "write the verdict as a document; 'isobit verify FILE' checks it");
  c.option("--sign", "KEY", o->sign, "sign that document with this secret key ('isobit keygen --role auditor')");
  add_memory_option(c, o->limits);
  add_recompute_option(c, o->limits);
  add_time_option(c, o->limits);
  c.flag("--follow", o->follow,
         "audit a run that is still training: step by step as it is signed for, until it has ended");
  c.option("--keep", "FILE", o->keep,
           "of --follow: where the state is kept from which a follower that starts again goes on");
  c.option("-o,--out", "FILE", o->out,
           "where to write what convicts the trainer: two histories of the run, or what --spot finds");
  c.option("--through", "FOLDER", o->through,
           "of --spot: the trainer answers on another machine, in files of this new "
           "folder ('isobit answer')");
  c.option("--from", "STEP", o->from, "begin at the checkpoint of this step instead of the initial state");
  c.option("--sample", "N", o->sample, "replay the last interval and N drawn at random instead of all");
  c.option(
      "--spot", "N", o->spot,
      "replay nothing: check N elements of a step, or of an inference, drawn at random, against what is shown of them");
  c.option("--step", "T", o->step, "of --spot: the step (default: drawn, too)");
  c.option("--trainer-key", "FILE", o->trainer_key,
           "of --spot: secret key of the run's trainer or the receipt's server (default: your own)");
  c.option("--cheat", "KIND@STEP", o->cheat,
           "of --spot: the trainer answers as the cheat that it is; of a receipt value@NODE");
  c.option("--seed", "HEX", o->seed, "seed of the draw, at least 16 bytes (default: the system's randomness)");
  c.list("--set", "T.KEY=VALUE", o->overrides,
         "where your copies lie (data.path, data.salt, model.onnx); with --job, override any of its fields");
  add_audit_receipt_options(c, o->receipt);
  c.action([o](Console& console) { return run(*o, console); });
}

}  // namespace isobit::cli
