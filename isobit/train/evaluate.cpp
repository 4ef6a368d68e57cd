#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

const std::vector<std::string> kMetrics = {"loss", "top1", "top5"};

// How many logits of a row stand before the label's, equal ones with a lower index included. A NaN stands before
// everything, so that a broken network does not score.
int64_t rank_of_label(const float* logits, int64_t classes, int64_t label) {
  const float own = logits[label];
  int64_t before = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const bool ahead = logits[c] > own || (logits[c] == own && c < label) || logits[c] != logits[c];
    before += c != label && ahead ? 1 : 0;
  }
  return own == own ? before : classes;
}

const Tensor* find(const std::vector<NamedTensor>& state, const std::string& name) {
  const auto found = std::find_if(state.begin(), state.end(), [&](const NamedTensor& t) { return t.name == name; });
  return found == state.end() ? nullptr : &found->tensor;
}

// One batch: appends the sums of each sample. out: kept from batch to batch.
Status score(const EvalGraph& eval, backends::Program& program, data::Batch batch,
             const std::vector<NamedTensor>& state, std::vector<Tensor>& out, SampleScores& result) {
  const Tensor labels = batch.target.reshaped(eval.graph.value(eval.target).shape());
  std::vector<backends::Program::Feed> feeds;
  for (size_t i = 0; i < eval.inputs.size(); ++i) feeds.emplace_back(eval.inputs[i], std::move(batch.inputs[i]));
  feeds.emplace_back(eval.target, labels);
  for (const auto& [name, value] : eval.state) {
    const Tensor* tensor = find(state, name);
    const Shape expected = eval.graph.value(value).shape();
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32 || tensor->shape() != expected) {
      return unreadable(text_of("checkpoint: tensor '", name, "' is ",
                                tensor == nullptr ? "missing" : "of another type or shape", ", expected float32 ",
                                expected.text()));
    }
    feeds.emplace_back(value, *tensor);
  }
  ISOBIT_RETURN_IF_ERROR(program.run(feeds, out));
  const int64_t rows = out[1].shape()[0], classes = out[1].shape()[1];
  const int64_t rows_per_sample = rows / eval.batch;
  for (int64_t r = 0; r < rows; ++r) {
    if (r % rows_per_sample == 0) result.sums.resize(result.sums.size() + kMetrics.size());
    const auto sums = std::span(result.sums).last(kMetrics.size());
    const int64_t rank = rank_of_label(out[1].data<float>() + r * classes, classes, labels.data<int64_t>()[r]);
    sums[0].sum.add(out[0].data<float>()[r]);
    sums[1].sum.add(rank < 1 ? 1 : 0);
    sums[2].sum.add(rank < 5 ? 1 : 0);
    for (MetricSum& sum : sums) ++sum.count;
  }
  return {};
}

}  // namespace

std::vector<NamedTensor> in_float32(const std::vector<NamedTensor>& state) {
  std::vector<NamedTensor> narrow;
  for (const auto& [name, tensor] : state) {
    if (tensor.dtype() != DType::kFloat64) {
      narrow.push_back({name, tensor});
      continue;
    }
    narrow.push_back({name, Tensor(DType::kFloat32, tensor.shape())});
    const auto to = narrow.back().tensor.span<float>();
    const auto from = tensor.span<double>();
    for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]);
  }
  return narrow;
}

namespace {

Expected<SampleScores> score_all(const Job& job, const data::Dataset& dataset, const std::vector<NamedTensor>& state,
                                 const platform::Context& context, backends::Backend& backend) {
  const int64_t count = evaluation_samples(job, dataset.test_count());
  SampleScores result{kMetrics, {}};
  if (count == 0) return result;
  // Rows do not meet before the exact sums, so the batch size is free.
  int64_t batch = evaluation_batch(job, count);
  for (int64_t first = 0; first < count;) {
    ISOBIT_TRY(const EvalGraph eval, build_eval_graph(job, dataset, batch));
    ISOBIT_TRY(const std::unique_ptr<backends::Program> program, backend.compile(eval.graph, context));
    std::vector<Tensor> out(eval.graph.outputs().size());
    for (; first + batch <= count; first += batch) {
      ISOBIT_TRY(data::Batch samples, data::test_batch(dataset, first, batch, *context.kernels().pool));
      ISOBIT_RETURN_IF_ERROR(score(eval, *program, std::move(samples), state, out, result));
    }
    batch = count - first;
  }
  return result;
}

}  // namespace

Expected<SampleScores> evaluate(const Job& job, const data::Dataset& dataset, const std::vector<NamedTensor>& state,
                                platform::Engine& engine, backends::Backend& backend) {
  const platform::Arithmetic& trained = arithmetic_of(job);
  const platform::Arithmetic& scores = trained.scored_by.empty() ? trained : platform::arithmetic_of(trained.scored_by);
  const bool narrow = trained.computes_in != scores.computes_in;
  ISOBIT_TRY(const platform::Context context, engine.context_for(scores));
  return score_all(job, dataset, narrow ? in_float32(state) : state, context, backend);
}

}  // namespace isobit::train
