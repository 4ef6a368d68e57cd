// Normalisations.
#include <numeric>

#include "isobit/base/text.h"
#include "isobit/onnx/conversion_internal.h"

namespace isobit::onnx {
namespace {

// The statistics of the batch itself; the running ones move towards them by 1 - momentum.
Expected<Operands> batch_norm_in_training(Conversion& c, double epsilon, double momentum) {
  ISOBIT_TRY(const Operands statistics,
             c.emit_all("isobit.BatchStatistics", {c.in(0)}, {}, {c.inner_name("mean"), c.inner_name("var")}));
  ISOBIT_TRY(Operand output, c.emit("isobit.BatchNormApply", {c.in(0), c.in(1), c.in(2), statistics[0], statistics[1]},
                                    {{"epsilon", epsilon}}, c.output_name(0)));
  Operands outputs = {std::move(output)};
  for (int i = 1; i < c.output_count(); ++i) {
    Operand updated;
    if (c.has_output(i) && i <= 2) {
      ISOBIT_TRY(updated, c.emit("isobit.RunningUpdate", {c.in(2 + i), statistics[static_cast<size_t>(i - 1)]},
                                 {{"momentum", momentum}}, c.output_name(i)));
    }
    outputs.push_back(std::move(updated));
  }
  return outputs;
}

Expected<Operands> batch_norm(Conversion& c) {
  for (int i = 0; i < 5; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  ISOBIT_TRY(const double epsilon, c.real("epsilon", static_cast<double>(1e-5f)));
  ISOBIT_TRY(const double momentum, c.real("momentum", static_cast<double>(0.9f)));
  ISOBIT_TRY(const int64_t spatial, c.integer("spatial", 1));
  ISOBIT_TRY(const int64_t training, c.integer("training_mode", 0));
  if (spatial != 1) return c.error("'spatial' is 0: isobit normalises by channel only");
  if (training != 0) return batch_norm_in_training(c, epsilon, momentum);
  for (int i = 1; i < c.output_count(); ++i) {
    if (c.has_output(i)) return c.error(text_of("output ", i, " is there in training only"));
  }
  return c.last("BatchNormalization", {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)}, {{"epsilon", epsilon}});
}

// Means and deviations of rows come out with 1 for every axis of a row.
Expected<Operands> layer_norm(Conversion& c) {
  for (int i = 0; i < 2; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  if (!c.has_output(1) && !c.has_output(2)) return same_as_onnx(c);
  if (!c.has_rank(c.in(0))) return c.error("the rank of the input is not known before the run");
  const auto rank = static_cast<int64_t>(c.dims(c.in(0)).size());
  ISOBIT_TRY(int64_t axis, c.integer("axis", -1));
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return c.error(text_of("axis ", axis, " is outside a tensor of rank ", rank));
  std::vector<int64_t> axes(static_cast<size_t>(rank - axis));
  std::iota(axes.begin(), axes.end(), axis);
  ISOBIT_TRY(graph::Attributes attributes, c.same_attributes());
  ISOBIT_TRY(Operands outputs, c.emit_all("LayerNormalization", c.inputs(), std::move(attributes),
                                          {c.output_name(0), c.inner_name("mean"), c.inner_name("inv_std")}));
  for (int i = 1; i < 3; ++i) {
    Operand& output = outputs[static_cast<size_t>(i)];
    if (!c.has_output(i)) continue;
    ISOBIT_TRY(output, c.emit("Unsqueeze", {output}, {{"axes", axes}}, c.output_name(i)));
  }
  return outputs;
}

// One number a channel, as a column beside rows of channels.
Expected<Operand> column_of(Conversion& c, const Operand& x, const char* what) {
  return c.inner("Unsqueeze", {x}, {{"axes", std::vector<int64_t>{1}}}, what);
}

// x [N, C, ...] normalised over `groups` parts of the channels (0: each channel by itself), times scale plus bias: rows
// are normalised, then channels scaled.
Expected<Operands> norm_of_groups(Conversion& c, int64_t groups, Operand scale, Operand bias) {
  const Operand x = c.in(0);
  ISOBIT_TRY(const double epsilon, c.real("epsilon", static_cast<double>(1e-5f)));
  if (!c.has_rank(x) || c.dims(x).size() < 2) return c.error("input 0 needs a known rank of 2 or more ([N, C, ...])");
  const DType type = c.dtype(x);
  if (!FloatTypes::contains(type)) return c.error(text_of("input 0 is ", name_of(type), ", expected floats"));
  const std::vector<int64_t> dims = c.dims(x);
  // 0 keeps the dimension that is there.
  const std::vector<int64_t> rows = {0, groups, -1}, channels = {0, dims[1], -1};
  if (dims[1] < 0) return c.error("the number of channels has to be known before the run");
  const auto reshaped = [&](const Operand& v, const std::vector<int64_t>& shape, const char* what) {
    return c.inner("Reshape", {v}, {{"shape", shape}}, what);
  };
  ISOBIT_TRY(Operand value, reshaped(x, groups == 0 ? channels : rows, "rows"));
  Operands inputs = {value, c.constant(Tensor::of<float>(Shape{1}, std::vector<float>{1}), "one")};
  if (type == DType::kFloat64) inputs[1] = c.constant(Tensor::of<double>(Shape{1}, std::vector<double>{1}), "one");
  const std::vector<std::string> names = {c.inner_name("normalized"), c.inner_name("mean"), c.inner_name("inv_std")};
  ISOBIT_TRY(const Operands normalized,
             c.emit_all("LayerNormalization", std::move(inputs), {{"axis", int64_t{2}}, {"epsilon", epsilon}}, names));
  value = normalized[0];
  if (groups != 0) {
    ISOBIT_TRY(value, reshaped(value, channels, "channels"));
  }
  ISOBIT_TRY(scale, column_of(c, scale, "scale"));
  ISOBIT_TRY(value, c.inner("Mul", {value, scale}, {}, "scaled"));
  ISOBIT_TRY(bias, column_of(c, bias, "bias"));
  ISOBIT_TRY(value, c.inner("Add", {value, bias}, {}, "biased"));
  if (c.is_static(x)) return c.last("Reshape", {value}, {{"shape", dims}});
  ISOBIT_TRY(Operand shape, c.inner("Shape", {x}, {}, "shape"));
  return c.last("Reshape", {value, shape}, {});
}

Expected<Operands> instance_norm(Conversion& c) {
  for (int i = 0; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({"epsilon"}));
  return norm_of_groups(c, 0, c.in(1), c.in(2));
}

// Opsets 18 to 20 had one scale and one bias for each group; there is one for each channel since.
Expected<Operands> group_norm(Conversion& c) {
  for (int i = 0; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({"epsilon", "num_groups", "stash_type"}));
  ISOBIT_TRY(const int64_t groups, c.integer("num_groups", 0));
  const auto& dims = c.dims(c.in(0));
  if (!c.has_rank(c.in(0)) || dims.size() < 2 || dims[1] < 0 || groups < 1 || dims[1] % groups != 0) {
    return c.error("the number of channels has to be known and a multiple of num_groups");
  }
  if (c.opset() >= 21) return norm_of_groups(c, groups, c.in(1), c.in(2));
  const int64_t each = dims[1] / groups, channels = dims[1];
  Operand spread[2];
  for (int i = 0; i < 2; ++i) {
    const char* what = i == 0 ? "group_scale" : "group_bias";
    ISOBIT_TRY(Operand column, column_of(c, c.in(1 + i), what));
    ISOBIT_TRY(Operand wide, c.inner("Expand", {column}, {{"shape", std::vector<int64_t>{groups, each}}}, what));
    ISOBIT_TRY(spread[i], c.inner("Reshape", {wide}, {{"shape", std::vector<int64_t>{channels}}}, what));
  }
  return norm_of_groups(c, groups, spread[0], spread[1]);
}

// x / norm along an axis; 0 where the norm is 0.
Expected<Operands> lp_norm(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({"axis", "p"}));
  ISOBIT_TRY(const int64_t axis, c.integer("axis", -1));
  ISOBIT_TRY(const int64_t p, c.integer("p", 2));
  if (p != 1 && p != 2) return c.error(text_of("'p' is ", p, ", expected 1 or 2"));
  const DType type = c.dtype(c.in(0));
  if (!FloatTypes::contains(type)) return c.error(text_of("input 0 is ", name_of(type), ", expected floats"));
  const graph::Attributes along = {{"axes", std::vector<int64_t>{axis}}, {"keepdims", int64_t{1}}};
  Operand x = c.in(0), norm;
  if (p == 1) {
    ISOBIT_TRY(x, c.inner("Abs", {x}, {}, "magnitudes"));
  }
  ISOBIT_TRY(norm, c.inner(p == 1 ? "ReduceSum" : "ReduceL2", {x}, along, "norm"));
  const Operand zero = c.scalar(0, type, "zero");
  ISOBIT_TRY(Operand quotient, c.inner("Div", {c.in(0), norm}, {}, "quotient"));
  ISOBIT_TRY(Operand none, c.inner("Equal", {norm, zero}, {}, "is_zero"));
  return c.last("Where", {none, zero, quotient}, {});
}

}  // namespace

void add_norm_rows(Table& table) {
  table.own("BatchNormalization", batch_norm).to("BatchNormalization");
  // Statistics are float32 whatever the input is: stash_type says so, and isobit has no other.
  table.own("LayerNormalization", layer_norm).to("LayerNormalization").without("stash_type", 1).own_type(1).own_type(2);
  table.same("RMSNormalization").without("stash_type", 1);
  table.own("InstanceNormalization", instance_norm).to("LayerNormalization");
  table.own("GroupNormalization", group_norm).to("LayerNormalization").since(18);
  table.own("LpNormalization", lp_norm).to("ReduceL2");
  table.same("LRN");
}

}  // namespace isobit::onnx
