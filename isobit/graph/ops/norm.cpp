#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/sources_statistics.h"

namespace isobit::graph::ops {
namespace {

using Dims = std::vector<int64_t>;

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

// Of an operator over the trailing axes of input 0, from attribute axis (-1) on: the dimensions before that axis, and
// those from there on.
struct RowShape {
  Dims rows, row;
};

Expected<RowShape> split_rows(const InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  if (c.rank(0) < 1) return unreadable("the source needs rank 1 or more");
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", -1), c.rank(0)));
  const auto first = c.dims(0).begin() + axis;
  return RowShape{{c.dims(0).begin(), first}, {first, c.dims(0).end()}};
}

// Input i has the type of input 0, and broadcasts to a row.
Status expect_in_row(const InferContext& c, int i, const Dims& row) {
  ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(0).dtype));
  const Dims& dims = c.dims(i);
  bool fits = dims.size() <= row.size();
  for (size_t d = 0; fits && d < dims.size(); ++d) {
    const int64_t found = dims[d], wanted = row[row.size() - dims.size() + d];
    fits = found == 1 || found == wanted || found < 0 || wanted < 0;
  }
  if (fits) return {};
  return unreadable(text_of("input ", i, " ('", c.input(i).name, "') has shape ", Shape(dims).text(), ", expected ",
                            Shape(row).text(), " or what broadcasts to it"));
}

// (src, scale, bias) -> dst, mean, inv_std; of each row from `axis` on
Status infer_layer_norm(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"epsilon", kReal}, {"axis", kInt}}));
  ISOBIT_TRY(const RowShape shape, split_rows(c));
  for (int i = 1; i < c.input_count(); ++i) {
    if (c.has_input(i)) ISOBIT_RETURN_IF_ERROR(expect_in_row(c, i, shape.row));
  }
  c.set_output(0, c.input(0).dtype, c.dims(0));
  c.set_output(1, c.input(0).dtype, shape.rows);
  c.set_output(2, c.input(0).dtype, shape.rows);
  return {};
}

// (src, mean, inv_std, scale, diff_dst) -> diff_src, diff_scale, diff_bias
Status infer_layer_norm_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}}));
  ISOBIT_TRY(const RowShape shape, split_rows(c));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0, shape.rows));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(2, 0, shape.rows));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(3, 0, shape.row));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(4, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  c.set_output(1, c.input(0).dtype, shape.row);
  c.set_output(2, c.input(0).dtype, shape.row);
  return {};
}

// (src, scale) -> dst; of each row from `axis` on
Status infer_rms_norm(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"epsilon", kReal}, {"axis", kInt}}));
  ISOBIT_TRY(const RowShape shape, split_rows(c));
  ISOBIT_RETURN_IF_ERROR(expect_in_row(c, 1, shape.row));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// (src, scale, diff_dst) -> diff_src, diff_scale
Status infer_rms_norm_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"epsilon", kReal}, {"axis", kInt}}));
  ISOBIT_TRY(const RowShape shape, split_rows(c));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0, shape.row));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(2, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  c.set_output(1, c.input(0).dtype, shape.row);
  return {};
}

// Over `size` neighbouring channels.
Status infer_response_norm(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"alpha", kReal}, {"beta", kReal}, {"bias", kReal}, {"size", kInt}}));
  ISOBIT_RETURN_IF_ERROR(check_channels(c, 1, 0));
  if (const int64_t size = c.attributes().integer("size", 0); size < 1) {
    return unreadable(text_of("a window of ", size, " channels, expected 1 or more"));
  }
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// The variance in float64 is around the mean as it was before it was rounded to an output.
std::vector<Statistic> batch_statistics(const Graph& g, const Node& n) {
  return {made_of(of_whole_channel(0), Statistic{"mean", channel_dims(g, n), 0})};
}

// (src, mean, var, scale, diff_dst): a sum over the channel of formulas of src and diff_dst.
SourceRange of_scaled_channel() { return over_channel({group_of(1), group_of(2)}, {element_of(0), element_of(4)}); }

std::vector<Statistic> batch_norm_sums(const Graph& g, const Node& n) {
  return {made_of(of_scaled_channel(), Statistic{"diff_scale", channel_dims(g, n), 1}),
          made_of(of_whole_channel(4), Statistic{"diff_bias", channel_dims(g, n), 2})};
}

// The dimensions before attribute axis.
Dims leading_dims(const Graph& g, const Node& n) {
  const Dims& dims = g.value(n.inputs[0]).dims;
  const int64_t axis = n.attributes.integer("axis", -1);
  return {dims.begin(), (axis < 0 ? dims.end() : dims.begin()) + axis};
}

std::vector<Statistic> layer_norm_moments(const Graph& g, const Node& n) {
  return {made_of(of_whole_row, Statistic{"mean", leading_dims(g, n), 1}),
          made_of(over_row({statistic_of_group(0)}, {element_of(0)}), Statistic{"var", leading_dims(g, n)})};
}

