#include "isobit/graph/expansions/expansion_for_test.h"

#include <algorithm>

#include "isobit/graph/op.h"

namespace isobit::graph::expansions {
namespace {

using Names = std::vector<std::string>;

Names both(Names a, const Names& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Names kRecurrent = {"Add",
                          "Cast",
                          "Clip",
                          "Concat",
                          "Elu",
                          "Expand",
                          "Gemm",
                          "HardSigmoid",
                          "LeakyRelu",
                          "Less",
                          "MatMul",
                          "Mul",
                          "Relu",
                          "Reshape",
                          "Shape",
                          "Sigmoid",
                          "Softplus",
                          "Softsign",
                          "Split",
                          "Squeeze",
                          "Sub",
                          "Tanh",
                          "ThresholdedRelu",
                          "Transpose",
                          "Unsqueeze",
                          "Where"};
const Names kLoss = {"Cast", "Div",        "Equal",     "Gather",  "GatherElements", "Mul",
                     "Neg",  "ReduceMean", "ReduceSum", "Squeeze", "Unsqueeze",      "Where"};
const Names kWindow = {"Add", "Cast", "Cos", "Div", "Identity", "Mul", "Range", "Squeeze", "Sub"};
const Names kScores = {"Abs",       "Cast",      "Div",     "Exp",     "Less", "Mul",       "Neg",
                       "ReduceMax", "ReduceSum", "Sigmoid", "Softmax", "Sub",  "Unsqueeze", "Where"};
const Names kLabels = {"ArgMax", "Concat", "Gather", "Less", "Squeeze", "Where"};
const char* const kMl = "ai.onnx.ml";

std::vector<Expansion> made() {
  return {
      {"ArrayFeatureExtractor", kMl, {"Gather", "Reshape", "Unsqueeze"}},
      {"Attention", "", {"Add",     "Cast", "Concat", "Div",       "Equal",     "Less",  "MatMul",
                         "Mul",     "Pad",  "Range",  "ReduceMax", "Reshape",   "Shape", "Softmax",
                         "Squeeze", "Sub",  "Tanh",   "Transpose", "Unsqueeze", "Where", "isobit.CausalSoftmax"}},
      {"Binarizer", kMl, {"Cast", "Less"}},
      {"BlackmanWindow", "", kWindow},
      {"DFT", "", {"MatMul", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"}},
      {"Einsum",
       "",
       {"Identity", "MatMul", "Mul", "ReduceSum", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"}},
      {"FeatureVectorizer", kMl, {"Cast", "Concat", "Identity", "Unsqueeze"}},
      {"GRU", "", kRecurrent},
      {"HammingWindow", "", kWindow},
      {"HannWindow", "", kWindow},
      {"Imputer", kMl, {"Equal", "IsNaN", "Where"}},
      {"LSTM", "", kRecurrent},
      {"LabelEncoder",
       kMl,
       {"And", "ArgMax", "Cast", "Equal", "Gather", "IsNaN", "Or", "ReduceMax", "Unsqueeze", "Where"}},
      {"LinearClassifier", kMl, both(both(kScores, kLabels), {"Gemm"})},
      {"LinearRegressor", kMl, both(kScores, {"Gemm"})},
      {"MelWeightMatrix", "", {"Identity"}},
      {"NegativeLogLikelihoodLoss", "", kLoss},
      {"Normalizer",
       kMl,
       {"Abs", "Cast", "Div", "Equal", "Mul", "ReduceMax", "ReduceSum", "Sqrt", "Unsqueeze", "Where"}},
      {"OneHotEncoder", kMl, {"Cast", "Equal", "Unsqueeze"}},
      {"RNN", "", kRecurrent},
      {"RotaryEmbedding", "", {"Add", "Concat", "Gather", "Mul", "Reshape", "Slice", "Split", "Sub", "Unsqueeze"}},
      {"STFT", "", {"Conv", "Mul", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}},
      {"Scaler", kMl, {"Cast", "Mul", "Sub"}},
      {"SoftmaxCrossEntropyLoss", "", both(kLoss, {"LogSoftmax", "Reshape", "Transpose", "isobit.CrossEntropy"})},
      {"TreeEnsemble", kMl, both(kScores, {"isobit.TreeEnsemble"})},
      {"TreeEnsembleClassifier", kMl, both(both(kScores, kLabels), {"Add", "isobit.TreeEnsemble"})},
      {"TreeEnsembleRegressor", kMl, both(kScores, {"Add", "isobit.TreeEnsemble"})},
  };
}

}  // namespace

const std::vector<Expansion>& listed_expansions() {
  static const std::vector<Expansion> kAll = made();
  return kAll;
}

const Expansion* find_expansion(const std::string& op) {
  const auto& all = listed_expansions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Expansion& e) { return e.op == op; });
  return found == all.end() ? nullptr : &*found;
}

Promise promise_of(const Expansion& expansion) {
  bool moves = true, has_products = false;
  for (const std::string& name : expansion.primitives) {
    const OpDef* def = find_op(name);
    if (def == nullptr || !(def->platform_independent || def->is_inner_product())) return Promise::kNone;
    moves = moves && def->only_moves_values();
    has_products = has_products || def->is_inner_product();
  }
  return has_products ? Promise::kArithmetics : moves ? Promise::kExact : Promise::kOrdered;
}

}  // namespace isobit::graph::expansions
