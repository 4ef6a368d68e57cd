#include "isobit/train/metrics.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace isobit::train {
namespace {

// One sample's part of a batch.
struct Sample {
  std::span<const float> losses;
  std::span<const float> output, target;  // of the same elements
  std::span<const int64_t> labels;        // of cross-entropy, in place of `target`
};

void add(MetricSum& sum, float value) {
  sum.sum.add(value);
  ++sum.count;
}

void add_losses(const Sample& s, MetricSum& sum) {
  for (const float loss : s.losses) add(sum, loss);
}

// How many logits of a row stand before the label's, equal ones with a lower index included. A NaN stands before
// everything, so that a broken network does not score.
int64_t rank_of_label(std::span<const float> logits, int64_t label) {
  const float own = logits[static_cast<size_t>(label)];
  int64_t before = 0;
  for (int64_t c = 0; c < static_cast<int64_t>(logits.size()); ++c) {
    const float other = logits[static_cast<size_t>(c)];
    const bool ahead = other > own || (other == own && c < label) || other != other;
    before += c != label && ahead ? 1 : 0;
  }
  return own == own ? before : static_cast<int64_t>(logits.size());
}

// loss, top1, top5
void score_classes(const Sample& s, std::span<MetricSum> sums) {
  add_losses(s, sums[0]);
  const size_t classes = s.output.size() / s.labels.size();
  for (size_t row = 0; row < s.labels.size(); ++row) {
    const int64_t rank = rank_of_label(s.output.subspan(row * classes, classes), s.labels[row]);
    add(sums[1], rank < 1 ? 1 : 0);
    add(sums[2], rank < 5 ? 1 : 0);
  }
}

// loss, mae, mse
void score_numbers(const Sample& s, std::span<MetricSum> sums) {
  add_losses(s, sums[0]);
  for (size_t i = 0; i < s.output.size(); ++i) {
    const float d = s.output[i] - s.target[i];
    add(sums[1], std::abs(d));
    add(sums[2], d * d);
  }
}

// accuracy, loss
void score_labels(const Sample& s, std::span<MetricSum> sums) {
  for (size_t i = 0; i < s.output.size(); ++i) {
    const bool hit = s.output[i] == s.output[i] && (s.output[i] > 0) == (s.target[i] >= 0.5f);
    add(sums[0], hit ? 1 : 0);
  }
  add_losses(s, sums[1]);
}

void score_output(const Sample& s, std::span<MetricSum> sums) { add_losses(s, sums[0]); }

struct MetricSet {
  Loss loss;
  std::vector<std::string> names;
  void (*score)(const Sample&, std::span<MetricSum>);
  bool compares_classes = false, compares_numbers = false;  // the output, with labels or with a target of its shape
};

const MetricSet& metrics_of(Loss loss) {
  static const std::array<MetricSet, 6> kSets = {{
      {.loss = Loss::kCrossEntropy,
       .names = {"loss", "top1", "top5"},
       .score = score_classes,
       .compares_classes = true},
      {.loss = Loss::kMse, .names = {"loss", "mae", "mse"}, .score = score_numbers, .compares_numbers = true},
      {.loss = Loss::kL1, .names = {"loss", "mae", "mse"}, .score = score_numbers, .compares_numbers = true},
      {.loss = Loss::kHuber, .names = {"loss", "mae", "mse"}, .score = score_numbers, .compares_numbers = true},
      {.loss = Loss::kBceWithLogits, .names = {"accuracy", "loss"}, .score = score_labels, .compares_numbers = true},
      {.loss = Loss::kOutput, .names = {"loss"}, .score = score_output},
  }};
  const auto found = std::ranges::find(kSets, loss, &MetricSet::loss);
  ISOBIT_CHECK(found != kSets.end());
  return *found;
}

// What tensors of a batch hold for sample i, where each has equally many elements for every sample.
template <class T>
std::span<const T> part_of(const Tensor& tensor, int64_t i, int64_t samples) {
  const int64_t each = tensor.elements() / samples;
  ISOBIT_CHECK(each * samples == tensor.elements());
  return tensor.span<T>().subspan(static_cast<size_t>(i * each), static_cast<size_t>(each));
}

}  // namespace

