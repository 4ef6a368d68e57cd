// Operators of single elements, and whole numbers in place of real ones.
#include "isobit/onnx/exporter_internal.h"

namespace isobit::onnx {
namespace {

Status cast(Writing& w) {
  w.add_last("Cast", w.names_in(), {attribute("to", element_of_dtype(w.out(0).dtype))});
  return {};
}

// Integers of 16 bits came late.
Status quantize(Writing& w) {
  for (const DType dtype : {w.in(0).dtype, w.out(0).dtype}) {
    if (dtype == DType::kInt16 || dtype == DType::kUint16) w.needs(21);
  }
  return as_it_is(w);
}

void add_quantized(WriterTable& table) {
  const std::vector<DType> f64 = {DType::kFloat64};
  table.own("QuantizeLinear", quantize)
      .not_of(0, f64)
      .not_of(1, f64)
      .from(21, "block_size")
      .from(21, "output_dtype")
      .from(23, "precision");
  table.own("DequantizeLinear", quantize).not_of(1, f64).from(21, "block_size").from(23, "output_dtype");
  table.same("DynamicQuantizeLinear").not_of(0, f64);
  for (const char* op : {"QLinearConv", "QLinearMatMul"}) table.same(op).not_of(1, f64);
  for (const char* op : {"MatMulInteger", "ConvInteger"}) table.same(op);
}

}  // namespace

void add_elementwise_writers(WriterTable& table) {
  for (const char* op : {"Abs",
                         "Acos",
                         "Acosh",
                         "Asin",
                         "Asinh",
                         "Atan",
                         "Atanh",
                         "Ceil",
                         "Cos",
                         "Cosh",
                         "Elu",
                         "Erf",
                         "Exp",
                         "Floor",
                         "HardSigmoid",
                         "HardSwish",
                         "Log",
                         "Neg",
                         "Not",
                         "LeakyRelu",
                         "PRelu",
                         "Reciprocal",
                         "Relu",
                         "Round",
                         "Selu",
                         "Shrink",
                         "Sigmoid",
                         "Sign",
                         "Sin",
                         "Sinh",
                         "Softplus",
                         "Softsign",
                         "Sqrt",
                         "Tan",
                         "Tanh",
                         "ThresholdedRelu",
                         "Add",
                         "Sub",
                         "Mul",
                         "Div",
                         "Pow",
                         "Mod",
                         "Max",
                         "Min",
                         "Sum",
                         "Mean",
                         "And",
                         "Or",
                         "Xor",
                         "BitShift",
                         "Equal",
                         "Greater",
                         "GreaterOrEqual",
                         "Less",
                         "LessOrEqual",
                         "IsNaN",
                         "IsInf",
                         "Identity",
                         "Where",
                         "Clip"}) {
    table.same(op);
  }
  table.same("Celu").not_of(0, {DType::kFloat64});
  for (const char* op : {"Mish", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"}) table.same(op).from(18);
  table.same("Gelu").from(20);
  table.same("Swish").from(24);
  table.own("Cast", cast);
  add_quantized(table);
}

}  // namespace isobit::onnx
