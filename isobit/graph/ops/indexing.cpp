// Elements that integers name: taken from there, and put there.
#include <span>

#include "isobit/base/text.h"
#include "isobit/graph/ops/movement_parameters.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"

namespace isobit::graph::ops {
namespace {

Numbers joined(std::initializer_list<std::span<const int64_t>> parts) {
  Numbers dims;
  for (const auto part : parts) dims.insert(dims.end(), part.begin(), part.end());
  return dims;
}

// What Gather makes of a source by indices.
Expected<Numbers> gathered_dims(const Numbers& src, const Numbers& indices, int64_t axis) {
  ISOBIT_TRY(const int64_t at, normalized_axis(axis, static_cast<int>(src.size())));
  const auto a = static_cast<size_t>(at);
  const std::span<const int64_t> all = src;
  return joined({all.first(a), indices, all.subspan(a + 1)});
}

Status infer_gather(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_integer(1));
  ISOBIT_TRY(auto dims, gathered_dims(c.dims(0), c.dims(1), c.attributes().integer("axis", 0)));
  return set_countable_output(c, 0, c.input(0).dtype, std::move(dims));
}

// (indices, diff_dst) -> diff_src of shape src_shape. Each element is one Sum.
Status infer_gather_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_integer(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(1));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_TRY(const auto dims, gathered_dims(src, c.dims(0), c.attributes().integer("axis", 0)));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, dims));
  return set_countable_output(c, 0, c.input(1).dtype, src);
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

// Indices, one for each element: of the rank of the array, and no longer than it on the other axes.
Status check_element_indices(InferContext& c, const Numbers& array, int indices) {
  ISOBIT_RETURN_IF_ERROR(c.expect_integer(indices));
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", 0), static_cast<int>(array.size())));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(indices, static_cast<int>(array.size())));
  for (size_t i = 0; i < array.size(); ++i) {
    const int64_t d = c.dims(indices)[i];
    if (static_cast<int64_t>(i) == axis || array[i] < 0 || d <= array[i]) continue;
    return unreadable(text_of("the indices have ", d, " places on axis ", i, ", expected at most ", array[i]));
  }
  return {};
}

Status infer_gather_elements(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}}));
  ISOBIT_RETURN_IF_ERROR(check_element_indices(c, c.dims(0), 1));
  return set_countable_output(c, 0, c.input(0).dtype, c.dims(1));
}

// (indices, diff_dst) -> diff_src of shape src_shape. Each element is one Sum.
Status infer_gather_elements_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(1));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_RETURN_IF_ERROR(check_element_indices(c, src, 0));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, c.dims(0)));
  return set_countable_output(c, 0, c.input(1).dtype, src);
}

// The last axis of the indices holds tuples, each of which names a part of the array behind its first `batch` axes.
// The shape of all parts together; of no rank while the length of a tuple is not known.
Expected<Numbers> tuple_parts(InferContext& c, const Numbers& array, int indices, int64_t batch) {
  ISOBIT_RETURN_IF_ERROR(c.expect_type(indices, DType::kInt64));
  const std::span<const int64_t> at = c.dims(indices), all = array;
  if (at.empty()) return unreadable("the indices need rank 1 or more");
  const auto rank = static_cast<int64_t>(array.size()), length = at.back();
  if (batch < 0 || batch >= c.rank(indices) || batch > rank) {
    return unreadable(text_of("'batch_dims' is ", batch, ", of ", rank, " axes and indices of ", at.size()));
  }
  for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
    if (at[i] != all[i] && at[i] >= 0 && all[i] >= 0) return unreadable(text_of("the batches differ on axis ", i));
  }
  if (length < 0) return kUnknownRank;
  if (length < 1 || length > rank - batch) {
    return unreadable(text_of("tuples of ", length, " indices, expected 1 to ", rank - batch));
  }
  return joined({at.first(at.size() - 1), all.subspan(static_cast<size_t>(batch + length))});
}

