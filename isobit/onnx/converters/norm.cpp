// Normalisations (isobit/graph/expansions/normalisation.h).
#include "isobit/base/text.h"
#include "isobit/graph/expansions/normalisation.h"
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {
namespace {

namespace expansions = graph::expansions;

// Before opset 9 a mean could be asked for of each place, not of each channel; before opset 14 outputs 1 to 4 said that
// the node was one of training.
Status check_batch_norm(Conversion& c) {
  ISOBIT_TRY(const int64_t spatial, c.integer("spatial", 1));
  if (spatial != 1) return c.error("'spatial' is 0: isobit normalises by channel only");
  for (int i = 1; c.opset() < 14 && i < c.output_count(); ++i) {
    if (c.has_output(i)) return c.error(text_of("output ", i, " is there in training only"));
  }
  return {};
}

// Why a batch norm stays in inference form where training asks for the other one; "" when it need not.
std::string stays_in_inference(Conversion& c) {
  if (c.frame().outer() != nullptr) return "within a graph of another node";
  for (int i : {3, 4}) {
    if (!c.in(i)->opened) return "its running statistics are no initializers of float32";
  }
  const auto& keeps = c.importer().options().form.keeps;
  if (!keeps) return "";
  const bool mean = keeps(c.in(3)->name), variance = keeps(c.in(4)->name);
  return mean || variance ? "its running statistics are frozen" : "";
}

// Outputs 1 and 2 are what the running statistics become: in inference there are none.
Expected<Operands> in_inference(Conversion& c, double epsilon) {
  Operands operands = {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)};
  for (int i : {3, 4}) {
    const Operand statistic = origin_of(c.in(i));
    if (statistic->opened) c.importer().note_statistic(statistic, nullptr);
  }
  ISOBIT_TRY(Operand y, c.emit("BatchNormalization", std::move(operands), {{"epsilon", epsilon}}, c.output_name(0)));
  Operands outputs = {std::move(y)};
  for (int i = 1; i < c.output_count(); ++i) {
    outputs.push_back(c.frame().unusable(c.output_name(i), "is a running statistic, which only training makes"));
  }
  return outputs;
}

// As models::Layers::batch_norm has it.
Expected<Operands> in_training(Conversion& c, double epsilon) {
  ISOBIT_TRY(const double momentum, c.real("momentum", 0.9));
  graph::Attributes of_variance = {{"momentum", momentum}};
  if (c.importer().options().form.unbiased_variance) {
    int64_t count = 1;
    for (size_t axis = 0; axis < c.dims(c.in(0)).size(); ++axis) {
      const int64_t extent = c.dims(c.in(0))[axis];
      if (extent < 0) return c.error("an unbiased running variance needs to know the shape of input 0 before the run");
      if (axis != 1 && __builtin_mul_overflow(count, extent, &count)) return c.error("input 0 is too large");
    }
    of_variance.set("count", count);
  }
  ISOBIT_TRY(const Operands now,
             c.emit_all("isobit.BatchStatistics", {c.in(0)}, {}, {c.inner_name("mean"), c.inner_name("variance")}));
  ISOBIT_TRY(Operand y, c.emit("isobit.BatchNormApply", {c.in(0), c.in(1), c.in(2), now[0], now[1]},
                               {{"epsilon", epsilon}}, c.output_name(0)));
  Operands outputs = {std::move(y)};
  for (int i = 0; i < 2; ++i) {
    const Operand statistic = c.in(3 + i);
    const std::string name =
        c.has_output(1 + i) ? c.output_name(1 + i) : c.importer().free_name(statistic->name + ".next");
    ISOBIT_TRY(Operand updated,
               c.emit("isobit.RunningUpdate", {c.importer().running(statistic), now[static_cast<size_t>(i)]},
                      i == 0 ? graph::Attributes{{"momentum", momentum}} : of_variance, name));
    c.importer().note_statistic(statistic, updated);
    outputs.push_back(std::move(updated));
  }
  c.importer().report().batch_norms.push_back(c.base_name());
  return outputs;
}

Expected<Operands> batch_norm(Conversion& c) {
  ISOBIT_RETURN_IF_ERROR(check_batch_norm(c));
  const Form form = c.importer().options().form.form;
  if (form == Form::kAsWritten) return expanded(c, expansions::batch_normalization);
  for (int i = 0; i < 5; ++i) ISOBIT_RETURN_IF_ERROR(c.expect(i));
  ISOBIT_TRY(const double epsilon, c.real("epsilon", 1e-5));
  // What the file says of training gives way to the form that was asked for.
  ISOBIT_RETURN_IF_ERROR(c.integer("training_mode", 0));
  ISOBIT_RETURN_IF_ERROR(c.real("momentum", 0.9));
  if (form == Form::kInference) return in_inference(c, epsilon);
  const std::string reason = stays_in_inference(c);
  if (reason.empty()) return in_training(c, epsilon);
  c.importer().note_inference(c.base_name(), reason);
  return in_inference(c, epsilon);
}

}  // namespace

void add_norm_rows(Table& table) {
  // Before opset 7 it used the batch unless the file said otherwise.
  table.own("BatchNormalization", batch_norm).to("BatchNormalization").since(7).without("spatial", 1);
  // Means and deviations have the type of stash_type.
  table.expanded("LayerNormalization", expansions::layer_normalization).own_type(1).own_type(2);
  table.expanded("RMSNormalization", expansions::rms_normalization);
  table.expanded("InstanceNormalization", expansions::instance_normalization);
  table.expanded("GroupNormalization", expansions::group_normalization_by_group).since(18).until(20);
  table.expanded("GroupNormalization", expansions::group_normalization).since(21);
  table.expanded("MeanVarianceNormalization", expansions::mean_variance_normalization);
  table.expanded("LpNormalization", expansions::lp_normalization);
  table.same("LRN");
}

}  // namespace isobit::onnx
