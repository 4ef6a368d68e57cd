#include "tests/golden/long_cases.h"

namespace isobit::golden {
namespace {

using graph::Attributes;
using runtime::CaseOperand;
using runtime::given;
using runtime::index;
using runtime::positive;
using runtime::real;
using runtime::wide;
using Ints = std::vector<int64_t>;
using Cases = std::vector<runtime::OperatorCase>;

Attributes with(Attributes attributes, const char* name, graph::Attribute value) {
  attributes.set(name, std::move(value));
  return attributes;
}

// A term more than a chunk; more than a block of 16 chunks.
void add_products(Cases& cases) {
  for (const int64_t k : {257, 4500}) {
    cases.push_back({"MatMul", {real({3, k}), real({k, 5})}});
    cases.push_back({"MatMul", {real({k, 3}), real({5, k})}, {{"transA", int64_t{1}}, {"transB", int64_t{1}}}});
    cases.push_back({"Gemm", {real({3, k}), real({5, k}), real({5})}, {{"transB", int64_t{1}}}});
  }
  // Whole tiles and what is left of them.
  cases.push_back({"MatMul", {real({61, 600}), real({600, 101})}});
  cases.push_back({"MatMul", {real({1, 600}), real({600, 101})}});
  cases.push_back({"MatMul", {real({61, 600}), real({600, 1})}});
}

// Input channels in blocks of 16: a last one that is short, several chunks, several blocks of chunks.
void add_convolutions(Cases& cases) {
  const Attributes same = {{"pads", Ints{1, 1, 1, 1}}};
  cases.push_back({"Conv", {real({2, 40, 9, 8}), real({6, 40, 3, 3}), real({6})}, same});
  cases.push_back({"Conv", {real({1, 530, 4, 3}), real({2, 530, 3, 3})}, same});
  cases.push_back({"Conv", {real({2, 40, 9, 8}), real({6, 20, 3, 3})}, with(same, "group", int64_t{2})});
  cases.push_back({"Conv", {real({1, 40, 9, 8}), real({6, 40, 3, 3})}, {{"strides", Ints{2, 2}}}});
  cases.push_back({"Conv", {real({1, 40, 9, 8}), real({2, 40, 3, 3})}, {{"dilations", Ints{2, 2}}}});
  cases.push_back({"Conv", {real({1, 300, 3, 3}), real({4, 300, 1, 1}), real({4})}});
  cases.push_back({"Conv", {real({1, 4500, 1, 2}), real({3, 4500, 1, 1})}});
  cases.push_back({"Conv", {real({2, 40, 7, 6}), real({3, 40, 5, 5})}, {{"pads", Ints{2, 2, 2, 2}}}});
  cases.push_back({"Conv", {real({2, 3, 15, 14}), real({4, 3, 7, 7})}, {{"strides", Ints{2, 2}}}});
  cases.push_back({"Conv", {real({2, 1, 20, 20}), real({3, 1, 17, 17})}});
  cases.push_back({"Conv", {real({2, 100, 9}), real({3, 100, 5})}});
  cases.push_back({"ConvTranspose", {real({1, 40, 4, 3}), real({40, 2, 3, 3})}, {{"strides", Ints{2, 2}}}});
  cases.push_back({"ConvTranspose", {real({1, 530, 2, 2}), real({530, 2, 3, 3})}});
}

void add_gradients_of_convolutions(Cases& cases) {
  const Attributes same = {{"pads", Ints{1, 1, 1, 1}}};
  const auto src = [](const Attributes& a, Ints shape) { return with(a, "src_shape", std::move(shape)); };
  const auto weights = [](const Attributes& a, Ints shape) { return with(a, "weights_shape", std::move(shape)); };
  cases.push_back({"isobit.ConvGradSrc", {real({2, 40, 5, 4}), real({40, 3, 3, 3})}, src(same, {2, 3, 5, 4})});
  cases.push_back({"isobit.ConvGradSrc", {real({1, 530, 3, 3}), real({530, 2, 3, 3})}, src(same, {1, 2, 3, 3})});
  cases.push_back(
      {"isobit.ConvGradSrc", {real({1, 40, 4, 4}), real({40, 3, 3, 3})}, src({{"strides", Ints{2, 2}}}, {1, 3, 9, 9})});
  cases.push_back({"isobit.ConvGradSrc", {real({1, 300, 3, 3}), real({300, 4, 1, 1})}, src({}, {1, 4, 3, 3})});
  // Whole images to a chunk: 16 of 4 by 4, 256 of one pixel, 2 of 11 by 11.
  cases.push_back(
      {"isobit.ConvGradWeights", {real({300, 2, 4, 4}), real({300, 3, 4, 4})}, weights(same, {3, 2, 3, 3})});
  cases.push_back({"isobit.ConvGradWeights", {real({600, 2, 1, 1}), real({600, 3, 1, 1})}, weights({}, {3, 2, 1, 1})});
  cases.push_back(
      {"isobit.ConvGradWeights", {real({5, 2, 11, 11}), real({5, 2, 11, 11})}, weights(same, {2, 2, 3, 3})});
  // Whole rows to a chunk, within an image: 12 of 20, one of 300.
  cases.push_back(
      {"isobit.ConvGradWeights", {real({10, 2, 20, 20}), real({10, 3, 20, 20})}, weights(same, {3, 2, 3, 3})});
  cases.push_back(
      {"isobit.ConvGradWeights", {real({2, 1, 20, 300}), real({2, 2, 20, 300})}, weights(same, {2, 1, 3, 3})});
  cases.push_back(
      {"isobit.ConvGradWeights",
       {real({20, 4, 27, 27}), real({20, 6, 14, 14})},
       weights({{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}, {"group", int64_t{2}}}, {6, 2, 3, 3})});
}

void add_sums(Cases& cases) {
  const Attributes last = {{"axes", Ints{-1}}}, first = {{"axes", Ints{0}}};
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL2", "ReduceLogSumExp"}) {
    cases.push_back({op, {real({3, 700})}, last});
    cases.push_back({op, {real({700, 3})}, first});
  }
  cases.push_back({"ReduceProd", {real({3, 70})}, last});
  cases.push_back({"isobit.ReduceProdGrad", {real({2, 70}), real({2, 1})}, last});
  cases.push_back(
      {"isobit.ReduceMaxGrad", {runtime::twice({2, 700}), real({2, 1})}, with(last, "largest", int64_t{1})});
  cases.push_back({"isobit.SumTo", {real({300, 3, 4})}, {{"shape", Ints{3, 1}}}});
  cases.push_back({"isobit.GlobalNorm", {real({700}), real({20, 30}), real({4})}});
  cases.push_back({"CumSum", {real({3, 700})}, {{"axis", int64_t{1}}}});
  cases.push_back({"GlobalAveragePool", {real({1, 2, 30, 30})}});
  cases.push_back({"GlobalLpPool", {real({1, 2, 30, 30})}});
  cases.push_back({"AveragePool", {real({1, 2, 22, 22})}, {{"kernel_shape", Ints{20, 20}}}});
  cases.push_back({"LpPool", {real({1, 2, 22, 22})}, {{"kernel_shape", Ints{20, 20}}}});
  const Attributes wide = {{"kernel_shape", Ints{20, 20}}, {"src_shape", Ints{1, 1, 39, 39}}};
  cases.push_back({"isobit.AveragePoolGrad", {real({1, 1, 20, 20})}, wide});
  cases.push_back({"isobit.MaxPoolGrad", {real({1, 1, 20, 20}), given({1, 1, 20, 20}, Ints(400, 19 * 39 + 19))}, wide});
  cases.push_back(
      {"LRN", {real({1, 320, 2})}, {{"size", int64_t{300}}, {"alpha", 0.5}, {"beta", 0.75}, {"bias", 1.0}}});
  cases.push_back({"isobit.EmbeddingGrad", {index({800}, 2), real({800, 2})}, {{"table_shape", Ints{2, 2}}}});
  cases.push_back(
      {"isobit.GatherGrad", {index({800}, 2), real({800, 2})}, {{"axis", int64_t{0}}, {"src_shape", Ints{2, 2}}}});
  cases.push_back({"isobit.GatherElementsGrad", {index({800, 2}, 2), real({800, 2})}, {{"src_shape", Ints{2, 2}}}});
  cases.push_back({"isobit.GatherNDGrad", {index({800, 1}, 2), real({800, 2})}, {{"src_shape", Ints{2, 2}}}});
  cases.push_back(
      {"ScatterElements", {real({2, 2}), index({800, 2}, 2), real({800, 2})}, {{"reduction", std::string("add")}}});
  cases.push_back(
      {"ScatterND", {real({2, 2}), index({800, 1}, 2), real({800, 2})}, {{"reduction", std::string("add")}}});
  cases.push_back({"Col2Im", {real({1, 400, 400})}, {{"image_shape", Ints{39, 39}}, {"block_shape", Ints{20, 20}}}});
  cases.push_back({"Det", {real({2, 12, 12})}});
}

void add_norms(Cases& cases) {
  const CaseOperand image = real({20, 3, 40}), channels = real({3}), var = positive({3});
  cases.push_back({"isobit.BatchStatistics", {image}});
  cases.push_back({"isobit.BatchNormGrad", {image, channels, var, channels, image}});
  cases.push_back({"LayerNormalization", {real({3, 700}), real({700}), real({700})}});
  for (const Ints& shape : {Ints{3, 700}, Ints{700, 3}}) {
    const CaseOperand x = real(shape), rows = real({shape[0]}), scale = real({shape[1]});
    cases.push_back({"isobit.LayerNormGrad", {x, rows, positive({shape[0]}), scale, x}});
    cases.push_back({"isobit.RmsNormGrad", {x, scale, x}});
  }
  cases.push_back({"RMSNormalization", {real({3, 700}), real({700})}});
  for (const char* op : {"Softmax", "LogSoftmax"}) cases.push_back({op, {real({3, 700})}});
  for (const char* op : {"isobit.SoftmaxGrad", "isobit.LogSoftmaxGrad"}) {
    cases.push_back({op, {real({3, 700}), real({3, 700})}});
  }
  cases.push_back({"isobit.CausalSoftmax", {real({1, 300, 300})}});
  cases.push_back({"isobit.CausalSoftmaxGrad", {real({1, 300, 300}), real({1, 300, 300})}});
  const CaseOperand logits = real({300, 400}), labels = index({300}, 400), rows = real({300});
  cases.push_back({"isobit.CrossEntropy", {logits, labels}});
  cases.push_back({"isobit.CrossEntropyGrad", {logits, labels, rows, rows, real({})}});
}

// Formulas and elementary functions over all magnitudes: their polynomials and branches.
void add_functions(Cases& cases) {
  const CaseOperand x = wide({8, 512}), y = wide({8, 512});
  for (const char* op :
       {"Abs",      "Acos",      "Acosh",     "Asin",  "Asinh", "Atan",       "Atanh",   "Ceil",
        "Celu",     "Cos",       "Cosh",      "Elu",   "Erf",   "Exp",        "Floor",   "HardSigmoid",
        "Log",      "HardSwish", "IsInf",     "IsNaN", "Mish",  "Reciprocal", "Neg",     "Relu",
        "Round",    "Selu",      "LeakyRelu", "Sign",  "Sin",   "Sinh",       "Sigmoid", "Shrink",
        "Softplus", "Softsign",  "Sqrt",      "Swish", "Tan",   "Tanh",       "Clip",    "ThresholdedRelu"}) {
    cases.push_back({op, {x}});
  }
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "Equal", "Less", "LessOrEqual",
                         "Greater", "GreaterOrEqual", "PRelu", "isobit.LeakyReluGrad", "isobit.ReluGrad",
                         "isobit.SigmoidGrad", "isobit.TanhGrad"}) {
    cases.push_back({op, {x, y}});
  }
  for (const char* form : {"none", "tanh"}) {
    cases.push_back({"Gelu", {x}, {{"approximate", std::string(form)}}});
    cases.push_back({"isobit.GeluGrad", {x, y}, {{"approximate", std::string(form)}}});
  }
  cases.push_back({"Mod", {x, y}, {{"fmod", int64_t{1}}}});
  // Any power of any number; positive numbers to powers that leave them in range.
  cases.push_back({"Pow", {x, y}});
  cases.push_back({"Pow", {positive({1000}), real({1000})}});
  cases.push_back({"Pow", {x, runtime::numbers({8, 1}, {2, -1, 3, 0, 7, -2, 1, 12}, DType::kInt64)}});
  for (const DType to : {DType::kFloat64, DType::kFloat32}) {
    cases.push_back({"Cast", {x}, {{"to", static_cast<int64_t>(to)}}});
  }
  // Through the exponents of a row, and what is far below its largest.
  for (const char* op : {"Softmax", "LogSoftmax"}) cases.push_back({op, {real({300, 60})}});
  cases.push_back({"ReduceLogSumExp", {real({300, 60})}, {{"axes", Ints{-1}}}});
}

