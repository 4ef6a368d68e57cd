#include "isobit/graph/expansions/ml_common.h"

#include "isobit/base/text.h"

namespace isobit::graph::expansions {
namespace {

ValueId softmax_zero(Builder& b, ValueId scores) {
  const DType dtype = b.dtype(scores);
  const ValueId largest = b.reduce("ReduceMax", scores, {1}, true, "largest");
  const ValueId away =
      b.node("Less", {b.scalar(dtype, 1e-7), b.unary("Abs", scores, "magnitude")}, {}, "away_from_zero");
  const ValueId exponential = b.unary("Exp", b.sub(scores, largest, "below_largest"), "exp");
  const ValueId near = b.mul(scores, b.unary("Exp", b.unary("Neg", largest, "negative"), "exp_negative"), "near_zero");
  const ValueId terms = b.where(away, exponential, near, "terms");
  return b.div(terms, b.reduce("ReduceSum", terms, {1}, true, "sum"), "scores");
}

}  // namespace

ValueId post_transformed(Builder& b, ValueId scores, const std::string& transform) {
  if (transform == "NONE") return scores;
  if (transform == "LOGISTIC") return b.unary("Sigmoid", scores, "scores");
  if (transform == "SOFTMAX") return b.unary("Softmax", scores, "scores");
  if (transform == "SOFTMAX_ZERO") return softmax_zero(b, scores);
  return b.fail(text_of("post_transform '", transform, "' is not supported"));
}

ValueId label_of_largest(Builder& b, ValueId scores, const std::vector<int64_t>& labels) {
  const ValueId place = b.node("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}, "class");
  return b.gather(b.integers(labels), place, 0, "label");
}

ValueId label_above(Builder& b, ValueId scores, double threshold, const std::vector<int64_t>& labels) {
  const ValueId score = b.squeeze(scores, {1}, "score");
  const ValueId above = b.node("Less", {b.scalar(b.dtype(scores), threshold), score}, {}, "above");
  return b.where(above, b.integer(labels[1]), b.integer(labels[0]), "label");
}

ValueId feature_rows(Builder& b, ValueId x) {
  b.require_ranks({x});
  b.require(b.is_float(x) || b.is_integer(x), text_of("X is ", name_of(b.dtype(x)), ", expected numbers"));
  b.require(b.rank(x) == 1 || b.rank(x) == 2, text_of("X has rank ", b.rank(x), ", expected 1 or 2"));
  if (b.is_integer(x)) x = b.cast(x, DType::kFloat32, "x");
  return b.rank(x) == 1 ? b.unsqueeze(x, {0}, "x_row") : x;
}

}  // namespace isobit::graph::expansions
