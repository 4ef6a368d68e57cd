#include "isobit/graph/expansions/linear_models.h"

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/expansions/ml_common.h"

namespace isobit::graph::expansions {
namespace {

// x coefficients^T + intercepts, [N, rows].
ValueId linear(Builder& b, ValueId x, const std::vector<double>& coefficients, const std::vector<double>& intercepts,
               int64_t rows) {
  const auto count = static_cast<int64_t>(coefficients.size());
  b.require(rows >= 1 && count >= rows && count % rows == 0,
            text_of(count, " coefficients, expected as many for each of ", rows, " outputs"));
  b.require(intercepts.empty() || static_cast<int64_t>(intercepts.size()) == rows,
            text_of(intercepts.size(), " intercepts, expected ", rows));
  if (b.failed()) return kNoValue;
  const DType dtype = b.dtype(x);
  std::vector<ValueId> inputs = {x, b.numbers(dtype, coefficients, {rows, count / rows}, "coefficients")};
  if (!intercepts.empty()) inputs.push_back(b.numbers(dtype, intercepts, {rows}, "intercepts"));
  return b.node("Gemm", inputs, {{"transB", int64_t{1}}}, "linear");
}

// (1 - p, p)
ValueId two_probabilities(Builder& b, ValueId score, const std::string& transform) {
  b.require(transform == "NONE" || transform == "LOGISTIC",
            text_of("post_transform '", transform, "' of one score for two labels is not supported"));
  const ValueId p = post_transformed(b, score, transform);
  return b.concat({b.sub(b.scalar(b.dtype(p), 1), p, "first"), p}, 1, "scores");
}

}  // namespace

Expected<std::vector<ValueId>> linear_regressor(Graph& graph, const LinearRegressorArguments& a) {
  Builder b(graph, "LinearRegressor", a.name);
  const ValueId x = feature_rows(b, a.x);
  const ValueId y = linear(b, x, a.coefficients, a.intercepts, a.targets);
  return b.finish({as_float32(b, post_transformed(b, y, a.post_transform), "y")});
}

Expected<std::vector<ValueId>> linear_classifier(Graph& graph, const LinearClassifierArguments& a) {
  Builder b(graph, "LinearClassifier", a.name);
  const auto labels = static_cast<int64_t>(a.class_labels.size());
  const int64_t rows = a.intercepts.empty() ? labels : static_cast<int64_t>(a.intercepts.size());
  b.require(labels >= 1, "there are no integers as class labels");
  b.require(rows == labels || (rows == 1 && labels == 2), text_of(rows, " scores for ", labels, " labels"));
  const ValueId scores = linear(b, feature_rows(b, a.x), a.coefficients, a.intercepts, rows);
  if (b.failed()) return b.finish({});
  if (rows == labels) {
    const ValueId label = label_of_largest(b, scores, a.class_labels);
    return b.finish({label, as_float32(b, post_transformed(b, scores, a.post_transform), "probabilities")});
  }
  const ValueId label = label_above(b, scores, 0, a.class_labels);
  return b.finish({label, as_float32(b, two_probabilities(b, scores, a.post_transform), "probabilities")});
}

}  // namespace isobit::graph::expansions