Status infer_gather_nd(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"batch_dims", kInt}}));
  ISOBIT_TRY(auto dims, tuple_parts(c, c.dims(0), 1, c.attributes().integer("batch_dims", 0)));
  return set_countable_output(c, 0, c.input(0).dtype, std::move(dims));
}

// (indices, diff_dst) -> diff_src of shape src_shape. Each element is one Sum.
Status infer_gather_nd_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"batch_dims", kInt}, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(1));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_TRY(const auto dims, tuple_parts(c, src, 0, c.attributes().integer("batch_dims", 0)));
  if (dims != kUnknownRank) ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, dims));
  return set_countable_output(c, 0, c.input(1).dtype, src);
}

// What happens where there is a number already; only numbers are added, multiplied or compared.
Status check_reduction(InferContext& c) {
  const std::string reduction = c.attributes().text("reduction", "none");
  if (reduction == "none") return {};
  if (reduction != "add" && reduction != "mul" && reduction != "max" && reduction != "min") {
    return unreadable("attribute 'reduction' is none of 'none', 'add', 'mul', 'max' and 'min'");
  }
  if (NumberTypes::contains(c.input(0).dtype)) return {};
  return unreadable(text_of("reduction '", reduction, "' of ", name_of(c.input(0).dtype)));
}

// (data, indices, updates)
Status infer_scatter_elements(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}, {"reduction", kText}}));
  ISOBIT_RETURN_IF_ERROR(check_reduction(c));
  ISOBIT_RETURN_IF_ERROR(check_element_indices(c, c.dims(0), 1));
  ISOBIT_RETURN_IF_ERROR(c.expect_like(2, 0, c.dims(1)));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

Status infer_scatter_nd(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"reduction", kText}}));
  ISOBIT_RETURN_IF_ERROR(check_reduction(c));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(2, c.input(0).dtype));
  ISOBIT_TRY(const auto parts, tuple_parts(c, c.dims(0), 1, 0));
  if (parts != kUnknownRank) ISOBIT_RETURN_IF_ERROR(c.expect_dims(2, parts));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// (past, update, where each batch's update begins): a part of the axis is replaced.
Status infer_tensor_scatter(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}, {"mode", kText}}));
  const std::string mode = c.attributes().text("mode", "linear");
  if (mode != "linear" && mode != "circular") return unreadable("attribute 'mode' is neither 'linear' nor 'circular'");
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", -2), c.rank(0)));
  if (axis == 0) return unreadable("axis 0 is the batch");
  Numbers update = c.dims(0);
  const auto a = static_cast<size_t>(axis);
  if (c.dims(1).size() == update.size()) {
    if (update[a] >= 0 && c.dims(1)[a] > update[a]) {
      return unreadable(text_of("an update of ", c.dims(1)[a], " places, axis ", axis, " has ", update[a]));
    }
    update[a] = c.dims(1)[a];
  }
  ISOBIT_RETURN_IF_ERROR(c.expect_like(1, 0, update));
  if (c.has_input(2)) {
    ISOBIT_RETURN_IF_ERROR(c.expect_type(2, DType::kInt64));
    ISOBIT_RETURN_IF_ERROR(c.expect_dims(2, {c.dim(0, 0)}));
  }
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// (source, condition): the places of the axis, or of the flattened source, where it is true. How many these are is
// known in the run.
Status infer_compress(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, DType::kBool));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(1, 1));
  Numbers dims = {-1};
  int64_t places = 1;
  if (c.attributes().has("axis")) {
    ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", 0), c.rank(0)));
    dims = c.dims(0);
    places = dims[static_cast<size_t>(axis)];
    dims[static_cast<size_t>(axis)] = -1;
  } else {
    for (const int64_t d : c.dims(0)) {
      if (d < 0 || places < 0 || __builtin_mul_overflow(places, d, &places)) places = -1;
    }
  }
  if (places >= 0 && c.dim(1, 0) > places) {
    return unreadable(text_of("a condition of ", c.dim(1, 0), " places, expected at most ", places));
  }
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (indices, depth, [off, on]): parameter depth. An index that is not in -depth .. depth - 1 has no place.
Status infer_one_hot(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}, {"depth", kInt}}));
  if (!IntegerTypes::contains(c.input(0).dtype)) {
    return unreadable(
        text_of("input 0 ('", c.input(0).name, "') is ", name_of(c.input(0).dtype), ", expected integers: cast it"));
  }
  ISOBIT_TRY(const auto depth, needed_parameter(c, "depth", 1));
  if (c.has_input(1)) ISOBIT_RETURN_IF_ERROR(expect_one_number(c, 1));
  if (depth && depth->front() < 0) return unreadable(text_of("'depth' is ", depth->front(), ", expected 0 or more"));
  if (!c.has_input(2)) return unreadable("the two values are missing");
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(2, {2}));
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", -1), c.rank(0) + 1));
  Numbers dims = c.dims(0);
  dims.insert(dims.begin() + axis, depth ? depth->front() : -1);
  return set_countable_output(c, 0, c.input(2).dtype, std::move(dims));
}

}  // namespace

