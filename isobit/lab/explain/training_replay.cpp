#include "isobit/lab/explain/training_replay.h"

#include <algorithm>
#include <set>

#include "isobit/base/fp_env.h"
#include "isobit/base/text.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/lab/deviation/dendrogram.h"
#include "isobit/lab/explain/decorated_backend.h"
#include "isobit/run/job_file.h"
#include "isobit/run/job_root.h"
#include "isobit/run/network.h"

namespace isobit::lab::explain {
namespace {

constexpr int kReplaySeconds = 3600;  // of a training that is repeated

// What the nodes that make these values were given.
class Capture {
 public:
  explicit Capture(const std::set<std::string>& values) : values_(values) {}
  runtime::RunKernel operator()(const runtime::KernelSite& site, runtime::RunKernel usual) {
    std::string value;
    for (const graph::ValueId output : site.node.outputs) {
      if (output != graph::kNoValue && values_.contains(site.graph.value(output).name))
        value = site.graph.value(output).name;
    }
    if (value.empty()) return usual;
    return [this, value, usual = std::move(usual)](runtime::KernelCall& call) {
      for (size_t i = 0; looks_ && i < call.inputs.size(); ++i) {
        if (call.inputs[i] != nullptr) seen_.insert_or_assign(text_of(value, "\n", i), call.inputs[i]->clone());
      }
      return usual(call);
    };
  }
  void look() { looks_ = true; }
  const Feeds& seen() const { return seen_; }

 private:
  const std::set<std::string> values_;
  bool looks_ = false;
  Feeds seen_;
};

class TrainingReplayer {
 public:
  TrainingReplayer(const Explanation& e, const TrainingReplayRequest& request) : e_(e), request_(request) {}

  Expected<TrainingReplays> replay() {
    ISOBIT_TRY(job_, run::load_job(request_.job.string(), request_.overrides, {request_.max_memory}));
    replays().platforms = platforms_here(e_, request_.own);
    for (PlatformHere& native : replays().platforms) native.arithmetic = job_.arithmetic;
    if (replays().platforms.size() < 2) {
      replays().problem = "fewer than two of the platforms whose operators were recorded are platforms of this machine";
      return std::move(found_);
    }
    replays().reference = replays().platforms.front();
    find_forks();
    if (replays().forks.empty()) {
      replays().problem = "the records name no operator of the training that introduces a difference";
      return std::move(found_);
    }
    if (step_ < 1 || step_ > job_.steps) {
      replays().problem = text_of("the records speak of step ", step_, ", and the job has ", job_.steps);
      return std::move(found_);
    }
    ISOBIT_RETURN_IF_ERROR(capture());
    for (size_t i = 0; i < replays().forks.size(); ++i) run(i);
    return std::move(found_);
  }

 private:
  Replays& replays() { return found_.replays; }
  const deviation::TracedValue& value_of(const Replay& r) const { return e_.trace.values[e_.forks[r.fork].value]; }

  void find_forks() {
    for (size_t f = 0; f < e_.forks.size(); ++f) {
      const TracedFork& fork = e_.forks[f];
      const deviation::TracedValue& value = e_.trace.values[fork.value];
      if (fork.origin != Origin::kIntroduced || fork.region.size() != 1) continue;
      if (step_ != 0 && value.step != step_) continue;
      step_ = value.step;
      // An operator of several outputs is looked at once.
      if (!nodes_.insert(fork.region.front()).second) continue;
      if (replays().forks.size() == request_.most_forks) {
        ++replays().beyond;
        continue;
      }
      Replay replay;
      replay.fork = f;
      const records::GraphNode& node = e_.graph[fork.region.front()];
      replay.nodes.push_back(node.name.empty() ? value.name : node.name);
      replays().forks.push_back(std::move(replay));
    }
  }

  // The training up to that step, on the reference; the graph, and the operands of the nodes.
  Status capture() {
    std::set<std::string> values;
    for (const Replay& r : replays().forks) values.insert(value_of(r).name);
    const auto work = [&]() -> Expected<Bytes> {
      pin_fp_environment();
      platform::Engine engine(replays().reference->platform);
      Capture capture(values);
      ISOBIT_RETURN_IF_ERROR(train_on(engine, capture));
      return encode(capture.seen());
    };
    const std::string what = text_of("the training on ", replays().reference->platform.text());
    ISOBIT_TRY(const Bytes bytes,
               kernels::vendor::run_in_child(what, work, kReplaySeconds, request_.most_bytes + (uint64_t{64} << 20)));
    ISOBIT_TRY(const Feeds seen, decode_feeds(bytes, what));
    return make_calls(seen);
  }

  Status train_on(platform::Engine& engine, Capture& capture) const {
    // On a platform that has every arithmetic: another job than was measured may be one that the reference cannot
    // train.
    platform::Engine ordered(platform::Platform{});
    ISOBIT_TRY(run::Session session, run::open_session(job_, ordered, {request_.max_memory}));
    session.trainer.reset();
    const records::Subject& subject = e_.comparison.subject;
    if (session.root != subject.model_sha256 || session.commitment->root != subject.input_sha256) {
      return usage_error(text_of("--model: ", request_.job.string(), " is another job than the one that was measured, ",
                                 "or its data are others; name that one, with --set as it was measured"));
    }
    // As the reference ran it, but for the look at operands on the way.
    DecoratedBackend backend(
        [&](const runtime::KernelSite& site, runtime::RunKernel usual) { return capture(site, std::move(usual)); });
    ISOBIT_TRY(const auto trainer,
               train::Trainer::create(session.job, session.dataset, engine, backend, session.network));
    for (int64_t step = 1; step <= step_; ++step) {
      if (step == step_) capture.look();
      ISOBIT_RETURN_IF_ERROR(trainer->advance());
    }
    return {};
  }

