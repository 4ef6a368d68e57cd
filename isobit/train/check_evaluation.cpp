#include "isobit/train/check_evaluation.h"

#include <algorithm>
#include <cstring>

#include "isobit/base/text.h"
#include "isobit/data/batch.h"
#include "isobit/graph/op.h"
#include "isobit/graph/passes/prune.h"
#include "isobit/train/scored_ranges.h"
#include "isobit/train/step_graph.h"
#include "isobit/train/step_graph_model_internal.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

using graph::kNoValue;
using graph::ValueId;

// Whether values, and not types and shapes alone, decide if the operator can be computed.
bool may_fail(const graph::Graph& g, const graph::Node& node) {
  if (graph::op_of(node).runs_graphs) return true;
  const auto open = [&](ValueId id) { return id != kNoValue && !g.value(id).is_static(); };
  const auto counts = [&](ValueId id) {
    return id != kNoValue && IntegerTypes::contains(g.value(id).dtype) && g.initializer(id) == nullptr;
  };
  return std::ranges::any_of(node.outputs, open) || std::ranges::any_of(node.inputs, counts);
}

// The last of those nodes that may fail: whatever of the others there is, they need. Labels that a loss behind the
// network reads have been looked at when the data were opened.
std::vector<ValueId> ends_that_may_fail(const EvalGraph& eval, bool network_reads_target) {
  const graph::Graph& g = eval.graph;
  std::vector<bool> needed(static_cast<size_t>(g.value_count()), false);
  const auto is_needed = [&](ValueId id) { return id != kNoValue && needed[static_cast<size_t>(id)]; };
  std::vector<ValueId> ends;
  for (auto node = g.nodes().rbegin(); node != g.nodes().rend(); ++node) {
    if (std::ranges::none_of(node->outputs, is_needed)) {
      const bool is_loss = !network_reads_target && std::ranges::find(node->inputs, eval.target) != node->inputs.end();
      if ((is_loss && eval.target != kNoValue) || !may_fail(g, *node)) continue;
      ends.push_back(*std::ranges::find_if(node->outputs, [](ValueId id) { return id != kNoValue; }));
    }
    for (const ValueId id : node->inputs) {
      if (id != kNoValue) needed[static_cast<size_t>(id)] = true;
    }
  }
  return ends;
}

// What is run of the graph of one batch size.
struct Part {
  graph::Graph graph;
  std::vector<ValueId> inputs;  // one for each input of the data and one for the target; kNoValue: it needs none
  std::vector<backends::Program::Feed> state;
  std::unique_ptr<backends::Program> program;  // null: nothing may fail
  std::vector<Tensor> out;
};

class Check {
 public:
  Check(const Job& job, const data::Dataset& dataset, const std::vector<NamedTensor>& state,
        const platform::Context& context, backends::Backend& backend, const models::Network& network)
      : job_(job), dataset_(dataset), state_(state), context_(context), backend_(backend), network_(network) {}

  Status run() {
    ISOBIT_TRY(const std::vector<SampleRange> ranges, scored_ranges(job_, dataset_.test_count(), network_));
    int64_t count = 0;
    for (const SampleRange& range : ranges) {
      if (range.count != count) ISOBIT_RETURN_IF_ERROR(prepare(count = range.count));
      if (part_.program == nullptr) continue;
      ISOBIT_TRY(const data::Batch samples, data::test_batch(dataset_, range.first, count, *context_.kernels().pool));
      if (const Status ran = feed(samples); !ran) return failed(range, ran.error());
    }
    return {};
  }