// Integers at the ends of their range and at zero: what wraps, what traps elsewhere, what no integer type holds.
void add_integers(Cases& cases) {
  const Ints small = {-128, -127, -2, -1, 0, 1, 2, 3, 126, 127}, bytes = {0, 1, 2, 7, 8, 9, 127, 128, 254, 255},
             large = {INT64_MIN, INT64_MIN + 1, -3, -1, 0, 1, 2, int64_t{1} << 53, (int64_t{1} << 53) + 1, INT64_MAX};
  const struct {
    DType dtype;
    const Ints& values;
  } kTypes[] = {{DType::kInt8, small}, {DType::kUint8, bytes}, {DType::kInt64, large}};
  for (const auto& [dtype, values] : kTypes) {
    const CaseOperand column = runtime::numbers({10, 1}, values, dtype), row = runtime::numbers({10}, values, dtype);
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Mod"}) cases.push_back({op, {column, row}});
    cases.push_back({"Mod", {column, row}, {{"fmod", int64_t{1}}}});
    for (const DType to : {DType::kFloat64, DType::kFloat32, DType::kInt64, DType::kInt32, DType::kUint8, DType::kBool,
                           DType::kInt8, DType::kUint16, DType::kFloat16, DType::kBfloat16}) {
      cases.push_back({"Cast", {row}, {{"to", static_cast<int64_t>(to)}}});
    }
  }
  for (const DType to : {DType::kInt64, DType::kInt32, DType::kUint8, DType::kBool, DType::kInt8, DType::kInt16,
                         DType::kUint16, DType::kUint32, DType::kUint64, DType::kFloat16, DType::kBfloat16}) {
    cases.push_back({"Cast", {wide({8, 512})}, {{"to", static_cast<int64_t>(to)}}});
  }
  const CaseOperand bits = runtime::numbers({10, 1}, bytes, DType::kUint8),
                    by = runtime::numbers({10}, bytes, DType::kUint8);
  for (const char* direction : {"LEFT", "RIGHT"}) {
    cases.push_back({"BitShift", {bits, by}, {{"direction", std::string(direction)}}});
  }
}

}  // namespace

std::vector<runtime::OperatorCase> long_cases() {
  Cases cases;
  add_products(cases);
  add_convolutions(cases);
  add_gradients_of_convolutions(cases);
  add_sums(cases);
  add_norms(cases);
  add_functions(cases);
  add_integers(cases);
  return cases;
}

}  // namespace isobit::golden