  Status make_calls(const Feeds& seen) {
    ISOBIT_TRY(const train::StepGraph step, step_graph());
    const graph::Graph& graph = step.graph;
    for (Replay& r : replays().forks) {
      found_.calls.emplace_back();
      const std::string& name = value_of(r).name;
      const graph::ValueId value = graph.find(name);
      const auto node = std::ranges::find_if(graph.nodes(), [&](const graph::Node& n) {
        return value != graph::kNoValue && std::ranges::count(n.outputs, value) > 0;
      });
      if (node == graph.nodes().end()) {
        r.problem = text_of("the job's step has no value named '", name, "'");
        continue;
      }
      std::map<graph::ValueId, Tensor> operands;
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        const auto fed = seen.find(text_of(name, "\n", i));
        if (fed != seen.end()) operands.emplace(node->inputs[i], fed->second);
      }
      auto call = operator_of(graph, *node, operands);
      if (call) {
        found_.calls.back() = *std::move(call);
      } else {
        r.problem = call.error().message;
      }
    }
    return {};
  }

  // Of the data their shape is enough, which most jobs say.
  Expected<train::StepGraph> step_graph() const {
    ISOBIT_TRY(const auto network, run::open_network(job_, {request_.max_memory}));
    if (const auto declared = data::declared_shape(job_.data)) {
      return train::build_step_graph(job_, *declared, *network);
    }
    ISOBIT_TRY(const auto dataset,
               data::open_dataset(job_.data, std::min(request_.max_memory, data::kMaxDatasetBytes)));
    return train::build_step_graph(job_, *dataset, *network);
  }

  // The value's place among the outputs that the operator alone has.
  static std::optional<size_t> output_of(const OperatorCall& call, const std::string& name) {
    for (size_t o = 0; o < call.graph.outputs().size(); ++o) {
      if (call.graph.value(call.graph.outputs()[o]).name == name) return o;
    }
    return std::nullopt;
  }

  void run(size_t i) {
    Replay& replay = replays().forks[i];
    if (!replay.problem.empty()) return;
    const OperatorCall& call = found_.calls[i];
    const deviation::TracedValue& value = value_of(replay);
    const auto output = output_of(call, value.name);
    ISOBIT_CHECK(output.has_value());
    replay.reproduced = true;
    for (const PlatformHere& native : replays().platforms) {
      const auto outputs = outputs_on(call, native);
      if (!outputs) {
        if (replay.problem.empty()) replay.problem = outputs.error().message;
        continue;
      }
      replay.platforms.push_back(native.place);
      replay.results.push_back((*outputs)[*output]);
      if (value.at[native.place] == nullptr || !had_these_inputs(replay, native.place)) continue;
      ++replay.same_inputs;
      replay.reproduced = replay.reproduced && replay.results.back() == value.at[native.place]->hash;
    }
    replay.classes = deviation::number_classes(replay.results);
    replay.reproduced = replay.reproduced && replay.same_inputs > 0;
  }

  // Whether the records put the platform beside the reference, with equal inputs.
  bool had_these_inputs(const Replay& replay, size_t platform) const {
    const auto holds = [](const Groups& groups, size_t p) {
      return std::ranges::any_of(groups, [&](const auto& members) { return std::ranges::count(members, p) > 0; });
    };
    const size_t reference = found_.replays.reference->place;
    return platform == reference || std::ranges::any_of(e_.forks[replay.fork].splits, [&](const Groups& groups) {
             return holds(groups, platform) && holds(groups, reference);
           });
  }

  static Expected<std::vector<records::Hash128>> outputs_on(const OperatorCall& call, const PlatformHere& native) {
    const std::string what = text_of("an operator on ", native.platform.text());
    const auto work = [&]() -> Expected<Bytes> {
      pin_fp_environment();
      platform::Engine engine(native.platform);
      ISOBIT_TRY(const platform::Arithmetic* chosen, platform::named_arithmetic(native.arithmetic));
      ISOBIT_TRY(const platform::Context context, engine.context_for(*chosen));
      ISOBIT_TRY(OperatorRun run, OperatorRun::make(call, context, *native.backend));
      ISOBIT_TRY(const std::vector<Tensor> outputs, run(call.inputs));
      ByteWriter w;
      for (const Tensor& t : outputs) {
        w.u64(hash_of(t).high);
        w.u64(hash_of(t).low);
      }
      return w.take();
    };
    ISOBIT_TRY(const Bytes bytes, kernels::vendor::run_in_child(what, work, kReplaySeconds));
    ByteReader reader(bytes, what);
    std::vector<records::Hash128> hashes(call.graph.outputs().size());
    for (records::Hash128& hash : hashes) {
      ISOBIT_TRY(hash.high, reader.u64("hash"));
      ISOBIT_TRY(hash.low, reader.u64("hash"));
    }
    ISOBIT_RETURN_IF_ERROR(reader.finish());
    return hashes;
  }

  const Explanation& e_;
  const TrainingReplayRequest& request_;
  train::Job job_;
  int64_t step_ = 0;
  std::set<size_t> nodes_;
  TrainingReplays found_;
};

}  // namespace

Expected<TrainingReplays> replay_training(const Explanation& explanation, const TrainingReplayRequest& request) {
  return TrainingReplayer(explanation, request).replay();
}

}  // namespace isobit::lab::explain
