// Operators of single elements: arithmetic, functions, comparisons, logic, and Cast.
#include "isobit/base/text.h"
#include "isobit/onnx/importer_internal.h"

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

// The share that is dropped: an attribute before opset 12.
Expected<double> share_dropped(Conversion& c) {
  if (c.opset() < 12) return c.real("ratio", 0.5);
  if (!c.has(1)) return 0.5;
  const auto ratio = c.reals(c.in(1));
  if (!ratio || ratio->size() != 1) return c.error("the ratio is no number that the file says");
  return ratio->front();
}

// What a step of training drops; its mask is the job's.
Expected<Operands> dropout_of_training(Conversion& c, double ratio) {
  Importer& importer = c.importer();
  Operand x = c.in(0);
  const DType type = c.dtype(x);
  const bool half = type == DType::kFloat16 || type == DType::kBfloat16;
  const auto to = [](DType t) { return graph::Attributes{{"to", static_cast<int64_t>(t)}}; };
  if (half) {
    ISOBIT_TRY(x, c.inner("Cast", {x}, to(DType::kFloat32), "float32"));
  }
  const graph::Attributes attributes = {{"seed", static_cast<int64_t>(importer.options().form.seed)},
                                        {"node", importer.next_dropout()},
                                        {"ratio", ratio}};
  ISOBIT_TRY(Operand y, c.emit("isobit.Dropout", {x, importer.step()}, attributes,
                               half ? c.inner_name("dropped") : c.output_name(0)));
  if (half) {
    ISOBIT_TRY(y, c.emit("Cast", {y}, to(type), c.output_name(0)));
  }
  importer.report().dropouts.push_back(c.base_name());
  Operands outputs = {std::move(y)};
  if (c.has_output(1)) {
    outputs.push_back(c.frame().unusable(c.output_name(1), "is the mask of a dropout, which a training step keeps"));
  }
  return outputs;
}

// Dropout as the file has it. Without training_mode it does nothing.
Expected<Operands> dropout(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  const Form form = c.importer().options().form.form;
  const bool says_mode = c.has(2);  // behind x and the ratio; only what is taken as written asks which
  if (form == Form::kTraining) {
    ISOBIT_TRY(const double ratio, share_dropped(c));
    if (c.frame().outer() != nullptr) {
      c.importer().note_inference(c.base_name(), "within a graph of another node");
    } else if (ratio != 0) {
      return dropout_of_training(c, ratio);
    }
  }
  if (form == Form::kAsWritten && says_mode) {
    const Operand mode = c.in(2);
    const bool known = mode->is_constant() && mode->constant.dtype() == DType::kBool && mode->constant.elements() == 1;
    if (!known) return c.error("training_mode must be known before the run");
    if (*static_cast<const uint8_t*>(mode->constant.raw()) != 0) {
      return c.error(
          "training_mode is true: what is dropped is a job's to say, which trains the network; export it for "
          "inference to run it");
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
  for (const char* op : {"Abs",        "Acos",        "Acosh",
                         "Asin",       "Asinh",       "Atan",
                         "Atanh",      "Ceil",        "Celu",
                         "Cos",        "Cosh",        "Elu",
                         "Erf",        "Exp",         "Floor",
                         "Gelu",       "HardSigmoid", "HardSwish",
                         "LeakyRelu",  "Log",         "Mish",
                         "Neg",        "Not",         "Reciprocal",
                         "Relu",       "Round",       "Selu",
                         "Shrink",     "Sigmoid",     "Sign",
                         "Sin",        "Sinh",        "Softplus",
                         "Softsign",   "Sqrt",        "Swish",
                         "Tan",        "Tanh",        "ThresholdedRelu",
                         "Add",        "Sub",         "Mul",
                         "Div",        "Pow",         "Mod",
                         "Max",        "Min",         "Sum",
                         "Mean",       "And",         "Or",
                         "Xor",        "BitShift",    "BitwiseAnd",
                         "BitwiseNot", "BitwiseOr",   "BitwiseXor"}) {
    table.same(op).without("consumed_inputs");
  }
  table.same("PRelu").since(7);  // slopes were of channels
  for (const char* op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsNaN", "IsInf"}) {
    table.same(op).own_type(0);
  }
  table.same("Identity").moves();
  table.same("Where").moves();
  table.own("Clip", clip_by_attributes).to("Clip").until(10);
  table.own("Clip", clip).to("Clip").since(11);
  // 'saturate' and 'round_mode' matter for floats of 8 bits only, which isobit does not have.
  table.own("Cast", cast).to("Cast").moves().without("saturate").without("round_mode");
  table.own("CastLike", cast_like).to("Cast").moves().without("saturate").without("round_mode");
  // Before opset 7 it dropped unless the file said otherwise.
  table.own("Dropout", dropout).to("Identity").moves().since(7).without("seed").without("ratio");
}

}  // namespace isobit::onnx
