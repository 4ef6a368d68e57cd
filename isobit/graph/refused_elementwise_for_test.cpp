// Arithmetic, functions, activations, logic and quantization: what shape inference takes and what it refuses.
#include <cmath>

#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

Type of(DType dtype, Ints dims) { return {dtype, std::move(dims)}; }
Type boolean_of(Ints dims) { return of(DType::kBool, std::move(dims)); }
Type u8(Ints dims) { return of(DType::kUint8, std::move(dims)); }
Type i8(Ints dims) { return of(DType::kInt8, std::move(dims)); }
Type half(Ints dims) { return of(DType::kFloat16, std::move(dims)); }

constexpr const char* kFunctions[] = {"Sqrt",      "Exp",   "Log",      "Erf",     "Reciprocal", "Sigmoid", "Tanh",
                                      "Sin",       "Cos",   "Tan",      "Asin",    "Acos",       "Atan",    "Sinh",
                                      "Cosh",      "Asinh", "Acosh",    "Atanh",   "Floor",      "Ceil",    "Round",
                                      "HardSwish", "Mish",  "Softplus", "Softsign"};
constexpr const char* kWithAlpha[] = {"Elu", "Celu", "Swish", "ThresholdedRelu"};

Attributes number(const char* name, double value) { return {{name, value}}; }
Attributes whole(const char* name, int64_t value) { return {{name, value}}; }
Attributes number_of(const char* name, DType dtype) { return whole(name, static_cast<int64_t>(dtype)); }

}  // namespace

void add_accepted_elementwise(std::vector<Accepted>& all) {
  const Type x = f32({2, 3}), row = f32({3});
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min"}) {
    for (const DType dtype : {DType::kInt8, DType::kUint64, DType::kFloat64}) {
      all.push_back({op, {of(dtype, {2, 1}), of(dtype, {3})}, {of(dtype, {2, 3})}});
    }
  }
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) {
    all.push_back({op, {row, f32({2, 1}), f32({}), row}, {x}});
    all.push_back({op, {row}, {row}});
  }
  all.push_back({"Mod", {i8({2, 1}), i8({3})}, {i8({2, 3})}, whole("fmod", 0)});
  all.push_back({"Mod", {x, row}, {x}, whole("fmod", 1)});
  all.push_back({"Pow", {x, row}, {x}});
  all.push_back({"Pow", {f32({2, 1}), u8({3})}, {x}});
  all.push_back({"Pow", {i32({3}), f64({})}, {i32({3})}});
  all.push_back({"Clip", {i8({2, 3}), i8({}), i8({})}, {i8({2, 3})}});
  all.push_back({"Clip", {x}, {x}});
  for (const char* op : kFunctions) {
    all.push_back({op, {x}, {x}});
    all.push_back({op, {f64({2, 3})}, {f64({2, 3})}});
  }
  for (const char* op : {"Neg", "Abs", "Relu", "Sign"}) {
    all.push_back({op, {f64({2, 3})}, {f64({2, 3})}});
    all.push_back({op, {i8({2, 3})}, {i8({2, 3})}});
  }
  for (const char* op : kWithAlpha) all.push_back({op, {x}, {x}, number("alpha", 0.25)});
  all.push_back({"Selu", {x}, {x}, {{"alpha", 1.5}, {"gamma", 1.0}}});
  all.push_back({"HardSigmoid", {x}, {x}, {{"alpha", 0.25}, {"beta", 0.5}}});
  all.push_back({"Shrink", {x}, {x}, {{"lambd", 0.25}, {"bias", 0.5}}});
  all.push_back({"Shrink", {u8({2})}, {u8({2})}});
  all.push_back({"PRelu", {x, row}, {x}});
  all.push_back({"PRelu", {f32({2, 3, 4}), f32({3, 1})}, {f32({2, 3, 4})}});
  all.push_back({"PRelu", {i64({2, 3}), i64({})}, {i64({2, 3})}});

  for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    all.push_back({op, {f32({2, 1}), row}, {boolean_of({2, 3})}});
    all.push_back({op, {u8({2, 1}), u8({3})}, {boolean_of({2, 3})}});
  }
  all.push_back({"Equal", {boolean_of({2}), boolean_of({})}, {boolean_of({2})}});
  for (const char* op : {"And", "Or", "Xor"}) {
    all.push_back({op, {boolean_of({2, 1}), boolean_of({3})}, {boolean_of({2, 3})}});
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    all.push_back({op, {i8({2, 1}), i8({3})}, {i8({2, 3})}});
  }
  all.push_back({"Not", {boolean_of({2, 3})}, {boolean_of({2, 3})}});
  all.push_back({"BitwiseNot", {i64({2, 3})}, {i64({2, 3})}});
  all.push_back({"BitShift", {u8({2, 1}), u8({3})}, {u8({2, 3})}, {{"direction", std::string("LEFT")}}});
  all.push_back({"IsNaN", {x}, {boolean_of({2, 3})}});
  all.push_back({"IsInf", {x}, {boolean_of({2, 3})}, whole("detect_negative", 0)});
  all.push_back({"Where", {boolean_of({2, 1}), row, f32({})}, {x}});
  all.push_back({"Where", {boolean_of({}), half({2}), half({2})}, {half({2})}});

  all.push_back({"QuantizeLinear", {x, f32({})}, {u8({2, 3})}});
  all.push_back({"QuantizeLinear", {x, f32({1}), i8({1})}, {i8({2, 3})}});
  all.push_back({"QuantizeLinear", {x, row, i8({3})}, {i8({2, 3})}, number_of("output_dtype", DType::kInt8)});
  all.push_back({"QuantizeLinear", {x, row}, {of(DType::kInt16, {2, 3})}, number_of("output_dtype", DType::kInt16)});
  all.push_back({"QuantizeLinear",
                 {f32({5, 3}), f32({3, 3})},
                 {u8({5, 3})},
                 {{"axis", int64_t{0}}, {"block_size", int64_t{2}}, {"saturate", int64_t{1}}}});
  all.push_back({"QuantizeLinear", {i32({2, 3}), f64({})}, {u8({2, 3})}, number_of("precision", DType::kFloat64)});
  all.push_back({"DequantizeLinear", {i8({2, 3}), f64({3}), i8({3})}, {f64({2, 3})}, whole("axis", -1)});
  all.push_back({"DequantizeLinear", {i32({2, 3}), f32({})}, {x}, number_of("output_dtype", DType::kFloat32)});
  all.push_back({"DequantizeLinear", {u8({5, 3}), f32({5, 2})}, {f32({5, 3})}, whole("block_size", 2)});
  all.push_back({"DynamicQuantizeLinear", {x}, {u8({2, 3}), f32({}), u8({})}});
}