 private:
  Status prepare(int64_t count) {
    ISOBIT_TRY(const EvalGraph eval, build_eval_graph(job_, dataset_, count, network_));
    part_.program.reset();
    const std::vector<ValueId> ends = ends_that_may_fail(eval, feeds_target(job_, data::shape_of(dataset_)));
    if (ends.empty()) return {};
    ISOBIT_TRY(part_.graph, graph::pruned(eval.graph, ends));
    const auto now = [&](ValueId id) {
      return id == kNoValue ? kNoValue : part_.graph.find(eval.graph.value(id).name);
    };
    part_.inputs.clear();
    part_.state.clear();
    for (const ValueId id : eval.inputs) part_.inputs.push_back(now(id));
    part_.inputs.push_back(now(eval.target));
    for (const auto& [name, id] : eval.state) {
      const auto found = std::ranges::find(state_, name, &NamedTensor::name);
      if (now(id) != kNoValue && found != state_.end()) part_.state.emplace_back(now(id), found->tensor);
    }
    ISOBIT_TRY(part_.program, backend_.compile(part_.graph, context_));
    part_.out.assign(part_.graph.outputs().size(), {});
    return {};
  }

  Status feed(const data::Batch& samples) {
    std::vector<backends::Program::Feed> feeds = part_.state;
    for (size_t i = 0; i < part_.inputs.size(); ++i) {
      const ValueId input = part_.inputs[i];
      if (input == kNoValue) continue;
      const Tensor& fed = i < samples.inputs.size() ? samples.inputs[i] : samples.target;
      feeds.emplace_back(input, fed.reshaped(part_.graph.value(input).shape()));
    }
    return part_.program->run(feeds, part_.out);
  }

  // The one of them, if it is one, by which a batch of nothing else fails.
  Expected<data::Batch> copies_of(int64_t sample, int64_t count) const {
    ISOBIT_TRY(data::Batch batch, data::test_batch(dataset_, sample, 1, *context_.kernels().pool));
    const auto repeat = [&](Tensor& one) {
      if (!one.defined()) return;
      std::vector<int64_t> dims = one.shape().dims();
      dims[0] = count;
      Tensor all(one.dtype(), Shape(std::move(dims)));
      for (int64_t i = 0; i < count; ++i) {
        std::memcpy(static_cast<uint8_t*>(all.raw()) + static_cast<size_t>(i) * one.bytes(), one.raw(), one.bytes());
      }
      one = std::move(all);
    };
    std::ranges::for_each(batch.inputs, repeat);
    repeat(batch.target);
    return batch;
  }

  Status failed(const SampleRange& range, Error error) {
    std::string which = text_of("test samples ", range.first, " to ", range.first + range.count - 1);
    if (error.code != ErrorCode::kUnreadable) return tl::unexpected<Error>(std::move(error));
    for (int64_t i = range.first + range.skipped; i < range.first + range.count; ++i) {
      ISOBIT_TRY(const data::Batch copies, copies_of(i, range.count));
      const Status alone = feed(copies);
      if (alone) continue;
      which = text_of("test sample ", i);
      error = alone.error();
      break;
    }
    return unreadable(text_of(which, ": ", error.message, "; the job could be trained, but not scored at its end: ",
                              "correct the test data, or score fewer of them (evaluate.samples)"));
  }

  const Job& job_;
  const data::Dataset& dataset_;
  const std::vector<NamedTensor>& state_;
  const platform::Context& context_;
  backends::Backend& backend_;
  const models::Network& network_;
  Part part_;
};

}  // namespace

Status check_evaluation(const Job& job, const data::Dataset& dataset, const std::vector<NamedTensor>& state,
                        platform::Engine& engine, backends::Backend& backend, const models::Network& network) {
  if (evaluation_samples(job, dataset.test_count(), network) == 0) return {};
  const platform::Arithmetic& scores = scoring_arithmetic(job);
  const bool narrow = arithmetic_of(job).computes_in != scores.computes_in;
  ISOBIT_TRY(const platform::Context context, engine.context_for(scores));
  const std::vector<NamedTensor> values = narrow ? in_float32(state) : state;
  return Check(job, dataset, values, context, backend, network).run();
}

}  // namespace isobit::train
