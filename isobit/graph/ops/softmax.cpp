#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/sources_statistics.h"

namespace isobit::graph::ops {
namespace {

Status check_last_axis(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  if (c.rank(0) < 1) return unreadable("the source needs rank 1 or more");
  const int64_t axis = c.attributes().integer("axis", -1);
  if (axis != -1 && axis != c.rank(0) - 1) return unreadable(text_of("axis ", axis, " is not the last one"));
  return {};
}

Status infer_softmax(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}}));
  ISOBIT_RETURN_IF_ERROR(check_last_axis(c));
  if (c.input_count() == 2) ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// [.., T, S]: element (t, s) takes part when s <= t + S - T, so that the last query sees every key.
Status infer_causal_softmax(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  if (c.rank(0) < 2) return unreadable("the source needs rank 2 or more ([.., queries, keys])");
  if (c.input_count() == 2) ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

Status check_labels(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 2));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, {c.dim(0, 0)}));
  return c.expect_type(1, DType::kInt64);
}

// (logits [rows, V], labels [rows]) -> loss (scalar mean), row_loss, row_max, row_log_sum
Status infer_cross_entropy(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(check_labels(c));
  c.set_output(0, c.input(0).dtype, {});
  for (int i = 1; i < 4; ++i) c.set_output(i, c.input(0).dtype, {c.dim(0, 0)});
  return {};
}

// (logits, labels, row_max, row_log_sum, diff) -> diff_logits; diff: of the mean (rank 0), or of the loss of every row
Status infer_cross_entropy_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  ISOBIT_RETURN_IF_ERROR(check_labels(c));
  for (int i = 2; i < 4; ++i) ISOBIT_RETURN_IF_ERROR(c.expect_like(i, 0, {c.dim(0, 0)}));
  if (c.rank(4) != 0) ISOBIT_RETURN_IF_ERROR(c.expect_dims(4, {c.dim(0, 0)}));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(4, c.input(0).dtype));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

Sources label_of_row(const ElementQuery& q) { return {{1, q.element / q.dims()[1]}}; }

std::vector<Statistic> softmax_rows(const Graph& g, const Node& n) {
  return {made_of(of_whole_row, Statistic{"row_max", row_dims(g, n)}),
          made_of(over_row({statistic_of_group(0)}, {element_of(0)}), Statistic{"row_sum", row_dims(g, n)})};
}

std::vector<Statistic> visible_rows(const Graph& g, const Node& n) {
  return {made_of(over_visible({}, {element_of(0)}), Statistic{"row_max", row_dims(g, n)}),
          made_of(over_visible({statistic_of_group(0)}, {element_of(0)}), Statistic{"row_sum", row_dims(g, n)})};
}

std::vector<Statistic> log_softmax_rows(const Graph& g, const Node& n) {
  return {made_of(of_whole_row, Statistic{"row_max", row_dims(g, n)}),
          made_of(over_row({statistic_of_group(0)}, {element_of(0)}), Statistic{"log_sum", row_dims(g, n)})};
}

std::vector<Statistic> grad_rows(const Graph& g, const Node& n) {
  return {made_of(over_row({}, {element_of(0), element_of(1)}), Statistic{"row_sum", row_dims(g, n)})};
}

std::vector<Statistic> visible_grad_rows(const Graph& g, const Node& n) {
  return {made_of(over_visible({}, {element_of(0), element_of(1)}), Statistic{"row_sum", row_dims(g, n)})};
}

std::vector<Statistic> log_grad_rows(const Graph& g, const Node& n) {
  return {made_of(over_row({}, {element_of(1)}), Statistic{"row_sum", row_dims(g, n)})};
}

std::vector<Statistic> cross_entropy_rows(const Graph& g, const Node& n) {
  return {made_of(of_whole_row, Statistic{"row_max", row_dims(g, n), 2}),
          made_of(over_row({statistic_of_group(0)}, {element_of(0)}), Statistic{"row_log_sum", row_dims(g, n), 3}),
          Statistic{"row_loss", row_dims(g, n), 1, of_labelled, {index_of_place(1)}}};
}

}  // namespace

void add_softmax(std::vector<OpDef>& defs) {
  using enum ElementRule;
  const Parts forward = {element_of(0), statistic_of_group(0), statistic_of_group(1)};
  const Parts backward = {element_of(0), element_of(1), statistic_of_group(0)};
  const OutputDef by_row = made_of(in_rows(forward), output_by(kStatistics));
  const OutputDef back_by_row = made_of(in_rows(backward), output_by(kStatistics));
  add_ordered(defs, {.name = "Softmax", .infer = infer_softmax, .statistics = softmax_rows, .outputs = {by_row}});
  add_ordered(defs,
              {.name = "LogSoftmax", .infer = infer_softmax, .statistics = log_softmax_rows, .outputs = {by_row}});
  add_ordered(defs, {.name = "isobit.CausalSoftmax",
                     .infer = infer_causal_softmax,
                     .statistics = visible_rows,
                     .outputs = {made_of(in_visible(forward), output_by(kStatistics))}});
  // (dst, diff_dst) -> diff_src
  add_ordered(defs, {.name = "isobit.SoftmaxGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_softmax,
                     .statistics = grad_rows,
                     .outputs = {back_by_row}});
  add_ordered(defs, {.name = "isobit.CausalSoftmaxGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_causal_softmax,
                     .statistics = visible_grad_rows,
                     .outputs = {made_of(in_visible(backward), output_by(kStatistics))}});
  add_ordered(defs, {.name = "isobit.LogSoftmaxGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_softmax,
                     .statistics = log_grad_rows,
                     .outputs = {back_by_row}});
  add_ordered(defs, {.name = "isobit.CrossEntropy",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .min_outputs = 4,
                     .max_outputs = 4,
                     .infer = infer_cross_entropy,
                     .statistics = cross_entropy_rows,
                     .outputs = {made_of(all_of_statistic(2), output_by(kStatistics)),
                                 made_of(same_of_statistics({2}), output_by(kStatistics)),
                                 made_of(of_whole_row, output_by(kMaximum, {0})),
                                 made_of(same_of_statistics({1}), output_by(kStatistics, {0}))}});
  add_ordered(defs, {.name = "isobit.CrossEntropyGrad",
                     .min_inputs = 5,
                     .max_inputs = 5,
                     .infer = infer_cross_entropy_grad,
                     .outputs = {guided_by({label_of_row}, made_of(of_row, output_by(kPointwise)))}});
}

}  // namespace isobit::graph::ops
