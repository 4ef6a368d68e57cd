#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/tensor/convert.h"
#include "isobit/train/metrics.h"
#include "isobit/train/scored_ranges.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

const Tensor* find(const std::vector<NamedTensor>& state, const std::string& name) {
  const auto found = std::find_if(state.begin(), state.end(), [&](const NamedTensor& t) { return t.name == name; });
  return found == state.end() ? nullptr : &found->tensor;
}

// One batch: appends the sums of each sample, but for those that are skipped. out: kept from batch to batch.
Status score(Loss loss, const EvalGraph& eval, backends::Program& program, data::Batch batch, const SampleRange& range,
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
  if (Status ran = program.run(feeds, out); !ran) {
    return tl::unexpected<Error>({ran.error().code, text_of("test samples ", range.first, " to ",
                                                            range.first + range.count - 1, ": ", ran.error().message)});
  }
  std::vector<MetricSum> sums;
  add_scores(loss, {.samples = eval.batch, .losses = out[0], .output = &out[1], .target = &target}, sums);
  const size_t first = static_cast<size_t>(range.skipped) * result.metrics.size();
  result.sums.insert(result.sums.end(), sums.begin() + static_cast<ptrdiff_t>(first), sums.end());
  return {};
}

}  // namespace

const platform::Arithmetic& scoring_arithmetic(const Job& job) {
  const platform::Arithmetic& trained = arithmetic_of(job);
  return trained.scored_by.empty() ? trained : platform::arithmetic_of(trained.scored_by);
}

// Rows do not meet before the exact sums, so the batch size is free.
Expected<std::vector<SampleRange>> scored_ranges(const Job& job, int64_t test_count, const models::Network& network) {
  const int64_t only = network.only_batch(), count = evaluation_samples(job, test_count, only);
  std::vector<SampleRange> ranges;
  if (count == 0) return ranges;
  if (count < only) {
    return unreadable(text_of("the network takes batches of ", only, " samples and no other, and ", count,
                              " test samples are to be scored; take more (evaluate.samples), or export it with an ",
                              "open batch"));
  }
  for (int64_t next = 0; next < count;) {
    const SampleRange range = range_of_sample(job, test_count, only, next);
    ranges.push_back(range);
    next = range.first + range.count;
  }
  return ranges;
}

SampleRange range_of_sample(const Job& job, int64_t test_count, int64_t only_batch, int64_t sample) {
  const int64_t count = evaluation_samples(job, test_count, only_batch),
                batch = evaluation_batch(job, count, only_batch);
  const int64_t first = sample - sample % batch, rest = count - first;
  if (rest >= batch) return {first, batch, 0};
  // The rest is a smaller batch or, where there are none, the end of one that has samples from before.
  if (only_batch > 0) return {count - batch, batch, batch - rest};
  return {first, rest, 0};
}

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
  SampleScores result{metric_names(job.loss), {}};
  ISOBIT_TRY(const std::vector<SampleRange> ranges, scored_ranges(job, dataset.test_count(), network));
  EvalGraph eval;
  std::unique_ptr<backends::Program> program;
  std::vector<Tensor> out;
  for (const SampleRange& range : ranges) {
    if (range.count != eval.batch) {
      program.reset();
      ISOBIT_TRY(eval, build_eval_graph(job, dataset, range.count, network));
      ISOBIT_TRY(program, backend.compile(eval.graph, context));
      out.assign(eval.graph.outputs().size(), {});
    }
    ISOBIT_TRY(data::Batch samples, data::test_batch(dataset, range.first, range.count, *context.kernels().pool));
    ISOBIT_RETURN_IF_ERROR(score(job.loss, eval, *program, std::move(samples), range, state, out, result));
  }
  return result;
}

}  // namespace

Expected<SampleScores> evaluate(const Job& job, const data::Dataset& dataset, const std::vector<NamedTensor>& state,
                                platform::Engine& engine, backends::Backend& backend, const models::Network& network) {
  const platform::Arithmetic& scores = scoring_arithmetic(job);
  const bool narrow = arithmetic_of(job).computes_in != scores.computes_in;
  ISOBIT_TRY(const platform::Context context, engine.context_for(scores));
  return score_all(job, dataset, narrow ? in_float32(state) : state, context, backend, network);
}

}  // namespace isobit::train
