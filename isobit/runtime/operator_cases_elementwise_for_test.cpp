#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using Cases = std::vector<OperatorCase>;

void add_arithmetic(Cases& cases) {
  const CaseOperand small = numbers({2, 3}, {7, -3, 0, 120, -128, 5}, DType::kInt8),
                    row = numbers({3}, {3, -2, 100}, DType::kInt8);
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    cases.push_back({op, {real({2, 3}), positive({3})}});
    cases.push_back({op, {real({2, 1}), positive({2, 3})}});
    cases.push_back({op, {small, row}});
  }
  cases.push_back({"Mod", {real({4, 3}), positive({3})}, {{"fmod", int64_t{1}}}});
  for (int64_t fmod : {0, 1}) cases.push_back({"Mod", {small, row}, {{"fmod", fmod}}});
  cases.push_back({"Pow", {positive({2, 3}), real({3})}});
  cases.push_back({"Pow", {positive({4}), numbers({4}, {2, -1, 3, 0}, DType::kInt64)}});
  // The first two operands fill the output, or one that comes later does.
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) {
    cases.push_back({op, {real({2, 3}), real({3})}});
    cases.push_back({op, {real({2, 1}), real({3}), real({})}});
    cases.push_back({op, {real({3}), real({1}), real({2, 3})}});
  }
  cases.push_back({"Clip", {real({4, 9}), real({}), positive({})}});
  cases.push_back({"Clip", {real({4, 9}), real({})}});
}

void add_functions(Cases& cases) {
  for (const char* op : {"Sqrt", "Log", "Reciprocal", "Acosh"}) cases.push_back({op, {positive({4, 9})}});
  for (const char* op : {"Neg",   "Abs",  "Sign",  "Exp",       "Erf",  "Relu",     "Sigmoid", "Tanh",  "Sin",
                         "Cos",   "Tan",  "Asin",  "Acos",      "Atan", "Sinh",     "Cosh",    "Asinh", "Atanh",
                         "Floor", "Ceil", "Round", "HardSwish", "Mish", "Softplus", "Softsign"}) {
    cases.push_back({op, {real({4, 9})}});
  }
  for (const char* op : {"Neg", "Abs", "Sign", "Relu"}) {
    cases.push_back({op, {numbers({5}, {3, -7, 0, -32768, 32767}, DType::kInt16)}});
  }
}

void add_activations(Cases& cases) {
  for (const char* op : {"Elu", "Celu", "Swish", "ThresholdedRelu"}) {
    cases.push_back({op, {real({4, 9})}, {{"alpha", 0.75}}});
  }
  cases.push_back({"Selu", {real({4, 9})}, {{"alpha", 1.5}, {"gamma", 1.25}}});
  cases.push_back({"HardSigmoid", {real({4, 9})}, {{"alpha", 0.25}, {"beta", 0.5}}});
  cases.push_back({"Shrink", {real({4, 9})}, {{"lambd", 0.75}, {"bias", 0.25}}});
  cases.push_back({"Shrink", {numbers({4}, {1, 2, 9, 255}, DType::kUint8)}, {{"lambd", 1.5}, {"bias", 0.75}}});
  cases.push_back({"PRelu", {real({4, 3}), real({3})}});
  cases.push_back({"PRelu", {numbers({4}, {1, -2, -9, 4}, DType::kInt64), numbers({}, {3}, DType::kInt64)}});
}

void add_logic(Cases& cases) {
  const CaseOperand a = numbers({2, 3}, {1, 2, 3, 1, 5, 3}, DType::kInt32), b = numbers({3}, {1, 2, 4}, DType::kInt32);
  for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    cases.push_back({op, {real({4, 3}), real({3})}});
    cases.push_back({op, {a, b}});
  }
  cases.push_back({"Equal", {a, b}});
  cases.push_back({"Equal", {boolean({2, 3}), boolean({3})}});
  for (const char* op : {"And", "Or", "Xor"}) cases.push_back({op, {boolean({2, 3}), boolean({3})}});
  cases.push_back({"Not", {boolean({5})}});
  const CaseOperand bits = numbers({2, 3}, {0x5a, 0x0f, 0, 255, 1, 128}, DType::kUint8),
                    mask = numbers({3}, {0x3c, 1, 0xf0}, DType::kUint8);
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) cases.push_back({op, {bits, mask}});
  cases.push_back({"BitwiseNot", {bits}});
  for (const char* direction : {"LEFT", "RIGHT"}) {
    cases.push_back(
        {"BitShift", {bits, numbers({3}, {1, 3, 9}, DType::kUint8)}, {{"direction", std::string(direction)}}});
  }
  cases.push_back({"IsNaN", {special({4, 9})}});
  cases.push_back({"IsInf", {special({4, 9})}});
  cases.push_back({"IsInf", {special({4, 9})}, {{"detect_negative", int64_t{0}}, {"detect_positive", int64_t{1}}}});
  cases.push_back({"Where", {boolean({2, 3}), real({2, 3}), real({3})}});
  cases.push_back({"Where", {boolean({3, 1}), real({3, 4}), real({})}});
}

void add_quantization(Cases& cases) {
  const CaseOperand codes = numbers({3, 4}, {0, 5, -7, 127, -128, 1, 2, 3, 90, -60, 33, 4}, DType::kInt8);
  const Attributes blocks = {{"axis", int64_t{0}}, {"block_size", int64_t{2}}};
  cases.push_back({"QuantizeLinear", {real({3, 4}), positive({})}});
  cases.push_back({"QuantizeLinear", {real({3, 4}), positive({4}), numbers({4}, {0, 3, -5, 99}, DType::kInt8)}});
  cases.push_back({"QuantizeLinear",
                   {real({3, 2}), positive({2, 2}), numbers({2, 2}, {0, 300, 65535, 7}, DType::kUint16)},
                   blocks});
  cases.push_back({"DequantizeLinear", {codes, positive({})}});
  cases.push_back(
      {"DequantizeLinear", {codes, positive({3}), numbers({3}, {0, 3, -5}, DType::kInt8)}, {{"axis", int64_t{-2}}}});
  cases.push_back({"DequantizeLinear", {codes, positive({2, 4})}, blocks});
  cases.push_back({"DynamicQuantizeLinear", {real({3, 4})}});
}

}  // namespace

void add_elementwise_cases(Cases& cases) {
  add_arithmetic(cases);
  add_functions(cases);
  add_activations(cases);
  add_logic(cases);
  add_quantization(cases);
}

}  // namespace isobit::runtime