void add_indexing(std::vector<OpDef>& defs) {
  using enum ElementRule;
  add_ordered(defs, {.name = "Gather",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_gather,
                     .outputs = {guided_by({index_of_gathered}, moved_from_repeatedly(0, gathered))}});
  add_ordered(defs, {.name = "GatherElements",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_gather_elements,
                     .outputs = {guided_by({index_of_place(1)}, moved_from_repeatedly(0, gathered_elements))}});
  add_ordered(defs, {.name = "GatherND",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_gather_nd,
                     .outputs = {guided_by({tuple_of_gathered}, moved_from_repeatedly(0, gathered_parts))}});
  add_ordered(defs, {.name = "isobit.EmbeddingGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_embedding_grad,
                     .outputs = {guided_by_all_of(0, made_of(of_takers, output_by(kSum)))}});
  add_ordered(defs, {.name = "isobit.GatherGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_gather_grad,
                     .outputs = {guided_by_all_of(0, made_of(of_takers, output_by(kSum)))}});
  add_ordered(defs, {.name = "isobit.GatherElementsGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_gather_elements_grad,
                     .outputs = {guided_by({indices_of_line(0, 0)}, made_of(of_element_takers, output_by(kSum)))}});
  add_ordered(defs, {.name = "isobit.GatherNDGrad",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_gather_nd_grad,
                     .outputs = {guided_by_all_of(0, made_of(of_part_takers, output_by(kSum)))}});
  // The element, and what is combined with it in ascending order; or without a reduction the last of these alone.
  add_ordered(defs,
              {.name = "ScatterElements",
               .min_inputs = 3,
               .max_inputs = 3,
               .infer = infer_scatter_elements,
               .outputs = {guided_by({indices_of_line(1, 0)}, made_of(scattered_elements, output_by(kFormula)))}});
  add_ordered(defs, {.name = "ScatterND",
                     .min_inputs = 3,
                     .max_inputs = 3,
                     .infer = infer_scatter_nd,
                     .outputs = {guided_by_all_of(1, made_of(scattered_parts, output_by(kFormula)))}});
  add_ordered(defs, {.name = "Compress",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_compress,
                     .outputs = {guided_by_all_of(1, moved_from(0, compressed))}});
  add_ordered(defs, {.name = "TensorScatter",
                     .min_inputs = 2,
                     .max_inputs = 3,
                     .optional_inputs = {.some = {2}},
                     .infer = infer_tensor_scatter,
                     .outputs = {{.rule = kMoved,
                                  .moved_from = {.some = {0, 1}},
                                  .takes_each_once = true,
                                  .sources = replaced,
                                  .guides = {begin_of_batch}}}});
  add_ordered(defs, {.name = "OneHot",
                     .max_inputs = 3,
                     .optional_inputs = {.some = {1}},
                     .infer = infer_one_hot,
                     .outputs = {guided_by({index_of_mark}, moved_from_repeatedly(2, marked))}});
}

}  // namespace isobit::graph::ops
