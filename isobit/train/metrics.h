// What is measured of a network's outputs, for each loss that a job may train by. Docs: docs/formats/evaluation.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isobit/tensor/tensor.h"
#include "isobit/train/evaluation.h"
#include "isobit/train/job.h"

namespace isobit::train {

// The metrics of a loss, strictly increasing by name:
//   cross-entropy               loss, top1, top5: of each row, a sample or a token of one
//   mse, l1, huber              loss of each sample; mae and mse of each element of the output
//   bce-with-logits             loss of each sample; accuracy of each label
//   output                      loss of each sample
std::vector<std::string> metric_names(Loss loss);

// Whether the metric is a share of hits, shown in percent; false for names that no loss has.
bool is_share(std::string_view metric);

// Some samples as an evaluation graph scored them. All in float32, but for classes, which are int64.
struct ScoredBatch {
  int64_t samples = 0;
  const Tensor& losses;            // [rows], as many for each sample
  const Tensor* output = nullptr;  // cross-entropy: [rows, classes]; output: not looked at; else [samples, ...]
  const Tensor* target = nullptr;  // cross-entropy: a class of each row; output: not looked at; else as the output
};

// Whether add_scores may be asked of a batch of these types and shapes.
bool can_be_scored(Loss loss, const ScoredBatch& batch);

// How many values a metric adds up for each sample of a batch. REQUIRES as add_scores.
int64_t items_of(Loss loss, size_t metric, const ScoredBatch& batch);

// Which elements such a value is made of, by number: of the losses, the output and the target.
struct ItemParts {
  struct Range {
    int64_t first = 0, count = 0;
  };
  Range losses, output, target;
};
// REQUIRES sample and item of the batch.
ItemParts parts_of_item(Loss loss, size_t metric, const ScoredBatch& batch, int64_t sample, int64_t item);
// The value of an item, as add_scores adds it, from these parts alone: tensors without an element where there is none.
// None for labels of classes that the output has not.
std::optional<MetricSum> score_of_item(Loss loss, size_t metric, const Tensor& losses, const Tensor& output,
                                       const Tensor& target);

// Appends the sums of each sample, in the order of metric_names. Every value that is added is a float32 one:
//   loss      the row's, or the sample's, as the graph has it
//   top1      1 if no logit stands before the label's, else 0: before it stand larger ones, equal ones of a lower index
//             and NaNs; a label whose logit is NaN stands last. top5: 1 if fewer than five stand before it
//   mse, mae  d * d and |d| with d = output - target, each operation rounded once
//   accuracy  1 where the logit is above 0 and the target is not below 1/2, or neither; else, and of a NaN, 0
//
// REQUIRES that the elements of losses, and of output and target where they are looked at, are of equal number for each
// sample; labels of classes that the rows have.
void add_scores(Loss loss, const ScoredBatch& batch, std::vector<MetricSum>& sums);

}  // namespace isobit::train
