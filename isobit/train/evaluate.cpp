#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/tensor/convert.h"
#include "isobit/train/metrics.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

const Tensor* find(const std::vector<NamedTensor>& state, const std::string& name) {
  const auto found = std::find_if(state.begin(), state.end(), [&](const NamedTensor& t) { return t.name == name; });
  return found == state.end() ? nullptr : &found->tensor;
}

// One batch: appends the sums of each sample, but for the first `skipped` ones. out: kept from batch to batch.
Status score(Loss loss, const EvalGraph& eval, backends::Program& program, data::Batch batch, int64_t skipped,
             const std::vector<NamedTensor>& state, std::vector<Tensor>& out, SampleScores& result) {
  Tensor target;
  std::vector<backends::Program::Feed> feeds;
  for (size_t i = 0; i < eval.inputs.size(); ++i) feeds.emplace_back(eval.inputs[i], std::move(batch.inputs[i]));
  if (eval.target != graph::kNoValue) {
    target = batch.target.reshaped(eval.graph.value(eval.target).shape());
    feeds.emplace_back(eval.target, target);
  }
  for (const auto& [name, value] : eval.state) {
    const Tensor* tensor = find(state, name);
    const Shape expected = eval.graph.value(value).shape();
    const DType dtype = eval.graph.value(value).dtype;
    if (tensor == nullptr || tensor->dtype() != dtype || tensor->shape() != expected) {
      return unreadable(text_of("checkpoint: tensor '", name, "' is ",
                                tensor == nullptr ? "missing" : "of another type or shape", ", expected ",
                                name_of(dtype), " ", expected.text()));
    }
    feeds.emplace_back(value, *tensor);
  }
  ISOBIT_RETURN_IF_ERROR(program.run(feeds, out));
  std::vector<MetricSum> sums;
  add_scores(loss, {.samples = eval.batch, .losses = out[0], .output = &out[1], .target = &target}, sums);
  const size_t first = static_cast<size_t>(skipped) * result.metrics.size();
  result.sums.insert(result.sums.end(), sums.begin() + static_cast<ptrdiff_t>(first), sums.end());
  return {};
}

}  // namespace

std::vector<NamedTensor> in_float32(const std::vector<NamedTensor>& state) {
  std::vector<NamedTensor> narrow;
  for (const auto& [name, tensor] : state) {
    narrow.push_back({name, tensor.dtype() == DType::kFloat64 ? converted(tensor, DType::kFloat32) : tensor});
  }
  return narrow;
}

namespace {

Expected<SampleScores> score_all(const Job& job, const data::Dataset& dataset, const std::vector<NamedTensor>& state,
                                 const platform::Context& context, backends::Backend& backend,
                                 const models::Network& network) {
  const int64_t count = evaluation_samples(job, dataset.test_count(), network);
  SampleScores result{metric_names(job.loss), {}};
  if (count == 0) return result;
  if (count < network.only_batch()) {
    return unreadable(
        text_of("the network takes batches of ", network.only_batch(), " samples and no other, and ", count,
                " test samples are to be scored; take more (evaluate.samples), or export it with an open ", "batch"));
  }
  // Rows do not meet before the exact sums, so the batch size is free.
  int64_t batch = evaluation_batch(job, count, network);
  for (int64_t first = 0; first < count;) {
    ISOBIT_TRY(const EvalGraph eval, build_eval_graph(job, dataset, batch, network));
    ISOBIT_TRY(const std::unique_ptr<backends::Program> program, backend.compile(eval.graph, context));
    std::vector<Tensor> out(eval.graph.outputs().size());
    const auto take = [&](int64_t begin, int64_t skipped) -> Status {
      ISOBIT_TRY(data::Batch samples, data::test_batch(dataset, begin, batch, *context.kernels().pool));
      return score(job.loss, eval, *program, std::move(samples), skipped, state, out, result);
    };
    for (; first + batch <= count; first += batch) ISOBIT_RETURN_IF_ERROR(take(first, 0));
    // The rest is a smaller batch or, where there are none, the end of one that has samples from before.
    if (first < count && network.only_batch() > 0) {
      ISOBIT_RETURN_IF_ERROR(take(count - batch, first - (count - batch)));
      first = count;
    }
    batch = count - first;
  }
  return result;
}

}  // namespace

Expected<SampleScores> evaluate(const Job& job, const data::Dataset& dataset, const std::vector<NamedTensor>& state,
                                platform::Engine& engine, backends::Backend& backend, const models::Network& network) {
  const platform::Arithmetic& trained = arithmetic_of(job);
  const platform::Arithmetic& scores = trained.scored_by.empty() ? trained : platform::arithmetic_of(trained.scored_by);
  const bool narrow = trained.computes_in != scores.computes_in;
  ISOBIT_TRY(const platform::Context context, engine.context_for(scores));
  return score_all(job, dataset, narrow ? in_float32(state) : state, context, backend, network);
}

}  // namespace isobit::train
