#include "isobit/graph/expansions/loss.h"

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"

namespace isobit::graph::expansions {
namespace {

class Loss {
 public:
  Loss(Graph& graph, const char* op, const LossArguments& arguments) : b_(graph, op, arguments.name), a_(arguments) {
    check();
  }

  Expected<std::vector<ValueId>> of_log_probabilities() { return b_.finish({loss_of(a_.scores)}); }

  Expected<std::vector<ValueId>> of_scores() {
    if (b_.failed()) return b_.finish({});
    const bool is_plain_mean = a_.reduction == "mean" && a_.weights == kNoValue && !a_.ignore_index;
    ValueId log_prob = kNoValue;
    if (!is_plain_mean || a_.wants_log_prob) {
      log_prob = classes_back(b_.unary("LogSoftmax", classes_last(a_.scores), "log_softmax"));
    }
    const ValueId loss = is_plain_mean ? cross_entropy() : loss_of(log_prob);
    return b_.finish({loss, a_.wants_log_prob ? log_prob : kNoValue});
  }

 private:
  void check() {
    b_.require_ranks({a_.scores, a_.target, a_.weights});
    b_.require(b_.is_float(a_.scores), text_of("the scores are ", name_of(b_.dtype(a_.scores)), ", expected floats"));
    b_.require(a_.target != kNoValue && (b_.dtype(a_.target) == DType::kInt32 || b_.dtype(a_.target) == DType::kInt64),
               "the target is neither int32 nor int64");
    rank_ = b_.rank(a_.scores);
    b_.require(rank_ >= 2, text_of("the scores have rank ", rank_, ", expected 2 or more"));
    b_.require(b_.failed() || b_.rank(a_.target) == rank_ - 1,
               text_of("the target has rank ", b_.rank(a_.target), ", expected ", rank_ - 1));
    for (int axis = 0; axis + 1 < rank_; ++axis) {
      const int64_t have = b_.dim(a_.target, axis), need = b_.dim(a_.scores, axis == 0 ? 0 : axis + 1);
      b_.require(have < 0 || need < 0 || have == need,
                 text_of("axis ", axis, " of the target has ", have, " places, expected ", need));
    }
    if (a_.weights != kNoValue) {
      b_.require(b_.dtype(a_.weights) == b_.dtype(a_.scores) && b_.rank(a_.weights) == 1,
                 "the weights need rank 1 and the type of the scores");
      const int64_t have = b_.dim(a_.weights, 0), need = b_.dim(a_.scores, 1);
      b_.require(have < 0 || need < 0 || have == need, text_of(have, " weights for ", need, " classes"));
    }
    b_.require(a_.reduction == "none" || a_.reduction == "sum" || a_.reduction == "mean",
               text_of("reduction '", a_.reduction, "' is not known"));
  }

  // [N, C, d..] as [N, d.., C], and back.
  ValueId classes_last(ValueId v) {
    std::vector<int64_t> order = {0};
    for (int axis = 2; axis < rank_; ++axis) order.push_back(axis);
    order.push_back(1);
    return b_.transpose(v, order, "classes_last");
  }
  ValueId classes_back(ValueId v) {
    std::vector<int64_t> order = {0, rank_ - 1};
    for (int axis = 1; axis + 1 < rank_; ++axis) order.push_back(axis);
    return b_.transpose(v, order, "log_prob");
  }

  ValueId cross_entropy() {
    const ValueId scores = b_.reshape_to(classes_last(a_.scores), {-1, b_.dim(a_.scores, 1)}, "rows");
    const ValueId labels = b_.reshape_to(b_.cast(a_.target, DType::kInt64, "target"), {-1}, "labels");
    return b_.nodes("isobit.CrossEntropy", {scores, labels}, {}, {"loss", "row_loss", "row_max", "row_log_sum"})[0];
  }

  ValueId zero_where_ignored(ValueId v, const std::string& what) {
    return ignored_ == kNoValue ? v : b_.where(ignored_, b_.scalar(b_.dtype(v), 0), v, what);
  }

  ValueId loss_of(ValueId log_prob) {
    ValueId target = b_.cast(a_.target, DType::kInt64, "target");
    if (a_.ignore_index) {
      ignored_ = b_.node("Equal", {target, b_.integer(*a_.ignore_index)}, {}, "ignored");
      target = b_.where(ignored_, b_.integer(0), target, "target");
    }
    const ValueId picked =
        b_.node("GatherElements", {log_prob, b_.unsqueeze(target, {1}, "target")}, {{"axis", int64_t{1}}}, "picked");
    ValueId loss = zero_where_ignored(b_.unary("Neg", b_.squeeze(picked, {1}, "picked"), "losses"), "losses");
    ValueId weights = kNoValue;
    if (a_.weights != kNoValue) {
      weights = zero_where_ignored(b_.gather(a_.weights, target, 0, "weights"), "weights");
      loss = b_.mul(loss, weights, "weighted");
    }
    return reduced(loss, weights);
  }

  ValueId reduced(ValueId loss, ValueId weights) {
    std::vector<int64_t> axes;
    for (int axis = 0; axis + 1 < rank_; ++axis) axes.push_back(axis);
    if (a_.reduction == "none") return loss;
    const bool is_plain = weights == kNoValue && ignored_ == kNoValue;
    if (a_.reduction == "mean" && is_plain) return b_.reduce("ReduceMean", loss, axes, false, "loss");
    const ValueId sum = b_.reduce("ReduceSum", loss, axes, false, "sum");
    if (a_.reduction == "sum") return sum;
    if (weights == kNoValue) {
      const DType dtype = b_.dtype(loss);
      weights = b_.where(ignored_, b_.scalar(dtype, 0), b_.scalar(dtype, 1), "weights");
    }
    return b_.div(sum, b_.reduce("ReduceSum", weights, axes, false, "sum_of_weights"), "loss");
  }

  Builder b_;
  const LossArguments& a_;
  int rank_ = 0;
  ValueId ignored_ = kNoValue;  // bool, of the target's shape
};

}  // namespace

Expected<std::vector<ValueId>> negative_log_likelihood_loss(Graph& graph, const LossArguments& arguments) {
  return Loss(graph, "NegativeLogLikelihoodLoss", arguments).of_log_probabilities();
}

Expected<std::vector<ValueId>> softmax_cross_entropy_loss(Graph& graph, const LossArguments& arguments) {
  return Loss(graph, "SoftmaxCrossEntropyLoss", arguments).of_scores();
}

}  // namespace isobit::graph::expansions
