// Normalisations.
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

// Opsets 18 to 20 had one scale and bias for each group; there is one for each channel since.
Expected<Operands> group_norm_by_group(Conversion& c) {
  for (int i = 0; i < 3; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  ISOBIT_TRY(const int64_t groups, c.integer("num_groups", 0));
  ISOBIT_TRY(graph::Attributes attributes, c.same_attributes());
  const auto& dims = c.dims(c.in(0));
  if (!c.has_rank(c.in(0)) || dims.size() < 2 || dims[1] < 0 || groups < 1 || dims[1] % groups != 0) {
    return c.error("the number of channels has to be known and a multiple of num_groups");
  }
  const int64_t channels = dims[1], each = channels / groups;
  Operands inputs = {c.in(0)};
  for (int i = 1; i < 3; ++i) {
    const char* what = i == 1 ? "scale" : "bias";
    ISOBIT_TRY(Operand column,
               c.inner("Reshape", {c.in(i)}, {{"shape", std::vector<int64_t>{groups, 1}}}, text_of(what, "_column")));
    ISOBIT_TRY(Operand spread, c.inner("Expand", {column}, {{"shape", std::vector<int64_t>{groups, each}}},
                                       text_of(what, "_spread")));
    ISOBIT_TRY(Operand flat, c.inner("Reshape", {spread}, {{"shape", std::vector<int64_t>{channels}}}, what));
    inputs.push_back(std::move(flat));
  }
  return c.last("GroupNormalization", std::move(inputs), std::move(attributes));
}

}  // namespace

void add_norm_rows(Table& table) {
  table.own("BatchNormalization", batch_norm).to("BatchNormalization");
  // Statistics are float32 whatever the input is: stash_type says so, and isobit has no other.
  table.same("LayerNormalization").without("stash_type", 1).own_type(1).own_type(2);
  table.same("RMSNormalization").without("stash_type", 1);
  table.same("InstanceNormalization");
  table.own("GroupNormalization", group_norm_by_group).to("GroupNormalization").since(18).until(20).without("stash_type", 1);
  table.same("GroupNormalization").since(21).without("stash_type", 1);
  table.same("LRN");
  table.same("LpNormalization");
}

}  // namespace isobit::onnx
