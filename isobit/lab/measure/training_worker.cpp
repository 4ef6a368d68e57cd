#include "isobit/lab/measure/training_worker.h"

#include <chrono>
#include <set>

#include "isobit/base/text.h"
#include "isobit/lab/measure/recorder.h"
#include "isobit/run/job_file.h"
#include "isobit/run/job_root.h"

namespace isobit::lab::measure {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Status check_steps(const train::Job& job, int64_t steps) {
  if (steps >= 1 && steps <= job.steps) return {};
  return usage_error(
      text_of("--steps: found ", steps, ", expected 1 to ", job.steps, ", which is what the job trains"));
}

Tensor scalar(float value) {
  Tensor tensor(DType::kFloat32, Shape(std::vector<int64_t>{}));
  tensor.data<float>()[0] = value;
  return tensor;
}

// What a training comes to: the loss of each step, and the state after the last one, under the names of the step graph.
class Outcome {
 public:
  Outcome(const train::StepGraph& graph, Keeper& keeper) : graph_(graph.graph), keeper_(keeper) {}

  // Of a step without recorded operators. In float64 the trainer tells a rounded loss, which is no value of the graph.
  Status add_loss(const train::StepResult& result, std::vector<records::ValueRecord>& values) {
    return is_float32() ? add(loss(), scalar(result.loss), result.step, values) : Status();
  }
  // After the last step; those that an operator was seen to make are there already.
  Status add_state(const train::Trainer& trainer, std::vector<records::ValueRecord>& values) {
    std::set<std::string> seen;
    for (const records::ValueRecord& v : values) {
      if (v.step == trainer.step() && v.is_output) seen.insert(v.name);
    }
    for (size_t i = 0; i < trainer.state().size(); ++i) {
      const std::string& name = graph_.value(graph_.outputs()[1 + i]).name;
      if (!seen.contains(name)) ISOBIT_RETURN_IF_ERROR(add(name, trainer.state()[i].tensor, trainer.step(), values));
    }
    return {};
  }
  // Among all that the operators of a step made.
  void mark(std::vector<records::ValueRecord>& values, bool last) const {
    for (records::ValueRecord& value : values) {
      value.is_output = value.is_output && (value.name == loss() ? is_float32() : last);
    }
  }

 private:
  const std::string& loss() const { return graph_.value(graph_.outputs()[0]).name; }
  bool is_float32() const { return graph_.value(graph_.outputs()[0]).dtype == DType::kFloat32; }
  Status add(const std::string& name, const Tensor& tensor, int64_t step, std::vector<records::ValueRecord>& values) {
    values.push_back(value_record(name, tensor));
    values.back().is_output = true;
    values.back().step = step;
    return keeper_.offer(values.back().hash, {static_cast<const uint8_t*>(tensor.raw()), tensor.bytes()});
  }

  const graph::Graph& graph_;
  Keeper& keeper_;
};

Expected<WorkerRun> train(train::Trainer& trainer, const platform::Platform& p, int64_t steps, bool tapped,
                          Keeper& keeper) {
  const train::StepGraph& graph = trainer.step_graph();
  Outcome outcome(graph, keeper);
  WorkerRun run;
  run.tapped = tapped;
  for (int64_t step = 1; step <= steps; ++step) {
    Recorder recorder(graph.graph, p, keeper, step);
    const double begin = seconds_now();
    runtime::RunOptions options;
    if (tapped) options.observer = &recorder;
    ISOBIT_TRY(const train::StepResult result, trainer.advance(options));
    run.seconds += seconds_now() - begin;
    std::vector<records::ValueRecord> values = recorder.take();
    outcome.mark(values, step == steps);
    run.values.insert(run.values.end(), values.begin(), values.end());
    if (!tapped) ISOBIT_RETURN_IF_ERROR(outcome.add_loss(result, run.values));
  }
  ISOBIT_RETURN_IF_ERROR(outcome.add_state(trainer, run.values));
  return run;
}

Expected<WorkerAnswer> trained(const train::Job& job, const WorkerRequest& request, platform::Engine& engine,
                               const fs::path& folder) {
  ISOBIT_RETURN_IF_ERROR(check_steps(job, request.steps));
  ISOBIT_TRY(run::Session session, run::open_session(job, engine, {request.max_memory}));
  Keeper keeper(folder, request.keep, request.keep_bytes);
  WorkerAnswer answer;
  for (const bool tapped : {false, true}) {
    if (tapped ? !request.tapped : !request.untapped) continue;
    if (!answer.runs.empty()) ISOBIT_RETURN_IF_ERROR(session.begin_anew(engine));
    ISOBIT_TRY(WorkerRun run, train(*session.trainer, engine.platform(), request.steps, tapped, keeper));
    answer.runs.push_back(std::move(run));
  }
  answer.kept = keeper.kept();
  answer.job_root = commit::hex_of(session.root);
  return answer;
}

std::vector<records::GraphNode> nodes_of(const graph::Graph& graph) {
  const auto names_of = [&](const std::vector<graph::ValueId>& values) {
    std::vector<std::string> names;
    for (const graph::ValueId id : values) names.push_back(id == graph::kNoValue ? "" : graph.value(id).name);
    return names;
  };
  std::vector<records::GraphNode> nodes;
  for (const graph::Node& node : graph.nodes()) {
    nodes.push_back({node.op, node.name, names_of(node.inputs), names_of(node.outputs)});
  }
  return nodes;
}

}  // namespace

WorkerAnswer training_answer(const WorkerRequest& request, platform::Engine& engine, const fs::path& folder,
                             std::string& arithmetic) {
  const auto job = run::load_job(request.model.string(), request.overrides, {request.max_memory});
  // Whoever asks has read it, so that this says nothing of the platform.
  if (!job) return silent(WorkerAnswer::Outcome::kFailed, job.error().message);
  arithmetic = job->arithmetic;
  if (const auto context = engine.context_for(platform::arithmetic_of(arithmetic)); !context) {
    return silent(WorkerAnswer::Outcome::kUnavailable, context.error().message);
  }
  const auto answer = trained(*job, request, engine, folder);
  return answer ? *answer : silent(answer.error());
}

Expected<MeasuredTraining> open_training(const fs::path& file, const std::vector<std::string>& overrides, int64_t steps,
                                         const run::Limits& limits) {
  MeasuredTraining training;
  ISOBIT_RETURN_IF_ERROR(training.files.add(file).map([](const commit::Digest&) {}));
  ISOBIT_TRY(const train::Job job, run::load_job(file.string(), overrides, limits));
  ISOBIT_RETURN_IF_ERROR(check_steps(job, steps));
  ISOBIT_TRY(const platform::Platform ordered, platform::parse_platform("ordered"));
  platform::Engine engine(ordered);
  ISOBIT_TRY(const run::Session session, run::open_session(job, engine, limits));
  records::Subject& subject = training.subject;
  subject.kind = records::SubjectKind::kTraining;
  subject.model = file.filename().string();
  subject.model_sha256 = session.root;
  subject.input_sha256 = session.commitment->root;
  subject.settings = text_of(steps, steps == 1 ? " step" : " steps");
  training.nodes = nodes_of(session.trainer->step_graph().graph);
  return training;
}

}  // namespace isobit::lab::measure
