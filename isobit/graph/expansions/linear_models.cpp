#include "isobit/graph/expansions/linear_models.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/expansions/post_transform.h"

namespace isobit::graph::expansions {
namespace {

ValueId numbers(Builder& b, DType dtype, const std::vector<double>& values, std::vector<int64_t> dims,
                const std::string& what) {
  if (b.failed()) return kNoValue;
  Tensor tensor(dtype, Shape(std::move(dims)));
  ISOBIT_CHECK(tensor.elements() == static_cast<int64_t>(values.size()));
  by_type(FloatTypes{}, dtype, [&]<class T>(T) {
    std::transform(values.begin(), values.end(), tensor.data<T>(), [](double x) { return static_cast<T>(x); });
  });
  return b.constant(std::move(tensor), what);
}

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
  std::vector<ValueId> inputs = {x, numbers(b, dtype, coefficients, {rows, count / rows}, "coefficients")};
  if (!intercepts.empty()) inputs.push_back(numbers(b, dtype, intercepts, {rows}, "intercepts"));
  return b.node("Gemm", inputs, {{"transB", int64_t{1}}}, "linear");
}

ValueId as_float32(Builder& b, ValueId v, const std::string& what) { return b.cast(v, DType::kFloat32, what); }

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

Expected<std::vector<ValueId>> scaler(Graph& graph, const ScalerArguments& a) {
  Builder b(graph, "Scaler", a.name);
  b.require_ranks({a.x});
  b.require(b.is_float(a.x) || b.is_integer(a.x), text_of("X is ", name_of(b.dtype(a.x)), ", expected numbers"));
  b.require(b.rank(a.x) >= 1, "X has rank 0, expected 1 or more");
  const int64_t columns = b.dim(a.x, -1);
  for (const auto* list : {&a.offset, &a.scale}) {
    const auto size = static_cast<int64_t>(list->size());
    b.require(size == 1 || (size > 0 && (columns < 0 || size == columns)),
              text_of(size, " offsets or scales for ", columns, " columns"));
  }
  if (b.failed()) return b.finish({});
  const ValueId x = b.is_integer(a.x) ? as_float32(b, a.x, "x") : a.x;
  const DType dtype = b.dtype(x);
  const auto row = [&](const std::vector<double>& list, const std::string& what) {
    return numbers(b, dtype, list, {static_cast<int64_t>(list.size())}, what);
  };
  const ValueId y = b.mul(b.sub(x, row(a.offset, "offset"), "moved"), row(a.scale, "scale"), "scaled");
  return b.finish({as_float32(b, y, "y")});
}

Expected<std::vector<ValueId>> normalizer(Graph& graph, const NormalizerArguments& a) {
  Builder b(graph, "Normalizer", a.name);
  const ValueId x = feature_rows(b, a.x);
  ValueId norm = kNoValue;
  if (a.norm == "MAX") {
    norm = b.reduce("ReduceMax", b.unary("Abs", x, "magnitudes"), {1}, true, "norm");
  } else if (a.norm == "L1") {
    norm = b.reduce("ReduceSum", b.unary("Abs", x, "magnitudes"), {1}, true, "norm");
  } else if (a.norm == "L2") {
    norm = b.unary("Sqrt", b.reduce("ReduceSum", b.mul(x, x, "squares"), {1}, true, "sum"), "norm");
  } else {
    b.fail(text_of("norm '", a.norm, "' is not known"));
  }
  const ValueId is_zero = b.node("Equal", {norm, b.scalar(b.dtype(x), 0)}, {}, "is_zero");
  const ValueId divisor = b.where(is_zero, b.scalar(b.dtype(x), 1), norm, "divisor");
  return b.finish({as_float32(b, b.div(x, divisor, "normalized"), "y")});
}

Expected<std::vector<ValueId>> binarizer(Graph& graph, const BinarizerArguments& a) {
  Builder b(graph, "Binarizer", a.name);
  b.require(b.is_float(a.x) || b.is_integer(a.x), text_of("X is ", name_of(b.dtype(a.x)), ", expected numbers"));
  // An integer is above the threshold when it is above its floor.
  const double threshold = b.is_integer(a.x) ? std::floor(a.threshold) : a.threshold;
  if (b.failed()) return b.finish({});
  const ValueId above = b.node("Less", {b.scalar(b.dtype(a.x), threshold), a.x}, {}, "above");
  return b.finish({b.cast(above, b.dtype(a.x), "y")});
}

Expected<std::vector<ValueId>> array_feature_extractor(Graph& graph, const ArrayFeatureExtractorArguments& a) {
  Builder b(graph, "ArrayFeatureExtractor", a.name);
  b.require_ranks({a.x, a.indices});
  b.require(a.x != kNoValue && b.rank(a.x) >= 1, "X has rank 0, expected 1 or more");
  b.require(b.is_integer(a.indices), "the indices are no integers");
  const int64_t axis = b.rank(a.x) - 1;
  const ValueId indices = b.rank(a.indices) == 1 ? a.indices : b.reshape_to(a.indices, {-1}, "indices");
  const ValueId y = b.gather(a.x, indices, axis, "taken");
  return b.finish({axis == 0 ? b.unsqueeze(y, {0}, "y") : y});
}

Expected<std::vector<ValueId>> label_encoder(Graph& graph, const LabelEncoderArguments& a) {
  Builder b(graph, "LabelEncoder", a.name);
  b.require_ranks({a.x});
  b.require(b.is_float(a.x) || b.is_integer(a.x), text_of("X is ", name_of(b.dtype(a.x)), ", expected numbers"));
  b.require(a.keys.defined() && a.values.defined() && a.default_value.defined(), "keys, values or default are absent");
  if (b.failed()) return b.finish({});
  b.require(a.keys.dtype() == b.dtype(a.x),
            text_of("keys of ", name_of(a.keys.dtype()), " for X of ", name_of(b.dtype(a.x))));
  b.require(a.keys.elements() >= 1 && a.keys.elements() == a.values.elements(),
            text_of(a.keys.elements(), " keys and ", a.values.elements(), " values"));
  b.require(a.default_value.dtype() == a.values.dtype() && a.default_value.elements() == 1,
            "the default is not one number of the type of the values");
  b.require(NumberTypes::contains(a.values.dtype()),
            text_of("values of ", name_of(a.values.dtype()), ", expected numbers"));
  if (b.failed()) return b.finish({});
  const int64_t last = b.rank(a.x);
  const ValueId keys = b.constant(a.keys.reshaped({a.keys.elements()}), "keys");
  const ValueId x = b.unsqueeze(a.x, {last}, "x");
  ValueId equal = b.node("Equal", {x, keys}, {}, "equal");
  if (b.is_float(a.x)) {
    const ValueId both_nan =
        b.node("And", {b.unary("IsNaN", x, "x_is_nan"), b.unary("IsNaN", keys, "key_is_nan")}, {}, "nan");
    equal = b.node("Or", {equal, both_nan}, {}, "equal_or_nan");
  }
  const ValueId found = b.cast(equal, DType::kInt32, "found");
  const ValueId place = b.node("ArgMax", {found}, {{"axis", last}, {"keepdims", int64_t{0}}}, "place");
  const ValueId any = b.cast(b.reduce("ReduceMax", found, {last}, false, "any"), DType::kBool, "is_key");
  const ValueId values = b.constant(a.values.reshaped({a.values.elements()}), "values");
  const ValueId otherwise = b.constant(a.default_value.reshaped({}), "default");
  return b.finish({b.where(any, b.gather(values, place, 0, "value"), otherwise, "y")});
}

}  // namespace isobit::graph::expansions