namespace {

void refused_numbers(std::vector<Refused>& all) {
  const Type x = f32({2, 3}), row = f32({3});
  for (const char* op : kFunctions) {
    all.push_back({op, {i64({3})}, "is int64, expected one of float32, float64"});
    all.push_back({op, {half({3})}, "is float16, expected one of float32, float64"});
  }
  for (const char* op : {"Neg", "Relu"}) {
    all.push_back({op, {u8({3})}, "is uint8, expected one of float32, float64, int8, int16, int32, int64"});
  }
  for (const char* op : {"Abs", "Sign"}) all.push_back({op, {boolean_of({3})}, "is bool, expected one of"});
  for (const char* op : {"Max", "Min", "Sum", "Mean"}) {
    all.push_back({op, {boolean_of({3})}, "is bool, expected one of"});
    all.push_back({op, {x, row, f64({3})}, "input 2 ('x.2') has type float64, expected float32"});
    all.push_back({op, {x, row, f32({2})}, "do not broadcast"});
  }
  all.push_back({"Sum", {i64({3})}, "expected one of float32, float64"});
  all.push_back({"Mod", {x, row}, "is float32, expected one of int8"});
  all.push_back({"Mod", {boolean_of({3}), boolean_of({3})}, "is bool, expected one of", whole("fmod", 1)});
  all.push_back({"Mod", {x, row}, "attribute 'fmod' is 2, expected 0 or 1", whole("fmod", 2)});
  all.push_back({"Mod", {i64({3}), i32({3})}, "has type int32, expected int64"});
  all.push_back({"Mod", {i64({3}), i64({2})}, "do not broadcast"});
  all.push_back({"Pow", {u8({3}), u8({3})}, "is uint8, expected one of float32, float64, int32, int64"});
  all.push_back({"Pow", {x, boolean_of({3})}, "is bool, expected one of"});
  all.push_back({"Pow", {x, f32({2})}, "do not broadcast"});
  all.push_back({"Clip", {boolean_of({3})}, "is bool, expected one of"});
  all.push_back({"Clip", {x, row}, "input 1 ('x.1') has shape [3], expected rank 0"});
  all.push_back({"Clip", {x, f32({}), f64({})}, "input 2 ('x.2') has type float64, expected float32"});
}

void refused_activations(std::vector<Refused>& all) {
  const Type x = f32({2, 3}), row = f32({3});
  for (const char* op : kWithAlpha) {
    all.push_back({op, {i64({3})}, "is int64, expected one of float32, float64"});
    all.push_back({op, {x}, "attribute 'alpha' is not finite", number("alpha", NAN)});
  }
  all.push_back({"Celu", {x}, "attribute 'alpha' is 0", number("alpha", 0)});
  all.push_back({"Selu", {x}, "attribute 'gamma' is not finite", number("gamma", HUGE_VAL)});
  all.push_back({"HardSigmoid", {x}, "attribute 'beta' is not finite", number("beta", -HUGE_VAL)});
  all.push_back({"Shrink", {x}, "attribute 'lambd' is not finite", number("lambd", NAN)});
  all.push_back({"Shrink", {boolean_of({3})}, "is bool, expected one of"});
  all.push_back({"PRelu", {u8({3}), u8({3})}, "is uint8, expected one of"});
  all.push_back({"PRelu", {x, f64({3})}, "has type float64, expected float32"});
  all.push_back({"PRelu", {x, f32({4})}, "do not broadcast"});
  all.push_back({"PRelu", {row, x}, "the slope is larger than the source: input 0 ('x') has shape [3]"});
  all.push_back({"PRelu", {f32({2, 1}), row}, "expected [2, 3]"});
}

void refused_logic(std::vector<Refused>& all) {
  const Type x = f32({2, 3}), row = f32({3});
  for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    all.push_back({op, {half({3}), half({3})}, "is float16, expected one of"});
    all.push_back({op, {x, f64({3})}, "has type float64, expected float32"});
    all.push_back({op, {x, f32({2})}, "do not broadcast"});
  }
  all.push_back({"Less", {boolean_of({3}), boolean_of({3})}, "is bool, expected one of"});
  for (const char* op : {"And", "Or", "Xor"}) {
    all.push_back({op, {u8({3}), u8({3})}, "is uint8, expected bool"});
    all.push_back({op, {boolean_of({3}), u8({3})}, "has type uint8, expected bool"});
  }
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    all.push_back({op, {row, row}, "is float32, expected one of int8"});
    all.push_back({op, {boolean_of({3}), boolean_of({3})}, "is bool, expected one of int8"});
  }
  all.push_back({"Not", {u8({3})}, "is uint8, expected bool"});
  all.push_back({"BitwiseNot", {row}, "is float32, expected one of int8"});
  const Attributes left = {{"direction", std::string("LEFT")}};
  all.push_back({"BitShift", {u8({3}), u8({3})}, "attribute 'direction' is '', expected LEFT or RIGHT"});
  all.push_back({"BitShift", {i8({3}), i8({3})}, "is int8, expected one of uint8", left});
  all.push_back({"BitShift", {u8({3}), u8({2})}, "do not broadcast", left});
  for (const char* op : {"IsNaN", "IsInf"}) all.push_back({op, {i64({3})}, "expected float32 or float64"});
  all.push_back({"Where", {u8({3}), row, row}, "input 0 ('x') has type uint8, expected bool"});
  all.push_back({"Where", {boolean_of({3}), row, f64({3})}, "has type float64, expected float32"});
  all.push_back({"Where", {boolean_of({3}), row, f32({2})}, "do not broadcast"});
  all.push_back({"Where", {boolean_of({2}), row, row}, "do not broadcast"});
}

