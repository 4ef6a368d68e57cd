// SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss (ONNX opset 13).
//
// scores [N, C, d1, ...], target [N, d1, ...] (int32 or int64), weights [C]. With c the target of a place:
//
//   NegativeLogLikelihoodLoss   loss = -scores[c] * weights[c]; the product only where there are weights
//   SoftmaxCrossEntropyLoss     the same of log_prob = log-softmax of the scores over C
//
// A place whose target is ignore_index has loss 0 and weight 0. "none" gives the losses, "sum" their sum, "mean" their
// sum divided by the sum of the weights of the places (of 1 each without weights): a ReduceMean where nothing is
// ignored and nothing weighed. A target that is no class is an error of the run, but that ONNX's indices below 0 count
// from C.
//
// SoftmaxCrossEntropyLoss with "mean", without weights and without ignore_index, is isobit.CrossEntropy, as in a
// training step of ours; there a target below 0 is an error, too.
//
// Known before the run: the rank.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

struct LossArguments {
  std::string name;
  ValueId scores = kNoValue, target = kNoValue, weights = kNoValue;
  std::string reduction = "mean";
  std::optional<int64_t> ignore_index = {};
  bool wants_log_prob = false;  // of SoftmaxCrossEntropyLoss
};

// The loss.
Expected<std::vector<ValueId>> negative_log_likelihood_loss(Graph& graph, const LossArguments& arguments);
// The loss, log_prob (kNoValue unless wanted).
Expected<std::vector<ValueId>> softmax_cross_entropy_loss(Graph& graph, const LossArguments& arguments);

}  // namespace isobit::graph::expansions
