#include "isobit/lab/measure/sweep.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/formats/npy.h"
#include "isobit/lab/measure/machine.h"
#include "isobit/lab/measure/parallel.h"
#include "isobit/lab/measure/subject.h"
#include "isobit/lab/measure/sweep_internal.h"
#include "isobit/lab/measure/training_worker.h"

namespace isobit::lab::measure {

using records::LabFile;
using records::PlatformRecord;
using records::RunRecord;

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
    if (!stopped()) task.answer = state.workers.run(task.request, task.folder, state.request.max_seconds, stopped);
  };
  const auto done = [&](size_t i) -> Status {
    if (state.stopped()) return unavailable("stopped; the same command goes on from here");
    state.request.progress(text_of(what, " ", i + 1, " of ", tasks.size(), ": ", tasks[i].target.platform));
    ISOBIT_RETURN_IF_ERROR(take(tasks[i]));
    std::error_code ignored;
    fs::remove_all(tasks[i].folder, ignored);
    tasks[i].answer = unavailable("it has been taken");
    return {};
  };
  return in_parallel(weights, platform::available_threads(), work, done, [&] { given_up.store(true); });
}

// Of an emulated processor only the process that runs on it knows the flags.
bool is_of(const Target& target, const PlatformRecord& platform, const std::string& environment) {
  const Machine& machine = this_machine();
  const auto field = [&](const char* name) {
    const auto found = platform.fields.find(name);
    return found == platform.fields.end() ? std::string() : found->second;
  };
  if (platform.name != target.platform || field("version") != target.version) return false;
  if (field(kEnvironmentField) != environment) return false;
  if (target.cpu != nullptr) return field("cpu") == model_of(*target.cpu);
  return platform.cpu_flags == machine.flags && platform.cores == machine.cores && field("cpu") == machine.cpu;
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
  }
  return record;
}

