// Linear models and what stands before them (ai.onnx.ml), as products and formulas of elements.
//
// X is [N, C], or [C] which is one row; float64 is computed in float64, every other number in float32, and outputs are
// float32 as ONNX says, but where something else is said.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

struct LinearRegressorArguments {
  std::string name;
  ValueId x = kNoValue;
  std::vector<double> coefficients;  // [targets, C]
  std::vector<double> intercepts;    // [targets], or none
  int64_t targets = 1;
  std::string post_transform = "NONE";
};
// Y [N, targets] = post_transform(x coefficients^T + intercepts)
Expected<std::vector<ValueId>> linear_regressor(Graph& graph, const LinearRegressorArguments& arguments);

struct LinearClassifierArguments {
  std::string name;
  ValueId x = kNoValue;
  std::vector<double> coefficients;   // [E, C]
  std::vector<double> intercepts;     // [E], or none: E is the number of labels then
  std::vector<int64_t> class_labels;  // text is not supported
  std::string post_transform = "NONE";
};
// label [N], scores [N, E]. s = x coefficients^T + intercepts; the label is that of the largest s, the scores are
// post_transform(s). One s for two labels: the second label where s > 0, and the scores (1 - p, p) with p = s for
// "NONE", or the logistic function of s for "LOGISTIC".
Expected<std::vector<ValueId>> linear_classifier(Graph& graph, const LinearClassifierArguments& arguments);

struct ScalerArguments {
  std::string name;
  ValueId x = kNoValue;               // of any rank from 1
  std::vector<double> offset, scale;  // one for each of the last axis, or one for all
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
  ValueId x = kNoValue;  // numbers of any rank
  Tensor keys;           // of the type of x
  Tensor values;         // as many, of any one type of numbers
  Tensor default_value;  // one of them
};
// Y[i] = values[k] with k the first of the keys that x[i] equals, or the default. A NaN equals a NaN.
Expected<std::vector<ValueId>> label_encoder(Graph& graph, const LabelEncoderArguments& arguments);

}  // namespace isobit::graph::expansions
