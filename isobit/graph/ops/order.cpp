#include "isobit/base/text.h"
#include "isobit/graph/ops/checks.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/sources_statistics.h"

namespace isobit::graph::ops {
namespace {

// Attributes axis (0), keepdims (1), select_last_index (0): src -> places along the axis
Status infer_place(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}, {"keepdims", kInt}, {"select_last_index", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, NumberTypes{}));
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", 0), c.rank(0)));
  std::vector<int64_t> dims = c.dims(0);
  if (c.attributes().integer("keepdims", 1) != 0) {
    dims[static_cast<size_t>(axis)] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  c.set_output(0, DType::kInt64, std::move(dims));
  return {};
}

// Parameter k; attributes axis (-1), largest (1), sorted (1; what is not to be sorted is sorted as well): src ->
// values, places along the axis
Status infer_top_k(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(
      c.expect_attributes({{"k", kind_of_one(c, "k")}, {"axis", kInt}, {"largest", kInt}, {"sorted", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_one_of(0, NumberTypes{}));
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", -1), c.rank(0)));
  ISOBIT_TRY(const auto k, one_number(c, "k", 1));
  std::vector<int64_t> dims = c.dims(0);
  int64_t& d = dims[static_cast<size_t>(axis)];
  if (k && *k < 0) return unreadable(text_of("k is ", *k, ", expected 0 or more"));
  if (k && d >= 0 && *k > d) return unreadable(text_of("the largest ", *k, " of ", d, " elements are asked for"));
  d = k ? *k : -1;
  c.set_output(0, c.input(0).dtype, dims);
  c.set_output(1, DType::kInt64, std::move(dims));
  return {};
}

// (diff_values, places) -> diff_src of shape src_shape, zero elsewhere; attribute axis (-1)
Status infer_top_k_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"src_shape", kInts}, {"axis", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, DType::kInt64));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, c.dims(0)));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, static_cast<int>(src.size())));
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", -1), c.rank(0)));
  std::vector<int64_t> dst = src;
  const int64_t k = c.dim(0, static_cast<int>(axis));
  if (k > dst[static_cast<size_t>(axis)]) {
    return unreadable(text_of("gradients of ", k, " values of ", dst[static_cast<size_t>(axis)]));
  }
  dst[static_cast<size_t>(axis)] = k;
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dst));
  c.set_output(0, c.input(0).dtype, src);
  return {};
}

}  // namespace

void add_order(std::vector<OpDef>& defs) {
  using enum ElementRule;
  for (const char* op : {"ArgMax", "ArgMin"}) {
    add_ordered(defs, {.name = op, .infer = infer_place, .outputs = {made_of(of_line(0), output_by(kPlace))}});
  }
  add_ordered(defs,
              {.name = "TopK",
               .max_inputs = 2,
               .optional_inputs = {.some = {1}},
               .min_outputs = 2,
               .max_outputs = 2,
               .infer = infer_top_k,
               .outputs = {made_of(of_line(-1), moved_from(0, kRanked)), made_of(of_line(-1), output_by(kPlace))}});
  add_ordered(defs, {.name = "isobit.TopKGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_top_k_grad,
                     .outputs = {guided_by({indices_of_line(1, -1)}, moved_from(0, rank_put))}});
}

}  // namespace isobit::graph::ops