void refused_quantization(std::vector<Refused>& all) {
  const Type x = f32({2, 3}), one = f32({}), row = f32({3});
  const Attributes blocks = whole("block_size", 2);
  for (const auto& [op, src] :
       std::vector<std::pair<const char*, Type>>{{"QuantizeLinear", x}, {"DequantizeLinear", i8({2, 3})}}) {
    all.push_back({op, {src, i32({})}, "input 1 ('x.1') is int32, expected one of float32, float64"});
    all.push_back({op, {src, f32({2})}, "input 1 ('x.1') has shape [2], expected [3]"});
    all.push_back({op, {src, row, i8({})}, "input 2 ('x.2') has shape [], expected [3]"});
    all.push_back({op, {src, f32({2, 3})}, "expected [3]"});
    all.push_back({op, {src, row}, "axis 2 is outside a tensor of rank 2", whole("axis", 2)});
    all.push_back({op, {src, one}, "attribute 'block_size' is -1, expected 0 or more", whole("block_size", -1)});
    all.push_back({op, {src, one}, "input 1 ('x.1') has shape [], expected [2, 2]", blocks});
    all.push_back({op, {src, f32({2, 3})}, "expected [2, 2]", blocks});
    all.push_back({op, {src, one}, "attribute 'output_dtype' names no type", whole("output_dtype", 99)});
  }
  all.push_back({"QuantizeLinear", {i64({3}), one}, "is int64, expected one of float32, float64, int32"});
  all.push_back({"QuantizeLinear", {x, f64({})}, "has type float64, expected float32"});
  all.push_back({"QuantizeLinear",
                 {x, one},
                 "attribute 'precision' is not the type of the scale",
                 number_of("precision", DType::kFloat16)});
  all.push_back({"QuantizeLinear", {x, one, i32({})}, "the output is int32, expected int8, uint8, int16 or uint16"});
  all.push_back({"QuantizeLinear",
                 {x, one, i8({})},
                 "attribute 'output_dtype' is not the type of the zero point",
                 number_of("output_dtype", DType::kUint8)});
  all.push_back({"DequantizeLinear", {i64({3}), one}, "is int64, expected one of int8, uint8"});
  all.push_back({"DequantizeLinear", {i8({3}), one, u8({})}, "has type uint8, expected int8"});
  all.push_back({"DequantizeLinear",
                 {i8({3}), one},
                 "attribute 'output_dtype' is not the type of the scale",
                 number_of("output_dtype", DType::kFloat64)});
  all.push_back({"DynamicQuantizeLinear", {i64({3})}, "expected float32 or float64"});
}

}  // namespace

void add_refused_elementwise(std::vector<Refused>& all) {
  refused_numbers(all);
  refused_activations(all);
  refused_logic(all);
  refused_quantization(all);
}

}  // namespace isobit::graph