// Runs that the lab is to get from what a process came to.
std::vector<RunRecord> runs_of(const records::Subject& subject, const Task& task, const std::string& environment) {
  RunRecord run;
  run.subject = subject;
  run.repeat = task.repeat;
  const auto failed = [&](const std::string& why) {
    run.platform = plain_record(task.target, environment);
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

// Whether the lab has what this process would give. A worker that died or was too slow is run again: that may have been
// the machine; what an engine refused it refuses again.
bool is_known(const std::vector<RunRecord>& known, const Target& target, uint32_t repeat,
              const std::string& environment) {
  return std::ranges::any_of(known, [&](const RunRecord& run) {
    return run.repeat == repeat && is_of(target, run.platform, environment) && !run.error.starts_with("its worker ");
  });
}

void add_once(std::vector<Target>& targets, const Target& target) {
  if (std::ranges::find(targets, target.platform, &Target::platform) == targets.end()) targets.push_back(target);
}

Status first_pass(SweepState& state, const std::vector<Target>& targets, const WorkerRequest& pattern,
                  std::vector<Target>& here) {
  ISOBIT_TRY(const std::vector<RunRecord> known, state.lab.runs(state.report.subject));
  std::vector<Task> tasks;
  for (const Target& target : targets) {
    for (uint32_t r = 0; r < static_cast<uint32_t>(state.request.repeat); ++r) {
      if (is_known(known, target, r, state.workers.environment())) {
        ++state.report.known;
        add_once(here, target);
        continue;
      }
      Task task{target, r, pattern, {}};
      task.request.engine = target.engine;
      task.request.setting = target.setting;
      task.request.platform = target.platform;
      task.request.threads = target.threads;
      task.request.tapped = pattern.tapped && r == 0;
      tasks.push_back(std::move(task));
    }
  }
  return run_tasks(state, tasks, "measuring", [&](Task& task) -> Status {
    const bool lacks = task.answer && task.answer->outcome == WorkerAnswer::Outcome::kUnavailable;
    if (lacks && !task.target.asked_for) {
      if (task.repeat == 0) state.report.not_here.push_back(task.target.platform);
      return {};
    }
    ++state.report.measured;
    add_once(here, task.target);
    for (const RunRecord& run : runs_of(state.report.subject, task, state.workers.environment())) {
      if (!run.error.empty()) state.request.note(text_of(task.target.platform, ": ", run.error));
      ISOBIT_RETURN_IF_ERROR(state.lab.add_run(run));
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

Status check_emulators(const std::vector<Target>& targets, const Workers& workers) {
  for (const Target& target : targets) {
    if (target.cpu != nullptr) ISOBIT_RETURN_IF_ERROR(workers.check(*target.cpu));
  }
  return {};
}

Expected<LabFile> open_lab(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? LabFile::open(path, LabFile::Mode::kWrite) : LabFile::create(path);
}

Expected<std::vector<WorkerInput>> write_inputs(const std::vector<NamedTensor>& inputs, const fs::path& folder) {
  std::vector<WorkerInput> files;
  for (const NamedTensor& input : inputs) {
    files.push_back({input.name, folder / text_of("input", files.size(), ".npy")});
    ISOBIT_RETURN_IF_ERROR(formats::write_npy(files.back().file, input.tensor));
  }
  return files;
}

// Both passes, once it is known what is run and where.
Expected<SweepReport> sweep_over(const Workers& workers, const std::vector<Target>& targets,
                                 const WorkerRequest& pattern, const records::Subject& subject,
                                 const std::vector<records::GraphNode>& nodes, const SweepRequest& request) {
  ISOBIT_CHECK(request.repeat >= 1);
  ISOBIT_RETURN_IF_ERROR(check_emulators(targets, workers));
  ISOBIT_TRY(LabFile lab, open_lab(request.lab));
  SweepReport report;
  report.subject = subject;
  SweepState state{request, workers, lab, report};
  std::vector<Target> here;
  ISOBIT_RETURN_IF_ERROR(first_pass(state, targets, pattern, here));
  report.platforms = here.size();
  if (here.empty()) {
    return unavailable("none of the platforms is here; see 'isobit platforms --vendors' and '--engines'");
  }
  if (!nodes.empty()) ISOBIT_RETURN_IF_ERROR(lab.set_graph(report.subject, nodes));
  // Of a training operands are computed again: there are too many of them to keep.
  ISOBIT_RETURN_IF_ERROR(
      keep_tensors(state, here, pattern, pattern.steps > 0 ? std::vector<records::GraphNode>() : nodes));
  return report;
}

}  // namespace

Expected<SweepReport> sweep(const InferenceRequest& model, const SweepRequest& request) {
  ISOBIT_TRY(const Workers workers, Workers::prepare(request.places));
  ISOBIT_TRY(const std::vector<Target> targets, targets_of(request, workers));
  ThreadPool pool(1);
  ISOBIT_TRY(MeasuredModel measured, open_model(model, pool));
  WorkerRequest pattern;
  ISOBIT_TRY(pattern.inputs, write_inputs(measured.inputs, workers.folder()));
  measured.inputs.clear();
  std::error_code error;
  pattern.model = fs::absolute(model.model, error);
  pattern.max_memory = request.max_memory;
  return sweep_over(workers, targets, pattern, measured.subject, measured.nodes, request);
}

Expected<SweepReport> sweep(const TrainingRequest& training, const SweepRequest& request) {
  ISOBIT_TRY(const Workers workers, Workers::prepare(request.places));
  ISOBIT_TRY(const std::vector<Target> targets,
             request.platforms.empty() ? all_targets({}) : targets_named(request.platforms, {}));
  ISOBIT_TRY(const MeasuredTraining measured,
             open_training(training.job, training.overrides, training.steps, {request.max_memory}));
  WorkerRequest pattern;
  std::error_code error;
  pattern.model = fs::absolute(training.job, error);
  pattern.max_memory = request.max_memory;
  pattern.steps = training.steps;
  pattern.overrides = training.overrides;
  return sweep_over(workers, targets, pattern, measured.subject, measured.nodes, request);
}

}  // namespace isobit::lab::measure
