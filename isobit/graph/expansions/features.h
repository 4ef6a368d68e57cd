// What stands before the models of ai.onnx.ml: formulas of elements and movement.
//
// float64 is computed in float64, every other number in float32, and outputs are float32 as ONNX says, but where
// something else is said.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

struct ScalerArguments {
  std::string name;
  ValueId x = kNoValue;                         // of any rank from 1
  std::vector<double> offset = {}, scale = {};  // one for each of the last axis, or one for all
};
// Y = (x - offset) * scale, two roundings.
Expected<std::vector<ValueId>> scaler(Graph& graph, const ScalerArguments& arguments);

struct NormalizerArguments {
  std::string name;
  ValueId x = kNoValue;
  std::string norm = "MAX";  // "MAX", "L1", "L2"
};
// Y = x / n of a row: n the largest |x|, the sum of |x|, the square root of the sum of x * x; or 1 where that is 0.
Expected<std::vector<ValueId>> normalizer(Graph& graph, const NormalizerArguments& arguments);

struct BinarizerArguments {
  std::string name;
  ValueId x = kNoValue;  // numbers of any rank
  double threshold = 0;
};
// Y, of the type of x: 1 where x > threshold (in the type of x), else 0.
Expected<std::vector<ValueId>> binarizer(Graph& graph, const BinarizerArguments& arguments);

struct ArrayFeatureExtractorArguments {
  std::string name;
  ValueId x = kNoValue;        // [.., C] of any type
  ValueId indices = kNoValue;  // int64, as many numbers as are taken
};
// The elements of the last axis at the indices; [1, count] of an x of rank 1. Movement only.
Expected<std::vector<ValueId>> array_feature_extractor(Graph& graph, const ArrayFeatureExtractorArguments& arguments);

struct LabelEncoderArguments {
  std::string name;
  ValueId x = kNoValue;       // numbers of any rank
  Tensor keys = {};           // of the type of x
  Tensor values = {};         // as many, of any one type of numbers
  Tensor default_value = {};  // one of them
};
// Y[i] = values[k] with k the first of the keys that x[i] equals, or the default. A NaN equals a NaN.
Expected<std::vector<ValueId>> label_encoder(Graph& graph, const LabelEncoderArguments& arguments);

struct ImputerArguments {
  std::string name;
  ValueId x = kNoValue;  // float32, float64 or int64, of rank 1 or more
  // One for each of the last axis, or one for all. Of an x of floats; the other ones of integers.
  std::vector<double> imputed_values = {};
  double replaced_value = 0;  // NaN: what is no number
  std::vector<int64_t> imputed_integers = {};
  int64_t replaced_integer = 0;
};
// Y, of the type of x: the imputed value where x is the replaced one.
Expected<std::vector<ValueId>> imputer(Graph& graph, const ImputerArguments& arguments);

struct OneHotEncoderArguments {
  std::string name;
  ValueId x = kNoValue;                  // numbers of any rank
  std::vector<int64_t> categories = {};  // text is not supported
};
// [.., categories] float32: 1 where x is the category, else 0. An x of no category has zeros (the attribute zeros is
// 1).
Expected<std::vector<ValueId>> one_hot_encoder(Graph& graph, const OneHotEncoderArguments& arguments);

struct FeatureVectorizerArguments {
  std::string name;
  std::vector<ValueId> inputs = {};  // numbers, [N, Ci] each, or [N] which is one column
};
// [N, C1 + C2 + ...] float32.
Expected<std::vector<ValueId>> feature_vectorizer(Graph& graph, const FeatureVectorizerArguments& arguments);

}  // namespace isobit::graph::expansions