std::vector<std::string> metric_names(Loss loss) { return metrics_of(loss).names; }

bool is_share(std::string_view metric) { return metric == "top1" || metric == "top5" || metric == "accuracy"; }

namespace {

bool is_loss(const MetricSet& set, size_t metric) { return set.names[metric] == "loss"; }

}  // namespace

bool can_be_scored(Loss loss, const ScoredBatch& batch) {
  const MetricSet& set = metrics_of(loss);
  const auto fits = [&](const Tensor& t, DType dtype) {
    return t.dtype() == dtype && t.elements() > 0 && t.elements() % batch.samples == 0;
  };
  if (!fits(batch.losses, DType::kFloat32)) return false;
  if (!set.compares_classes && !set.compares_numbers) return true;
  if (!fits(*batch.output, DType::kFloat32)) return false;
  if (set.compares_classes) {
    return fits(*batch.target, DType::kInt64) && batch.output->elements() % batch.target->elements() == 0;
  }
  return fits(*batch.target, DType::kFloat32) && batch.output->elements() == batch.target->elements();
}

int64_t items_of(Loss loss, size_t metric, const ScoredBatch& batch) {
  const MetricSet& set = metrics_of(loss);
  if (is_loss(set, metric)) return batch.losses.elements() / batch.samples;
  return (set.compares_classes ? batch.target : batch.output)->elements() / batch.samples;
}

ItemParts parts_of_item(Loss loss, size_t metric, const ScoredBatch& batch, int64_t sample, int64_t item) {
  const MetricSet& set = metrics_of(loss);
  const int64_t at = sample * items_of(loss, metric, batch) + item;
  if (is_loss(set, metric)) return {{at, 1}, {}, {}};
  if (set.compares_numbers) return {{}, {at, 1}, {at, 1}};
  const int64_t classes = batch.output->elements() / batch.target->elements();
  return {{}, {at * classes, classes}, {at, 1}};
}

std::optional<MetricSum> score_of_item(Loss loss, size_t metric, const Tensor& losses, const Tensor& output,
                                       const Tensor& target) {
  const MetricSet& set = metrics_of(loss);
  std::vector<MetricSum> sums(set.names.size());
  Sample sample{losses.span<float>(), {}, {}, {}};
  if (!is_loss(set, metric)) {
    sample.output = output.span<float>();
    if (set.compares_classes) {
      sample.labels = target.span<int64_t>();
      if (sample.labels[0] < 0 || sample.labels[0] >= output.elements()) return std::nullopt;
    } else {
      sample.target = target.span<float>();
    }
  }
  if (is_loss(set, metric)) {
    add_losses(sample, sums[metric]);
  } else {
    set.score(sample, sums);
  }
  return sums[metric];
}

void add_scores(Loss loss, const ScoredBatch& batch, std::vector<MetricSum>& sums) {
  const MetricSet& set = metrics_of(loss);
  for (int64_t i = 0; i < batch.samples; ++i) {
    Sample sample{part_of<float>(batch.losses, i, batch.samples), {}, {}, {}};
    if (set.compares_classes || set.compares_numbers) {
      sample.output = part_of<float>(*batch.output, i, batch.samples);
    }
    if (set.compares_classes) sample.labels = part_of<int64_t>(*batch.target, i, batch.samples);
    if (set.compares_numbers) {
      sample.target = part_of<float>(*batch.target, i, batch.samples);
      ISOBIT_CHECK(sample.target.size() == sample.output.size());
    }
    sums.resize(sums.size() + set.names.size());
    set.score(sample, std::span(sums).last(set.names.size()));
  }
}

}  // namespace isobit::train
