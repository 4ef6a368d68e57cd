#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {
namespace {

Status infer_transpose(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"perm", kInts}}));
  const auto perm = c.attributes().integers("perm", {});
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  if (static_cast<int>(perm.size()) != c.rank(0)) return unreadable("attribute 'perm' does not have the source's rank");
  std::vector<int64_t> dims;
  for (size_t i = 0; i < perm.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return unreadable("attribute 'perm' is not a permutation");
    dims.push_back(c.dim(0, static_cast<int>(perm[i])));
  }
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// Attribute shape: 0 keeps the source's dimension, one -1 is inferred.
Status infer_reshape(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"shape", kInts}}));
  auto shape = c.attributes().integers("shape", {});
  int64_t known = 1, total = 1, unknown_axis = -1;
  bool total_known = true;
  for (int64_t d : c.dims(0)) {
    total_known = total_known && d >= 0;
    if (d >= 0 && __builtin_mul_overflow(total, d, &total)) return unreadable("source is too large");
  }
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i < c.dims(0).size()) shape[i] = c.dims(0)[i];
    if (shape[i] == -1 && unknown_axis < 0)
      unknown_axis = static_cast<int64_t>(i);
    else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known))
      return unreadable("attribute 'shape' is malformed");
  }
  if (total_known) {
    if (unknown_axis >= 0) {
      if (known == 0 || total % known != 0) return unreadable("attribute 'shape' does not divide the source");
      shape[static_cast<size_t>(unknown_axis)] = total / known;
    } else if (known != total) {
      return unreadable(text_of("shape ", Shape(shape).text(), " does not hold the source's ", total, " elements"));
    }
  }
  c.set_output(0, c.input(0).dtype, std::move(shape));
  return {};
}

Status infer_flatten(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}}));
  const int64_t axis = c.attributes().integer("axis", 1);
  if (axis < 0 || axis > c.rank(0)) return unreadable(text_of("axis ", axis, " is outside the source"));
  std::vector<int64_t> dims = {1, 1};
  for (int i = 0; i < c.rank(0); ++i) {
    int64_t& d = dims[i < axis ? 0 : 1];
    if (d < 0 || c.dim(0, i) < 0)
      d = -1;
    else if (__builtin_mul_overflow(d, c.dim(0, i), &d))
      return unreadable("source is too large");
  }
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

Status infer_concat(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}}));
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", 0), c.rank(0)));
  std::vector<int64_t> dims = c.dims(0);
  for (int i = 1; i < c.input_count(); ++i) {
    if (c.input(i).dtype != c.input(0).dtype || c.rank(i) != c.rank(0))
      return unreadable("inputs differ in type or rank");
    std::vector<int64_t> expected = c.dims(0);
    expected[static_cast<size_t>(axis)] = c.dim(i, static_cast<int>(axis));
    ISOBIT_RETURN_IF_ERROR(c.expect_dims(i, expected));
    int64_t& d = dims[static_cast<size_t>(axis)];
    const int64_t more = c.dim(i, static_cast<int>(axis));
    if (d < 0 || more < 0)
      d = -1;
    else if (__builtin_add_overflow(d, more, &d))
      return unreadable("the inputs together are too large");
  }
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// Attributes starts and counts, one number an axis: a contiguous block.
Status check_block(InferContext& c, const std::vector<int64_t>& src) {
  const auto starts = c.attributes().integers("starts", {}), counts = c.attributes().integers("counts", {});
  if (starts.size() != src.size() || counts.size() != src.size())
    return unreadable("starts and counts need one number an axis");
  for (size_t i = 0; i < src.size(); ++i) {
    if (starts[i] < 0 || counts[i] < 0 || counts[i] > src[i] || starts[i] > src[i] - counts[i]) {
      return unreadable(text_of("the block leaves axis ", i));
    }
  }
  return {};
}

Status infer_block(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"starts", kInts}, {"counts", kInts}}));
  ISOBIT_RETURN_IF_ERROR(check_block(c, c.dims(0)));
  c.set_output(0, c.input(0).dtype, c.attributes().integers("counts", {}));
  return {};
}

// diff_dst -> diff_src of shape src_shape, zero outside the block.
Status infer_block_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"starts", kInts}, {"counts", kInts}, {"src_shape", kInts}}));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_RETURN_IF_ERROR(check_block(c, src));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, c.attributes().integers("counts", {})));
  c.set_output(0, c.input(0).dtype, src);
  return {};
}

Status infer_gather(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_integer(1));
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", 0), c.rank(0)));
  std::vector<int64_t> dims(c.dims(0).begin(), c.dims(0).begin() + axis);
  dims.insert(dims.end(), c.dims(1).begin(), c.dims(1).end());
  dims.insert(dims.end(), c.dims(0).begin() + axis + 1, c.dims(0).end());
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (indices, diff_dst) -> diff_table; attribute table_shape [V, C]. Each element is one correctly rounded sum.
Status infer_embedding_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"table_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(0, DType::kInt64));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(1));
  ISOBIT_TRY(const auto table, read_extents(c.attributes(), "table_shape"));
  if (table.size() != 2) return unreadable("attribute 'table_shape' needs 2 numbers");
  std::vector<int64_t> dst = c.dims(0);
  dst.push_back(table[1]);
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, dst));
  c.set_output(0, c.input(1).dtype, table);
  return {};
}

Status infer_expand(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"shape", kInts}}));
  ISOBIT_TRY(const auto shape, read_extents(c.attributes(), "shape"));
  ISOBIT_TRY(auto dims, broadcast_dims(c.dims(0), shape));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

}  // namespace

void add_movement(std::vector<OpDef>& defs) {
  add_ordered(defs, {.name = "Transpose", .infer = infer_transpose, .outputs = {moved_from(0)}});
  add_ordered(defs, {.name = "Reshape", .infer = infer_reshape, .outputs = {moved_from(0)}});
  add_ordered(defs, {.name = "Flatten", .infer = infer_flatten, .outputs = {moved_from(0)}});
  add_ordered(defs, {.name = "Concat",
                     .max_inputs = 1 << 16,
                     .infer = infer_concat,
                     .outputs = {{.rule = ElementRule::kMoved, .moved_from = {.all = true}, .takes_each_once = true}}});
  add_ordered(defs, {.name = "isobit.Block", .infer = infer_block, .outputs = {moved_from(0)}});
  add_ordered(defs, {.name = "isobit.BlockGrad", .infer = infer_block_grad, .outputs = {moved_from(0)}});
  add_ordered(defs, {.name = "Gather",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_gather,
                     .outputs = {moved_from_repeatedly(0)}});
  add_ordered(defs, {.name = "isobit.EmbeddingGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_embedding_grad,
                     .outputs = {output_by(ElementRule::kSum)}});
  add_ordered(defs, {.name = "Expand", .infer = infer_expand, .outputs = {moved_from_repeatedly(0)}});
}

}  // namespace isobit::graph::ops
