// What the operators of ai.onnx.ml share: features as they are computed with, what becomes of scores, labels of scores.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/expansions/build.h"

namespace isobit::graph::expansions {

// Of scores [N, E]: "NONE"; "LOGISTIC" of each; "SOFTMAX" over a row; "SOFTMAX_ZERO" the same with scores within 1e-7
// of 0 left out of exp: x e^-m in place of e^(x - m), m the largest of the row. "PROBIT" and what is not known fail the
// builder.
ValueId post_transformed(Builder& b, ValueId scores, const std::string& transform);

// Of scores [N, E] and E labels: [N], the label of the largest score, the first one among equals.
ValueId label_of_largest(Builder& b, ValueId scores, const std::vector<int64_t>& labels);

// Of scores [N, 1]: [N], the second label where the score is above `threshold`, else the first.
ValueId label_above(Builder& b, ValueId scores, double threshold, const std::vector<int64_t>& labels);

// An operand of ai.onnx.ml as it is computed with: float64 stays, other numbers become float32; a row alone is [1, C].
// Anything else fails the builder.
ValueId feature_rows(Builder& b, ValueId x);

inline ValueId as_float32(Builder& b, ValueId v, const std::string& what) { return b.cast(v, DType::kFloat32, what); }

}  // namespace isobit::graph::expansions
