// What stands before the models of ai.onnx.ml, against plain loops in double.
#include <algorithm>
#include <limits>

#include "isobit/graph/expansions/features.h"
#include "isobit/runtime/expansions_for_test.h"

namespace isobit::runtime {
namespace {

using namespace graph::expansions;  // NOLINT: the tests of all of it
using Reals = std::vector<double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Array list(const Reals& values) { return {{static_cast<int64_t>(values.size())}, values}; }

TEST(Features, AreMovedAndScaled) {
  const std::vector<std::pair<Reals, Reals>> examples = {{{1, 2, 3}, {2, 0.5, -1}}, {{0.5}, {4}}};
  for (const auto& [offset, scale] : examples) {
    Expanded e(DType::kFloat32);
    const Array x = e.random({4, 3});
    Array y = x;
    for (size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = (y.values[i] - offset[i % offset.size()]) * scale[i % scale.size()];
    }
    const auto found = e.run("Scaler", scaler(e.g, {"n", e.fed(x), offset, scale}));
    expect_near(y, found.at(0), 1e-6);
  }
  Expanded e;
  const ValueId x = e.fed(e.random({4, 3}));
  Expanded::refused(scaler(e.g, {"n", x, {1, 2}, {1}}), "Scaler", "2 offsets or scales for 3 columns");
  Expanded::refused(scaler(e.g, {"n", x, {}, {1}}), "Scaler", "0 offsets or scales");
  Expanded::refused(scaler(e.g, {"n", e.fed(e.random({})), {1}, {1}}), "Scaler", "X has rank 0");
}

TEST(Features, AreNormalisedByRow) {
  for (const std::string norm : {"MAX", "L1", "L2"}) {
    Expanded e(DType::kFloat32);
    Array x = e.random({4, 3});
    std::fill_n(x.values.begin(), 3, 0.0);
    Array y = x;
    for (int64_t n = 0; n < 4; ++n) {
      double size = 0;
      for (int64_t c = 0; c < 3; ++c) {
        const double v = std::abs(x({n, c}));
        size = norm == "MAX" ? std::max(size, v) : size + (norm == "L1" ? v : v * v);
      }
      if (norm == "L2") size = std::sqrt(size);
      for (int64_t c = 0; c < 3; ++c) y({n, c}) /= size == 0 ? 1 : size;
    }
    const auto found = e.run("Normalizer", normalizer(e.g, {"n", e.fed(x), norm}));
    expect_near(y, found.at(0), 1e-6);
  }
  Expanded e;
  Expanded::refused(normalizer(e.g, {"n", e.fed(e.random({2, 2})), "L3"}), "Normalizer", "norm 'L3' is not known");
}

TEST(Features, AreComparedWithAThreshold) {
  Expanded e(DType::kFloat32);
  const auto reals = e.run("Binarizer", binarizer(e.g, {"n", e.fed(list({-1, 0.5, 0.75, kNaN})), 0.5}));
  expect_near(list({0, 0, 1, 0}), reals.at(0), 0);
  Expanded f(DType::kInt8);
  const auto whole = f.run("Binarizer", binarizer(f.g, {"n", f.fed(list({-1, 0, 1, 2})), 0.5}));
  expect_near(list({0, 0, 1, 1}), whole.at(0), 0);
  Expanded::refused(binarizer(f.g, {"n", f.fed(list({1})), 200}), "Binarizer", "no constant 200 of type int8");
  Expanded::refused(binarizer(f.g, {"n", f.fed(DType::kBool, list({1})), 0}), "Binarizer", "expected numbers");
}

TEST(Features, AreTakenByTheirPlaces) {
  Expanded e;
  const Array x = e.random({3, 4});
  const auto found = e.run("ArrayFeatureExtractor",
                           array_feature_extractor(e.g, {"n", e.fed(x), e.fed(DType::kInt64, {{1, 2}, {2, 0}})}));
  Array y = Array::zeros({3, 2});
  for (int64_t n = 0; n < 3; ++n) {
    y({n, 0}) = x({n, 2});
    y({n, 1}) = x({n, 0});
  }
  expect_near(y, found.at(0), 0);
  Expanded f;
  const auto row =
      f.run("ArrayFeatureExtractor",
            array_feature_extractor(f.g, {"n", f.fed(list({5, 6, 7})), f.fed(DType::kInt64, list({2, 2}))}));
  expect_near({{1, 2}, {7, 7}}, row.at(0), 0);
  Expanded::refused(array_feature_extractor(f.g, {"n", f.fed(f.random({})), f.fed(DType::kInt64, list({0}))}),
                    "ArrayFeatureExtractor", "X has rank 0");
  Expanded::refused(array_feature_extractor(f.g, {"n", f.fed(list({1})), f.fed(list({0}))}), "ArrayFeatureExtractor",
                    "the indices are no integers");
}

LabelEncoderArguments encoder(ValueId x, DType keys, const Reals& from, DType values, const Reals& to,
                              double otherwise) {
  return {"n", x, tensor_of(keys, list(from)), tensor_of(values, list(to)), tensor_of(values, list({otherwise}))};
}

TEST(LabelEncoder, GivesTheValueOfTheFirstKeyOrTheDefault) {
  Expanded e(DType::kInt64);
  const auto whole =
      e.run("LabelEncoder", label_encoder(e.g, encoder(e.fed({{2, 3}, {4, 7, 9, 9, -1, 0}}), DType::kInt64, {7, 9, 9},
                                                       DType::kFloat32, {0.5, 2, 3}, -1)));
  expect_near({{2, 3}, {-1, 0.5, 2, 2, -1, -1}}, whole.at(0), 0);
  Expanded f(DType::kFloat32);
  const auto reals = f.run("LabelEncoder", label_encoder(f.g, encoder(f.fed(list({1.5, kNaN, 2})), DType::kFloat32,
                                                                      {kNaN, 1.5}, DType::kInt64, {4, 5}, 42)));
  expect_near(list({5, 4, 42}), reals.at(0), 0);
}

TEST(LabelEncoder, RefusesWhatDoesNotFit) {
  Expanded e(DType::kInt64);
  const ValueId x = e.fed(list({1}));
  const auto refused = [&](const LabelEncoderArguments& a, const std::string& words) {
    Expanded::refused(label_encoder(e.g, a), "LabelEncoder", words);
  };
  refused(encoder(e.fed(DType::kBool, list({1})), DType::kBool, {1}, DType::kInt64, {1}, 0), "X is bool");
  refused({"n", x, {}, {}, {}}, "are absent");
  refused(encoder(x, DType::kFloat32, {1}, DType::kInt64, {1}, 0), "keys of float32 for X of int64");
  refused(encoder(x, DType::kInt64, {1, 2}, DType::kInt64, {1}, 0), "2 keys and 1 values");
  refused(encoder(x, DType::kInt64, {}, DType::kInt64, {}, 0), "0 keys and 0 values");
  refused(encoder(x, DType::kInt64, {1}, DType::kBool, {1}, 0), "values of bool");
  LabelEncoderArguments a = encoder(x, DType::kInt64, {1}, DType::kInt64, {1}, 0);
  a.default_value = tensor_of(DType::kInt32, list({1}));
  refused(a, "the default is not one number");
}

TEST(Imputer, PutsNumbersInPlaceOfOne) {
  Expanded e(DType::kFloat32);
  const auto by_nan = e.run("Imputer", imputer(e.g, {"n", e.fed({{2, 2}, {1, kNaN, kNaN, 4}}), {10, 20}, kNaN}));
  expect_near({{2, 2}, {1, 20, 10, 4}}, by_nan.at(0), 0);
  Expanded f(DType::kInt64);
  const auto whole = f.run("Imputer", imputer(f.g, {"n", f.fed({{2, 2}, {1, -1, 3, -1}}), {}, 0, {7}, -1}));
  expect_near({{2, 2}, {1, 7, 3, 7}}, whole.at(0), 0);
}

// Integers that no float64 holds stay what they are.
TEST(Imputer, TakesEveryInteger) {
  constexpr int64_t kOdd = (int64_t{1} << 53) + 1;
  Expanded f(DType::kInt64);
  ASSERT_TRUE(imputer(f.g, {"n", f.fed(list({1, 2, 3})), {}, 0, {kOdd + 2}, kOdd}));
  std::vector<int64_t> constants;
  for (const auto& c : f.g.initializers()) constants.push_back(*c.tensor.data<int64_t>());
  EXPECT_EQ(constants, (std::vector<int64_t>{kOdd + 2, kOdd}));
}

TEST(Imputer, RefusesWhatDoesNotFit) {
  Expanded e(DType::kInt64);
  const ValueId x = e.fed({{1, 2}, {1, 2}});
  Expanded::refused(imputer(e.g, {"n", e.fed(DType::kInt32, list({1})), {1}, 0}), "Imputer", "X is int32");
  Expanded::refused(imputer(e.g, {"n", x, {}, 0, {1, 2, 3}, 0}), "Imputer", "3 imputed values for 2 columns");
  Expanded::refused(imputer(e.g, {"n", x, {1}, 0}), "Imputer", "0 imputed values for 2 columns");
}

TEST(OneHotEncoder, HasAColumnForEachCategory) {
  for (DType dtype : {DType::kInt64, DType::kFloat32}) {
    Expanded e(dtype);
    const auto found = e.run("OneHotEncoder", one_hot_encoder(e.g, {"n", e.fed({{2, 2}, {3, 7, -2, 0}}), {7, 3, 9}}));
    expect_near({{2, 2, 3}, {0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}}, found.at(0), 0);
  }
  Expanded e;
  Expanded::refused(one_hot_encoder(e.g, {"n", e.fed(list({1})), {}}), "OneHotEncoder", "no integers as categories");
  Expanded::refused(one_hot_encoder(e.g, {"n", e.fed(DType::kBool, list({1})), {1}}), "OneHotEncoder", "X is bool");
}

TEST(FeatureVectorizer, PutsColumnsSideBySide) {
  Expanded e(DType::kFloat32);
  const Values inputs = {e.fed({{2, 2}, {1, 2, 3, 4}}), e.fed(DType::kInt64, list({5, 6}))};
  const auto found = e.run("FeatureVectorizer", feature_vectorizer(e.g, {"n", inputs}));
  expect_near({{2, 3}, {1, 2, 5, 3, 4, 6}}, found.at(0), 0);
  Expanded::refused(feature_vectorizer(e.g, {"n", {}}), "FeatureVectorizer", "there are no inputs");
  Expanded::refused(feature_vectorizer(e.g, {"n", {e.fed(e.random({1, 1, 1}))}}), "FeatureVectorizer",
                    "an input has rank 3");
}

}  // namespace
}  // namespace isobit::runtime
