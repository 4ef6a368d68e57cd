#include "isobit/graph/expansions/features.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/text.h"
#include "isobit/graph/expansions/build.h"
#include "isobit/graph/expansions/ml_common.h"

namespace isobit::graph::expansions {
namespace {

// Any numbers; fails the builder otherwise.
void expect_numbers(Builder& b, ValueId x) {
  b.require_ranks({x});
  b.require(b.is_float(x) || b.is_integer(x), text_of("X is ", name_of(b.dtype(x)), ", expected numbers"));
}

// A list that is one number for each of the last axis of x, or one for all.
void expect_row(Builder& b, ValueId x, size_t numbers, const std::string& what) {
  const auto size = static_cast<int64_t>(numbers);
  const int64_t columns = b.dim(x, -1);
  b.require(b.rank(x) >= 1, "X has rank 0, expected 1 or more");
  b.require(size == 1 || (size > 0 && (columns < 0 || size == columns)),
            text_of(size, " ", what, " for ", columns, " columns"));
}

}  // namespace

Expected<std::vector<ValueId>> scaler(Graph& graph, const ScalerArguments& a) {
  Builder b(graph, "Scaler", a.name);
  expect_numbers(b, a.x);
  for (const auto* list : {&a.offset, &a.scale}) expect_row(b, a.x, list->size(), "offsets or scales");
  if (b.failed()) return b.finish({});
  const ValueId x = b.is_integer(a.x) ? as_float32(b, a.x, "x") : a.x;
  const DType dtype = b.dtype(x);
  const auto row = [&](const std::vector<double>& list, const std::string& what) {
    return b.numbers(dtype, list, {static_cast<int64_t>(list.size())}, what);
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
  expect_numbers(b, a.x);
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
  expect_numbers(b, a.x);
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

Expected<std::vector<ValueId>> imputer(Graph& graph, const ImputerArguments& a) {
  Builder b(graph, "Imputer", a.name);
  expect_numbers(b, a.x);
  b.require(b.is_float(a.x) || b.dtype(a.x) == DType::kInt64,
            text_of("X is ", name_of(b.dtype(a.x)), ", expected float32, float64 or int64"));
  const bool floats = b.is_float(a.x);
  const size_t values = floats ? a.imputed_values.size() : a.imputed_integers.size();
  expect_row(b, a.x, values, "imputed values");
  if (b.failed()) return b.finish({});
  const DType dtype = b.dtype(a.x);
  if (!floats) {
    const ValueId imputed = b.integers(a.imputed_integers);
    const ValueId replaced = b.node("Equal", {a.x, b.integer(a.replaced_integer)}, {}, "replaced");
    return b.finish({b.where(replaced, imputed, a.x, "y")});
  }
  const ValueId imputed = b.numbers(dtype, a.imputed_values, {static_cast<int64_t>(values)}, "imputed");
  const ValueId replaced = std::isnan(a.replaced_value)
                               ? b.unary("IsNaN", a.x, "replaced")
                               : b.node("Equal", {a.x, b.scalar(dtype, a.replaced_value)}, {}, "replaced");
  return b.finish({b.where(replaced, imputed, a.x, "y")});
}

Expected<std::vector<ValueId>> one_hot_encoder(Graph& graph, const OneHotEncoderArguments& a) {
  Builder b(graph, "OneHotEncoder", a.name);
  expect_numbers(b, a.x);
  b.require(!a.categories.empty(), "there are no integers as categories");
  if (b.failed()) return b.finish({});
  // A number that is not whole is none of the categories, also where float32 would round one to it.
  const bool whole = b.is_integer(a.x);
  const ValueId x = b.cast(a.x, whole ? DType::kInt64 : DType::kFloat64, "x");
  const ValueId keys = b.cast(b.integers(a.categories), b.dtype(x), "categories");
  const ValueId equal = b.node("Equal", {b.unsqueeze(x, {b.rank(x)}, "x"), keys}, {}, "equal");
  return b.finish({as_float32(b, equal, "y")});
}

Expected<std::vector<ValueId>> feature_vectorizer(Graph& graph, const FeatureVectorizerArguments& a) {
  Builder b(graph, "FeatureVectorizer", a.name);
  b.require(!a.inputs.empty(), "there are no inputs");
  std::vector<ValueId> columns;
  for (ValueId x : a.inputs) {
    expect_numbers(b, x);
    b.require(b.rank(x) == 1 || b.rank(x) == 2, text_of("an input has rank ", b.rank(x), ", expected 1 or 2"));
    const ValueId real = as_float32(b, x, "x");
    columns.push_back(b.rank(real) == 1 ? b.unsqueeze(real, {1}, "column") : real);
  }
  if (b.failed()) return b.finish({});
  return b.finish({columns.size() == 1 ? b.unary("Identity", columns[0], "y") : b.concat(columns, 1, "y")});
}

}  // namespace isobit::graph::expansions
