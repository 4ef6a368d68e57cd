// Linear models of ai.onnx.ml, as products and formulas of elements.
//
// X is [N, C], or [C] which is one row; float64 is computed in float64, every other number in float32, and real outputs
// are float32 as ONNX says.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph::expansions {

struct LinearRegressorArguments {
  std::string name;
  ValueId x = kNoValue;
  std::vector<double> coefficients = {};  // [targets, C]
  std::vector<double> intercepts = {};    // [targets], or none
  int64_t targets = 1;
  std::string post_transform = "NONE";
};
// Y [N, targets] = post_transform(x coefficients^T + intercepts)
Expected<std::vector<ValueId>> linear_regressor(Graph& graph, const LinearRegressorArguments& arguments);

struct LinearClassifierArguments {
  std::string name;
  ValueId x = kNoValue;
  std::vector<double> coefficients = {};   // [E, C]
  std::vector<double> intercepts = {};     // [E], or none: E is the number of labels then
  std::vector<int64_t> class_labels = {};  // text is not supported
  std::string post_transform = "NONE";
};
// label [N], scores [N, E]. s = x coefficients^T + intercepts; the label is that of the largest s, the scores are
// post_transform(s). One s for two labels: the second label where s > 0, and the scores (1 - p, p) with p = s for
// "NONE", or the logistic function of s for "LOGISTIC".
Expected<std::vector<ValueId>> linear_classifier(Graph& graph, const LinearClassifierArguments& arguments);

}  // namespace isobit::graph::expansions