std::vector<Statistic> layer_norm_sums(const Graph& g, const Node& n) {
  const Parts scaled = {element_of(0), place_of(3), element_of(4)};
  return {made_of(over_row({}, {place_of(3), element_of(4)}), Statistic{"sum_g", leading_dims(g, n)}),
          made_of(over_row({group_of(1), group_of(2)}, scaled), Statistic{"sum_gh", leading_dims(g, n)})};
}

std::vector<Statistic> rms_norm_squares(const Graph& g, const Node& n) {
  return {made_of(of_whole_row, Statistic{"sum_of_squares", leading_dims(g, n)})};
}

std::vector<Statistic> rms_norm_sums(const Graph& g, const Node& n) {
  const Parts scaled = {element_of(0), place_of(1), element_of(2)};
  return {made_of(of_whole_row, Statistic{"sum_of_squares", leading_dims(g, n)}),
          made_of(over_row({statistic_of_group(0)}, scaled), Statistic{"sum_gh", leading_dims(g, n)})};
}

std::vector<Statistic> window_squares(const Graph& g, const Node& n) {
  return {made_of(of_channel_window, Statistic{"sum_of_squares", g.value(n.inputs[0]).dims})};
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
                     .outputs = {made_of(of_channel, output_by(kPointwise))}});
  add_ordered(defs,
              {.name = "isobit.BatchStatistics",
               .min_outputs = 2,
               .max_outputs = 2,
               .infer = infer_batch_stats,
               .statistics = batch_statistics,
               .outputs = {made_of(of_whole_channel(0), output_by(kSum)),
                           made_of(over_channel({statistic_of_group(0)}, {element_of(0)}), output_by(kStatistics))}});
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
                     .outputs = {made_of(of_channel, output_by(kPointwise))}});
  add_ordered(defs, {.name = "isobit.BatchNormGrad",
                     .min_inputs = 5,
                     .max_inputs = 5,
                     .min_outputs = 3,
                     .max_outputs = 3,
                     .infer = infer_batch_norm_grad,
                     .statistics = batch_norm_sums,
                     .outputs = {made_of(in_channels({element_of(0), group_of(1), group_of(2), group_of(3),
                                                      element_of(4), statistic_of_group(0), statistic_of_group(1)}),
                                         output_by(kStatistics)),
                                 made_of(of_scaled_channel(), output_by(kSum, {0, 1, 2, 4})),
                                 made_of(of_whole_channel(4), output_by(kSum, {4}))}});
  add_ordered(defs, {.name = "LayerNormalization",
                     .min_inputs = 2,
                     .max_inputs = 3,
                     .optional_inputs = {.some = {2}},
                     .min_outputs = 3,
                     .max_outputs = 3,
                     .infer = infer_layer_norm,
                     .statistics = layer_norm_moments,
                     .outputs = {made_of(in_rows({element_of(0), statistic_of_group(0), statistic_of_group(1),
                                                  place_of(1), place_of(2)}),
                                         output_by(kStatistics)),
                                 made_of(of_whole_row, output_by(kSum, {0})),
                                 made_of(same_of_statistics({1}), output_by(kStatistics, {0}))}});
  add_ordered(defs, {.name = "isobit.LayerNormGrad",
                     .min_inputs = 5,
                     .max_inputs = 5,
                     .min_outputs = 3,
                     .max_outputs = 3,
                     .infer = infer_layer_norm_grad,
                     .statistics = layer_norm_sums,
                     .outputs = {made_of(in_rows({element_of(0), group_of(1), group_of(2), place_of(3), element_of(4),
                                                  statistic_of_group(0), statistic_of_group(1)}),
                                         output_by(kStatistics)),
                                 made_of(over_rows({element_of(0), group_of(1), group_of(2), element_of(4)}),
                                         output_by(kSum, {0, 1, 2, 4})),
                                 made_of(over_rows({element_of(4)}), output_by(kSum, {4}))}});
  add_ordered(
      defs,
      {.name = "RMSNormalization",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_rms_norm,
       .statistics = rms_norm_squares,
       .outputs = {made_of(in_rows({element_of(0), statistic_of_group(0), place_of(1)}), output_by(kStatistics))}});
  add_ordered(
      defs,
      {.name = "isobit.RmsNormGrad",
       .min_inputs = 3,
       .max_inputs = 3,
       .min_outputs = 2,
       .max_outputs = 2,
       .infer = infer_rms_norm_grad,
       .statistics = rms_norm_sums,
       .outputs = {
           made_of(in_rows({element_of(0), place_of(1), element_of(2), statistic_of_group(0), statistic_of_group(1)}),
                   output_by(kStatistics)),
           made_of(over_rows({element_of(0), statistic_of_group(0), element_of(2)}), output_by(kStatistics, {0, 2}))}});
  add_ordered(defs,
              {.name = "LRN",
               .infer = infer_response_norm,
               .statistics = window_squares,
               .outputs = {made_of(in_channels({element_of(0), statistic_of_element(0)}), output_by(kStatistics))}});
}

}  // namespace isobit::graph::ops
