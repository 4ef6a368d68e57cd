// Operators of single elements: arithmetic, functions, comparisons, logic, and Cast.
#include "isobit/base/text.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

// Up to opset 10 the bounds were attributes.
Expected<Operands> clip_by_attributes(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  Operands inputs = {c.in(0), nullptr, nullptr};
  const DType type = c.dtype(c.in(0));
  if (!NumberTypes::contains(type)) return c.error(text_of("input 0 is ", name_of(type), ", expected numbers"));
  for (const char* name : {"min", "max"}) {
    if (!c.has_attribute(name)) continue;
    ISOBIT_TRY(const double bound, c.real(name, 0));
    inputs[std::string_view(name) == "min" ? 1 : 2] = c.scalar(bound, type, name);
  }
  while (inputs.back() == nullptr) inputs.pop_back();
  return c.last("Clip", std::move(inputs), {});
}

// Bounds are numbers; some exporters write them as lists of one.
Expected<Operands> clip(Conversion& c) {
  for (int i = 1; i < c.input_count(); ++i) {
    if (!c.has(i) || c.dims(c.in(i)) != std::vector<int64_t>{1}) continue;
    Operand& bound = c.inputs()[static_cast<size_t>(i)];
    ISOBIT_TRY(bound, c.inner("Reshape", {bound}, {{"shape", std::vector<int64_t>{}}}, i == 1 ? "min" : "max"));
  }
  return same_as_onnx(c);
}

Expected<Operands> cast(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  if (!c.has_attribute("to")) return c.error("attribute 'to' is missing");
  ISOBIT_TRY(const DType to, c.type("to", DType::kFloat32));
  return c.last("Cast", {c.in(0)}, {{"to", static_cast<int64_t>(to)}});
}

Expected<Operands> cast_like(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_RETURN_IF_ERROR(c.expect(1));
  return c.last("Cast", {c.in(0)}, {{"to", static_cast<int64_t>(c.dtype(c.in(1)))}});
}

// Dropout as the file has it. Without training_mode it does nothing.
Expected<Operands> dropout(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  if (c.has(2)) {
    const Operand mode = c.in(2);
    const bool known = mode->is_constant() && mode->constant.dtype() == DType::kBool && mode->constant.elements() == 1;
    if (!known || *static_cast<const uint8_t*>(mode->constant.raw()) != 0) {
      return c.error("training_mode is not known to be false: what a training step drops is the job's");
    }
  }
  ISOBIT_TRY(Operand output, c.emit("Identity", {c.in(0)}, {}, c.output_name(0)));
  Operands outputs = {std::move(output)};
  if (c.has_output(1)) {
    if (!c.is_static(c.in(0))) return c.error("the mask is asked for, and its shape is not known before the run");
    Tensor yes(DType::kBool, Shape{});
    *static_cast<uint8_t*>(yes.raw()) = 1;
    ISOBIT_TRY(Operand mask, c.emit("ConstantOfShape", {}, {{"shape", c.dims(c.in(0))}, {"value", std::move(yes)}},
                                    c.output_name(1)));
    outputs.push_back(std::move(mask));
  }
  return outputs;
}

}  // namespace

void add_elementwise_rows(Table& table) {
  for (const char* op :
       {"Abs",         "Acos",      "Acosh",     "Asin", "Asinh",  "Atan",     "Atanh",      "Ceil",
        "Celu",        "Cos",       "Cosh",      "Elu",  "Erf",    "Exp",      "Floor",      "Gelu",
        "HardSigmoid", "HardSwish", "LeakyRelu", "Log",  "Mish",   "Neg",      "Not",        "PRelu",
        "Reciprocal",  "Relu",      "Round",     "Selu", "Shrink", "Sigmoid",  "Sign",       "Sin",
        "Sinh",        "Softplus",  "Softsign",  "Sqrt", "Swish",  "Tan",      "Tanh",       "ThresholdedRelu",
        "Add",         "Sub",       "Mul",       "Div",  "Pow",    "Mod",      "Max",        "Min",
        "Sum",         "Mean",      "And",       "Or",   "Xor",    "BitShift", "BitwiseAnd", "BitwiseNot",
        "BitwiseOr",   "BitwiseXor"}) {
    table.same(op).without("consumed_inputs");
  }
  for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsNaN", "IsInf"}) {
    table.same(op).own_type(0);
  }
  table.same("Identity").moves();
  table.same("Where").moves();
  table.own("Clip", clip_by_attributes).to("Clip").until(10);
  table.own("Clip", clip).to("Clip").since(11);
  // 'saturate' and 'round_mode' matter for floats of 8 bits only, which isobit does not have.
  table.own("Cast", cast).to("Cast").moves();
  table.own("CastLike", cast_like).to("Cast").moves();
  table.own("Dropout", dropout).to("Identity").moves();
}

}  // namespace isobit::onnx
