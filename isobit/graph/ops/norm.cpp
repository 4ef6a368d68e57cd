#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {
namespace {

Status check_channels(InferContext& c, int first, int last) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  if (c.rank(0) < 2) return unreadable("the source needs rank 2 or more ([N, C, ...])");
  for (int i = first; i <= last; ++i) ISOBIT_RETURN_IF_ERROR(c.expect_like(i, 0, {c.dim(0, 1)}));
  return {};
}

// (src, scale, bias, running_mean, running_var) -> dst, by the running statistics: inference.
Status infer_batch_norm(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"epsilon", kReal}, {"momentum", kReal}}));
  ISOBIT_RETURN_IF_ERROR(check_channels(c, 1, 4));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// src -> mean[C], var[C] of this batch
Status infer_batch_stats(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(check_channels(c, 1, 0));
  c.set_output(0, c.input(0).dtype, {c.dim(0, 1)});
  c.set_output(1, c.input(0).dtype, {c.dim(0, 1)});
  return {};
}

// (running, current) -> running * momentum + current * (1 - momentum); with `count` N, current * (N / (N - 1)) instead
Status infer_running_update(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"momentum", kReal}, {"count", kInt}}));
  if (const int64_t count = c.attributes().integer("count", 2); count < 2) {
    return unreadable(text_of("count ", count, ": the unbiased variance needs 2 values or more"));
  }
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// (src, mean, var, scale, diff_dst) -> diff_src, diff_scale, diff_bias
Status infer_batch_norm_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"epsilon", kReal}}));
  ISOBIT_RETURN_IF_ERROR(check_channels(c, 1, 3));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(4, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  c.set_output(1, c.input(0).dtype, {c.dim(0, 1)});
  c.set_output(2, c.input(0).dtype, {c.dim(0, 1)});
  return {};
}

Status check_rows(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  if (c.rank(0) < 1) return unreadable("the source needs rank 1 or more");
  return {};
}

std::vector<int64_t> rows_of(InferContext& c) { return {c.dims(0).begin(), c.dims(0).end() - 1}; }

// (src, scale, bias) -> dst, mean, inv_std; over the last axis
Status infer_layer_norm(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"epsilon", kReal}}));
  ISOBIT_RETURN_IF_ERROR(check_rows(c));
  for (int i = 1; i < c.input_count(); ++i) ISOBIT_RETURN_IF_ERROR(c.expect_like(i, 0, {c.dim(0, -1)}));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  c.set_output(1, c.input(0).dtype, rows_of(c));
  c.set_output(2, c.input(0).dtype, rows_of(c));
  return {};
}

// (src, mean, inv_std, scale, diff_dst) -> diff_src, diff_scale, diff_bias
Status infer_layer_norm_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(check_rows(c));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0, rows_of(c)));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(2, 0, rows_of(c)));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(3, 0, {c.dim(0, -1)}));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(4, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  c.set_output(1, c.input(0).dtype, {c.dim(0, -1)});
  c.set_output(2, c.input(0).dtype, {c.dim(0, -1)});
  return {};
}

// The variance in float64 is around the mean as it was before it was rounded to an output.
std::vector<Statistic> batch_statistics(const Graph& g, const Node& n) { return {{"mean", channel_dims(g, n), 0}}; }

std::vector<Statistic> batch_norm_sums(const Graph& g, const Node& n) {
  return {{"diff_scale", channel_dims(g, n), 1}, {"diff_bias", channel_dims(g, n), 2}};
}

std::vector<Statistic> layer_norm_moments(const Graph& g, const Node& n) {
  return {{"mean", row_dims(g, n), 1}, {"var", row_dims(g, n)}};
}

std::vector<Statistic> layer_norm_sums(const Graph& g, const Node& n) {
  return {{"sum_g", row_dims(g, n)}, {"sum_gh", row_dims(g, n)}};
}

}  // namespace

std::vector<int64_t> row_dims(const Graph& graph, const Node& node) {
  const auto& dims = graph.value(node.inputs[0]).dims;
  return {dims.begin(), dims.end() - 1};
}

std::vector<int64_t> channel_dims(const Graph& graph, const Node& node) {
  return {graph.value(node.inputs[0]).dims[1]};
}

void add_norm(std::vector<OpDef>& defs) {
  using enum ElementRule;
  add_ordered(defs, {.name = "BatchNormalization",
                     .min_inputs = 5,
                     .max_inputs = 5,
                     .infer = infer_batch_norm,
                     .outputs = {output_by(kPointwise)}});
  add_ordered(defs, {.name = "isobit.BatchStatistics",
                     .min_outputs = 2,
                     .max_outputs = 2,
                     .infer = infer_batch_stats,
                     .statistics = batch_statistics,
                     .outputs = {output_by(kSum), output_by(kStatistics)}});
  add_ordered(defs, {.name = "isobit.RunningUpdate",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_running_update,
                     .outputs = {output_by(kPointwise)}});
  // Training: (src, scale, bias, mean, var) with the batch's own statistics; same arithmetic, other gradient.
  add_ordered(defs, {.name = "isobit.BatchNormApply",
                     .min_inputs = 5,
                     .max_inputs = 5,
                     .infer = infer_batch_norm,
                     .outputs = {output_by(kPointwise)}});
  add_ordered(defs, {.name = "isobit.BatchNormGrad",
                     .min_inputs = 5,
                     .max_inputs = 5,
                     .min_outputs = 3,
                     .max_outputs = 3,
                     .infer = infer_batch_norm_grad,
                     .statistics = batch_norm_sums,
                     .outputs = {output_by(kStatistics), output_by(kSum, {0, 1, 2, 4}), output_by(kSum, {4})}});
  add_ordered(defs, {.name = "LayerNormalization",
                     .min_inputs = 3,
                     .max_inputs = 3,
                     .min_outputs = 3,
                     .max_outputs = 3,
                     .infer = infer_layer_norm,
                     .statistics = layer_norm_moments,
                     .outputs = {output_by(kStatistics), output_by(kSum, {0}), output_by(kStatistics, {0})}});
  add_ordered(defs, {.name = "isobit.LayerNormGrad",
                     .min_inputs = 5,
                     .max_inputs = 5,
                     .min_outputs = 3,
                     .max_outputs = 3,
                     .infer = infer_layer_norm_grad,
                     .statistics = layer_norm_sums,
                     .outputs = {output_by(kStatistics), output_by(kSum, {0, 1, 2, 4}), output_by(kSum, {4})}});
}

}  // namespace isobit::graph::ops
