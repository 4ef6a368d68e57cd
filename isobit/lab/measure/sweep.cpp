#include "isobit/lab/measure/sweep.h"

#include <algorithm>
#include <map>

#include "isobit/base/counted.h"
#include "isobit/base/text.h"
#include "isobit/formats/npy.h"
#include "isobit/lab/measure/answer_check.h"
#include "isobit/lab/measure/machine.h"
#include "isobit/lab/measure/parallel.h"
#include "isobit/lab/measure/subject.h"
#include "isobit/lab/measure/sweep_internal.h"
#include "isobit/lab/measure/training_worker.h"

namespace isobit::lab::measure {

using records::LabFile;
using records::PlatformRecord;
using records::RunRecord;

namespace {

constexpr const char* kEmulator = "emulator";
// Of a record of what did not run: how that came. What a platform refuses it refuses again; all else may have been the
// machine, and is tried again.
constexpr const char* kOutcome = "outcome";
constexpr const char* kRefused = "refused";

std::string outcome_of(const Task& task) {
  using Outcome = WorkerAnswer::Outcome;
  if (!task.answer) return "no answer";
  switch (task.answer->outcome) {
    case Outcome::kRan:
      return "ran";
    case Outcome::kUnavailable:
      return "unavailable";
    case Outcome::kRefused:
      return kRefused;
    case Outcome::kFailed:
      return "failed";
  }
  return "";
}

tl::unexpected<Error> changed_inputs(const Error& found) {
  return unreadable(text_of("the inputs that all workers read were changed by one of them, or by somebody else (",
                            found.message, ")"));
}

// That the task was of what is measured: its worker has ended, so that files that are the same now were so then.
Status check_measured(const Measured& measured, const Task& task) {
  ISOBIT_RETURN_IF_ERROR(measured.files.check_same());
  if (const Status same = measured.inputs.check_same(); !same) return changed_inputs(same.error());
  const bool trained = task.answer && task.answer->outcome == WorkerAnswer::Outcome::kRan && task.request.steps > 0;
  if (!trained || task.answer->job_root == commit::hex_of(*measured.subject.model_sha256)) return {};
  return unreadable(text_of(task.request.model.string(),
                            ": the job or its data were changed while they were measured; ",
                            "what was measured since then is not kept; leave them alone and measure again"));
}

}  // namespace

Status run_tasks(SweepState& state, std::vector<Task>& tasks, const std::string& what,
                 const std::function<Status(Task&)>& take) {
  std::vector<int> weights;
  for (Task& task : tasks) {
    weights.push_back(task.target.threads);
    task.folder = state.workers.folder() / text_of(state.folders++);
  }
  std::atomic<bool> given_up = false;
  const auto stopped = [&] { return given_up.load() || state.stopped(); };
  const auto work = [&](size_t i) {
    Task& task = tasks[i];
    if (stopped()) return;
    task.answer = state.workers.run(task.request, task.folder, state.request.max_seconds, stopped);
    if (!task.answer) return;
    if (const Status fits = check_answer(*task.answer, task.request, state.measured.outputs); !fits) {
      task.answer = tl::unexpected<Error>(fits.error());
    } else if (!task.target.emulator.empty()) {
      task.answer->platform.fields[kEmulator] = task.target.emulator;  // which what runs in it cannot know
    }
  };
  const auto done = [&](size_t i) -> Status {
    if (state.stopped()) return unavailable("stopped; the same command goes on from here");
    state.request.progress(text_of(what, " ", i + 1, " of ", tasks.size(), ": ", tasks[i].target.platform));
    ISOBIT_RETURN_IF_ERROR(check_measured(state.measured, tasks[i]));
    ISOBIT_RETURN_IF_ERROR(take(tasks[i]));
    std::error_code ignored;
    fs::remove_all(tasks[i].folder, ignored);
    tasks[i].answer = unavailable("it has been taken");
    return {};
  };
  return in_parallel(weights, platform::available_threads(), work, done, [&] { given_up.store(true); });
}

Expected<std::vector<RunRecord>> own_runs(SweepState& state, std::vector<RunRecord>* others) {
  ISOBIT_TRY(const auto digests, state.lab.own_runs());
  ISOBIT_TRY(std::vector<RunRecord> runs, state.lab.runs(state.report.subject));
  std::vector<RunRecord> own;
  for (RunRecord& run : runs) {
    if (digests.contains(records::digest_of(run))) {
      own.push_back(std::move(run));
    } else if (others != nullptr) {
      others->push_back(std::move(run));
    }
  }
  return own;
}

// Of an emulated processor only the process that runs on it knows the flags.
bool is_of(SweepState& state, const Target& target, const PlatformRecord& platform) {
  const Machine& machine = this_machine();
  const auto field = [&](const char* name) {
    const auto found = platform.fields.find(name);
    return found == platform.fields.end() ? std::string() : found->second;
  };
  if (platform.name != target.platform || field("version") != target.version) return false;
  if (field(kEnvironmentField) != state.workers.environment()) return false;
  if (target.cpu != nullptr) return field("cpu") == model_of(*target.cpu) && field(kEmulator) == target.emulator;
  return platform.cpu_flags == machine.flags && platform.cores == machine.cores && field("cpu") == machine.cpu &&
         state.libraries.is_here(target, platform);
}

namespace {

// What is known of a platform whose worker has not said it.
PlatformRecord plain_record(const Target& target, const std::string& environment) {
  const Machine& machine = this_machine();
  PlatformRecord record;
  record.name = target.platform;
  record.engine =
      target.engine == kOwnEngine ? target.platform.substr(0, target.platform.find_first_of("@/+:")) : target.engine;
  record.fields = {{"cpu", machine.cpu},
                   {"machine", machine.architecture},
                   {"threads", text_of(target.threads)},
                   {"version", target.version}};
  if (!environment.empty()) record.fields[kEnvironmentField] = environment;
  record.cores = machine.cores;
  if (target.cpu == nullptr) {
    record.cpu_flags = machine.flags;
  } else {
    record.fields["cpu"] = model_of(*target.cpu);
    record.fields["machine"] = target.cpu->machine;
    record.fields[kEmulator] = target.emulator;
  }
  return record;
}

// Runs that the lab is to get from what a process came to.
std::vector<RunRecord> runs_of(const records::Subject& subject, const Task& task, const std::string& environment) {
  RunRecord run;
  run.subject = subject;
  run.repeat = task.repeat;
  const auto failed = [&](const std::string& why) {
    PlatformRecord platform = plain_record(task.target, environment);
    platform.fields[kOutcome] = outcome_of(task);
    run.platform = std::move(platform);
    run.error = why.empty() ? "no reason is given" : why;
    return std::vector<RunRecord>{run};
  };
  if (!task.answer) return failed(task.answer.error().message);
  if (task.answer->outcome != WorkerAnswer::Outcome::kRan) return failed(task.answer->words);
  std::vector<RunRecord> runs;
  for (const WorkerRun& r : task.answer->runs) {
    run.platform = task.answer->platform;
    run.tapped = r.tapped;
    run.seconds = r.seconds;
    run.values = r.values;
    runs.push_back(run);
  }
  return runs;
}

// Whether the lab has what this process would give.
bool is_known(SweepState& state, const std::vector<RunRecord>& known, const Target& target, uint32_t repeat) {
  return std::ranges::any_of(known, [&](const RunRecord& run) {
    const auto outcome = run.platform->fields.find(kOutcome);
    const bool refused = outcome != run.platform->fields.end() && outcome->second == kRefused;
    return run.repeat == repeat && (run.error.empty() || refused) && is_of(state, target, run.platform);
  });
}

void add_once(std::vector<Target>& targets, const Target& target) {
  if (std::ranges::find(targets, target.platform, &Target::platform) == targets.end()) targets.push_back(target);
}

Status first_pass(SweepState& state, const std::vector<Target>& targets, const WorkerRequest& pattern,
                  std::vector<Target>& here) {
  std::vector<RunRecord> others;
  ISOBIT_TRY(const std::vector<RunRecord> known, own_runs(state, &others));
  std::vector<Task> tasks;
  for (const Target& target : targets) {
    for (uint32_t r = 0; r < static_cast<uint32_t>(state.request.repeat); ++r) {
      if (is_known(state, known, target, r)) {
        ++state.report.known;
        add_once(here, target);
        continue;
      }
      state.report.others += is_known(state, others, target, r);
      Task task{target, r, pattern, {}};
      task.request.engine = target.engine;
      task.request.setting = target.setting;
      task.request.platform = target.platform;
      task.request.threads = target.threads;
      task.request.tapped = pattern.tapped && r == 0;
      tasks.push_back(std::move(task));
    }
  }
  if (const size_t n = state.report.others; n > 0) {
    state.request.note(text_of(counted(n, "record", "records"), " of platforms that are here ", n == 1 ? "was" : "were",
                               " not measured into this lab, but merged or written by an older isobit: what ",
                               n == 1 ? "it says" : "they say", " is measured here, too"));
  }
  return run_tasks(state, tasks, "measuring", [&](Task& task) -> Status {
    const bool lacks = task.answer && task.answer->outcome == WorkerAnswer::Outcome::kUnavailable;
    if (lacks && !task.target.asked_for) {
      if (task.repeat == 0) state.report.not_here.push_back(task.target.platform);
      return {};
    }
    ++state.report.measured;
    add_once(here, task.target);
    if (task.answer) state.libraries.learn(task.target, task.answer->platform);
    for (const RunRecord& run : runs_of(state.report.subject, task, state.workers.environment())) {
      if (!run.error.empty()) state.request.note(text_of(task.target.platform, ": ", run.error));
      ISOBIT_RETURN_IF_ERROR(state.lab.add_run(run, records::Whose::kOwn));
    }
    return {};
  });
}

Expected<std::vector<Target>> targets_of(const SweepRequest& request, const Workers& workers) {
  if (!request.platforms.empty()) {
    // No Python is asked where none is needed.
    if (auto own = targets_named(request.platforms, {})) return own;
  }
  const auto stopped = [&] { return request.stop != nullptr && request.stop->load(); };
  const auto engines = workers.list(stopped);
  if (!engines && stopped()) return tl::unexpected(engines.error());
  if (request.platforms.empty()) {
    if (!engines) request.note(text_of("without Python engines: ", engines.error().message));
    return all_targets(engines.value_or(std::vector<EngineInfo>{}));
  }
  auto targets = targets_named(request.platforms, engines.value_or(std::vector<EngineInfo>{}));
  // A name that nobody else has may be an engine's that could not be asked.
  if (!targets && !engines && targets.error().code == ErrorCode::kUsage) return tl::unexpected(engines.error());
  return targets;
}

Status find_emulators(std::vector<Target>& targets, const Workers& workers) {
  std::map<std::string, std::string> found;
  for (Target& target : targets) {
    if (target.cpu == nullptr) continue;
    if (!found.contains(target.cpu->name)) {
      ISOBIT_TRY(found[target.cpu->name], workers.emulator_of(*target.cpu));
    }
    target.emulator = found[target.cpu->name];
  }
  return {};
}

Expected<std::vector<WorkerInput>> write_inputs(const std::vector<NamedTensor>& inputs, const fs::path& folder,
                                                WatchedFiles& watched) {
  std::vector<WorkerInput> files;
  for (const NamedTensor& input : inputs) {
    files.push_back({input.name, folder / text_of("input", files.size(), ".npy")});
    ISOBIT_RETURN_IF_ERROR(formats::write_npy(files.back().file, input.tensor));
    ISOBIT_RETURN_IF_ERROR(watched.add(files.back().file).map([](auto&&) {}));
  }
  return files;
}

// Both passes, once it is known what is run and where.
Expected<SweepReport> sweep_over(const Workers& workers, std::vector<Target> targets, const WorkerRequest& pattern,
                                 const Measured& measured, const SweepRequest& request) {
  ISOBIT_CHECK(request.repeat >= 1);
  ISOBIT_RETURN_IF_ERROR(find_emulators(targets, workers));
  ISOBIT_TRY(LabFile lab, LabFile::open_or_create(request.lab));
  SweepReport report;
  report.subject = measured.subject;
  SweepState state{request, measured, workers, lab, report};
  std::vector<Target> here;
  ISOBIT_RETURN_IF_ERROR(first_pass(state, targets, pattern, here));
  report.platforms = here.size();
  if (here.empty()) {
    return unavailable("none of the platforms is here; see 'isobit platforms --vendors' and '--engines'");
  }
  if (!measured.nodes.empty()) ISOBIT_RETURN_IF_ERROR(lab.set_graph(report.subject, measured.nodes));
  // Of a training operands are computed again: there are too many of them to keep.
  ISOBIT_RETURN_IF_ERROR(
      keep_tensors(state, here, pattern, pattern.steps > 0 ? std::vector<records::GraphNode>() : measured.nodes));
  // Times of files can be set: whoever did that is told at least.
  if (report.measured + report.again == 0) return report;
  ISOBIT_RETURN_IF_ERROR(measured.files.check_bytes());
  if (const Status same = measured.inputs.check_bytes(); !same) return changed_inputs(same.error());
  return report;
}

}  // namespace

Expected<SweepReport> sweep(const InferenceRequest& model, const SweepRequest& request) {
  ISOBIT_TRY(const Workers workers, Workers::prepare(request.places));
  ISOBIT_TRY(const std::vector<Target> targets, targets_of(request, workers));
  ThreadPool pool(1);
  ISOBIT_TRY(MeasuredModel opened, open_model(model, pool));
  WorkerRequest pattern;
  WatchedFiles inputs;
  ISOBIT_TRY(pattern.inputs, write_inputs(opened.inputs, workers.folder(), inputs));
  const Measured measured{std::move(opened.subject), std::move(opened.nodes), std::move(opened.outputs),
                          std::move(opened.files), std::move(inputs)};
  opened = {};  // the inputs, which lie in files now
  std::error_code error;
  pattern.model = fs::absolute(model.model, error);
  pattern.max_memory = request.max_memory;
  return sweep_over(workers, targets, pattern, measured, request);
}

Expected<SweepReport> sweep(const TrainingRequest& training, const SweepRequest& request) {
  ISOBIT_TRY(const Workers workers, Workers::prepare(request.places));
  ISOBIT_TRY(const std::vector<Target> targets,
             request.platforms.empty() ? all_targets({}) : targets_named(request.platforms, {}));
  ISOBIT_TRY(MeasuredTraining opened,
             open_training(training.job, training.overrides, training.steps, {request.max_memory}));
  WorkerRequest pattern;
  std::error_code error;
  pattern.model = fs::absolute(training.job, error);
  pattern.max_memory = request.max_memory;
  pattern.steps = training.steps;
  pattern.overrides = training.overrides;
  const Measured measured{std::move(opened.subject), std::move(opened.nodes), {}, std::move(opened.files)};
  return sweep_over(workers, targets, pattern, measured, request);
}

}  // namespace isobit::lab::measure
