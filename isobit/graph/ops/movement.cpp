#include <algorithm>
#include <numeric>

#include "isobit/base/text.h"
#include "isobit/graph/ops/movement_parameters.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"

namespace isobit::graph::ops {

Status check_countable(DType dtype, const std::vector<int64_t>& dims) {
  ISOBIT_RETURN_IF_ERROR(check_axes(static_cast<int64_t>(dims.size())));
  if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; })) return {};
  ISOBIT_RETURN_IF_ERROR(checked_elements(dims, dtype, INT64_MAX));
  return {};
}

Status set_countable_output(InferContext& c, int i, DType dtype, std::vector<int64_t> dims) {
  ISOBIT_RETURN_IF_ERROR(check_countable(dtype, dims));
  c.set_output(i, dtype, std::move(dims));
  return {};
}

Status set_output_of_rank(InferContext& c, int64_t rank) {
  ISOBIT_RETURN_IF_ERROR(check_axes(rank));
  c.set_output(0, c.input(0).dtype, rank < 0 ? kUnknownRank : Numbers(static_cast<size_t>(rank), -1));
  return {};
}

Expected<std::optional<std::vector<int64_t>>> needed_parameter(const InferContext& c, const char* name, int input) {
  if (!has_parameter(c, name, input)) return unreadable(text_of("'", name, "' is neither an attribute nor an input"));
  return shape_parameter(c, name, input);
}

namespace {

Status check_extents(const char* name, const Numbers& extents) {
  for (const int64_t e : extents) {
    if (e < 0) return unreadable(text_of("a number of '", name, "' is ", e, ", expected 0 or more"));
  }
  return {};
}

Status infer_transpose(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"perm", kInts}}));
  Numbers reversed(static_cast<size_t>(c.rank(0)));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const Numbers perm = c.attributes().integers("perm", reversed);
  if (static_cast<int>(perm.size()) != c.rank(0)) return unreadable("attribute 'perm' does not have the source's rank");
  // All of it, before any of it is a place: the least numbers may be right where the first one is not.
  Numbers sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return unreadable("attribute 'perm' is not a permutation");
  }
  Numbers dims;
  for (const int64_t axis : perm) dims.push_back(c.dim(0, static_cast<int>(axis)));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// The product of the dimensions; -1 where one is not known.
Expected<int64_t> elements_of(const Numbers& dims) {
  int64_t total = 1;
  bool known = true;
  for (const int64_t d : dims) {
    known = known && d >= 0;
    if (d >= 0 && __builtin_mul_overflow(total, d, &total)) return unreadable("source is too large");
  }
  return known ? total : -1;
}

// Parameter shape: 0 keeps the source's dimension (unless allowzero), one -1 is inferred.
Status infer_reshape(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"shape", kInts}, {"allowzero", kInt}}));
  ISOBIT_TRY(const auto wanted, needed_parameter(c, "shape", 1));
  if (!wanted) return set_output_of_rank(c, c.dims(1).empty() ? 1 : c.dim(1, 0));
  Numbers shape = *wanted;
  const bool keeps = c.attributes().integer("allowzero", 0) == 0;
  int64_t known = 1;
  bool has_zero = false;
  auto inferred = shape.end();
  for (auto d = shape.begin(); d != shape.end(); ++d) {
    const auto axis = static_cast<size_t>(d - shape.begin());
    if (*d == 0 && keeps && axis < c.dims(0).size()) {
      *d = c.dims(0)[axis];
      if (*d < 0) continue;  // not known yet
    }
    has_zero = has_zero || *d == 0;
    if (*d == -1 && inferred == shape.end())
      inferred = d;
    else if (*d < 0 || __builtin_mul_overflow(known, *d, &known))
      return unreadable("'shape' is malformed");
  }
  if (!keeps && has_zero && inferred != shape.end()) return unreadable("'shape' has both 0 and -1");
  ISOBIT_TRY(const int64_t total, elements_of(c.dims(0)));
  if (total >= 0 && inferred != shape.end()) {
    if (known == 0 || total % known != 0) return unreadable("'shape' does not divide the source");
    *inferred = total / known;
  } else if (total >= 0 && known != total) {
    return unreadable(text_of("shape ", Shape(shape).text(), " does not hold the source's ", total, " elements"));
  }
  return set_countable_output(c, 0, c.input(0).dtype, std::move(shape));
}

Status infer_flatten(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}}));
  const int64_t given = c.attributes().integer("axis", 1), axis = given < 0 ? given + c.rank(0) : given;
  if (axis < 0 || axis > c.rank(0)) return unreadable(text_of("axis ", given, " is outside the source"));
  const auto middle = c.dims(0).begin() + axis;
  ISOBIT_TRY(const int64_t rows, elements_of({c.dims(0).begin(), middle}));
  ISOBIT_TRY(const int64_t columns, elements_of({middle, c.dims(0).end()}));
  c.set_output(0, c.input(0).dtype, {rows, columns});
  return {};
}

// Parameter axes: those of extent 1 that go; without it all of them.
Status infer_squeeze(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axes", kInts}}));
  ISOBIT_TRY(const auto axes, shape_parameter(c, "axes", 1));
  if (!axes && has_parameter(c, "axes", 1)) {
    const int64_t gone = c.dims(1).empty() ? 1 : c.dim(1, 0);
    return set_output_of_rank(c, gone < 0 ? -1 : c.rank(0) - gone);
  }
  std::vector<bool> goes(c.dims(0).size(), false);
  for (size_t i = 0; !axes && i < goes.size(); ++i) {
    if (c.dims(0)[i] < 0) return set_output_of_rank(c, -1);
    goes[i] = c.dims(0)[i] == 1;
  }
  if (axes) {
    ISOBIT_TRY(const auto places, distinct_axes(axes, goes.size()));
    for (const size_t a : places) {
      if (c.dims(0)[a] >= 0 && c.dims(0)[a] != 1) {
        return unreadable(text_of("axis ", a, " has extent ", c.dims(0)[a], ", expected 1"));
      }
      goes[a] = true;
    }
  }
  Numbers dims;
  for (size_t i = 0; i < goes.size(); ++i) {
    if (!goes[i]) dims.push_back(c.dims(0)[i]);
  }
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// Parameter axes, of the result: new ones of extent 1.
Status infer_unsqueeze(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axes", kInts}}));
  ISOBIT_TRY(const auto axes, needed_parameter(c, "axes", 1));
  if (!axes) {
    const int64_t more = c.dims(1).empty() ? 1 : c.dim(1, 0);
    ISOBIT_RETURN_IF_ERROR(check_axes(more));  // the sum might overflow
    return set_output_of_rank(c, more < 0 ? -1 : c.rank(0) + more);
  }
  Numbers dims(c.dims(0).size() + axes->size(), -2);
  ISOBIT_TRY(const auto places, distinct_axes(axes, dims.size()));
  for (const size_t a : places) dims[a] = 1;
  auto next = c.dims(0).begin();
  for (int64_t& d : dims) {
    if (d == -2) d = *next++;
  }
  return set_countable_output(c, 0, c.input(0).dtype, std::move(dims));
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
  return set_countable_output(c, 0, c.input(0).dtype, std::move(dims));
}

// Parameter shape: what the source is to be broadcast with.
Status infer_expand(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"shape", kInts}}));
  ISOBIT_TRY(const auto shape, needed_parameter(c, "shape", 1));
  if (!shape) {
    const int64_t rank = c.dims(1).empty() ? 1 : c.dim(1, 0);
    return set_output_of_rank(c, rank < 0 ? -1 : std::max<int64_t>(rank, c.rank(0)));
  }
  ISOBIT_RETURN_IF_ERROR(check_extents("shape", *shape));
  ISOBIT_TRY(auto dims, broadcast_dims(c.dims(0), *shape));
  return set_countable_output(c, 0, c.input(0).dtype, std::move(dims));
}

// Parameter repeats: how often each axis comes.
Status infer_tile(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"repeats", kInts}}));
  ISOBIT_TRY(const auto repeats, needed_parameter(c, "repeats", 1));
  if (!repeats) return set_output_of_rank(c, c.rank(0));
  ISOBIT_RETURN_IF_ERROR(check_extents("repeats", *repeats));
  Numbers dims = c.dims(0);
  if (repeats->size() != dims.size()) {
    return unreadable(text_of("found ", repeats->size(), " repeats, expected one for each of ", dims.size(), " axes"));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0 && __builtin_mul_overflow(dims[i], (*repeats)[i], &dims[i])) {
      return unreadable(text_of("axis ", i, " is too large when it is repeated"));
    }
  }
  return set_countable_output(c, 0, c.input(0).dtype, std::move(dims));
}

// A block of blocksize x blocksize places, of channels C / blocksize^2, from the channels of one place; or back.
Expected<int64_t> read_block_size(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 4));
  const int64_t size = c.attributes().integer("blocksize", 0);
  if (size < 1 || size > 1 << 20) return unreadable(text_of("blocksize ", size, ", expected 1 to ", 1 << 20));
  return size;
}

// -1 where the dimension is not known.
Expected<int64_t> divided(int64_t dim, int64_t by) {
  if (dim >= 0 && dim % by != 0) return unreadable(text_of("an extent of ", dim, " is no multiple of ", by));
  return dim < 0 ? -1 : dim / by;
}

Expected<int64_t> multiplied(int64_t dim, int64_t by) {
  int64_t product = -1;
  if (dim >= 0 && __builtin_mul_overflow(dim, by, &product))
    return unreadable(text_of("an extent of ", dim, " x ", by));
  return product;
}

Status infer_depth_to_space(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"blocksize", kInt}, {"mode", kText}}));
  const std::string mode = c.attributes().text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return unreadable("attribute 'mode' is neither 'DCR' nor 'CRD'");
  ISOBIT_TRY(const int64_t size, read_block_size(c));
  ISOBIT_TRY(const int64_t channels, divided(c.dim(0, 1), size * size));
  ISOBIT_TRY(const int64_t height, multiplied(c.dim(0, 2), size));
  ISOBIT_TRY(const int64_t width, multiplied(c.dim(0, 3), size));
  return set_countable_output(c, 0, c.input(0).dtype, {c.dim(0, 0), channels, height, width});
}

Status infer_space_to_depth(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"blocksize", kInt}}));
  ISOBIT_TRY(const int64_t size, read_block_size(c));
  ISOBIT_TRY(const int64_t channels, multiplied(c.dim(0, 1), size * size));
  ISOBIT_TRY(const int64_t height, divided(c.dim(0, 2), size));
  ISOBIT_TRY(const int64_t width, divided(c.dim(0, 3), size));
  return set_countable_output(c, 0, c.input(0).dtype, {c.dim(0, 0), channels, height, width});
}

// (x, lengths by batch): the first ones of each batch's time steps, turned round.
Status infer_reverse_sequence(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"batch_axis", kInt}, {"time_axis", kInt}}));
  const int64_t batch = c.attributes().integer("batch_axis", 1), time = c.attributes().integer("time_axis", 0);
  if (c.rank(0) < 2) return unreadable("the source needs rank 2 or more");
  if (batch < 0 || batch > 1 || time != 1 - batch) {
    return unreadable(text_of("batch axis ", batch, " and time axis ", time, ", expected 0 and 1 or 1 and 0"));
  }
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, DType::kInt64));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, {c.dim(0, static_cast<int>(batch))}));
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

// Parameter k: the diagonal that is kept with all on one side of it.
Status infer_trilu(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"k", kInt}, {"upper", kInt}}));
  ISOBIT_RETURN_IF_ERROR(shape_parameter(c, "k", 1));
  if (c.has_input(1)) ISOBIT_RETURN_IF_ERROR(expect_one_number(c, 1));
  if (c.rank(0) < 2) return unreadable("matrices need rank 2 or more");
  c.set_output(0, c.input(0).dtype, c.dims(0));
  return {};
}

}  // namespace

void add_movement(std::vector<OpDef>& defs) {
  const InputSet second = {.some = {1}};
  add_ordered(defs, {.name = "Transpose", .infer = infer_transpose, .outputs = {moved_from(0, transposed)}});
  add_ordered(defs, {.name = "Flatten", .infer = infer_flatten, .outputs = {moved_from(0, same_element)}});
  // (source, and as an operand what is no attribute)
  add_ordered(defs, {.name = "Reshape",
                     .max_inputs = 2,
                     .optional_inputs = second,
                     .infer = infer_reshape,
                     .outputs = {moved_from(0, same_element)}});
  add_ordered(defs, {.name = "Squeeze",
                     .max_inputs = 2,
                     .optional_inputs = second,
                     .infer = infer_squeeze,
                     .outputs = {moved_from(0, same_element)}});
  add_ordered(defs, {.name = "Unsqueeze",
                     .max_inputs = 2,
                     .optional_inputs = second,
                     .infer = infer_unsqueeze,
                     .outputs = {moved_from(0, same_element)}});
  add_ordered(defs, {.name = "Trilu",
                     .max_inputs = 2,
                     .optional_inputs = second,
                     .infer = infer_trilu,
                     .outputs = {guided_by_all_of(1, moved_from(0, of_triangle))}});
  add_ordered(defs, {.name = "Expand",
                     .max_inputs = 2,
                     .optional_inputs = second,
                     .infer = infer_expand,
                     .outputs = {moved_from_repeatedly(0, expanded)}});
  add_ordered(defs, {.name = "Tile",
                     .max_inputs = 2,
                     .optional_inputs = second,
                     .infer = infer_tile,
                     .outputs = {moved_from_repeatedly(0, tiled)}});
  add_ordered(defs, {.name = "Concat",
                     .max_inputs = 1 << 16,
                     .infer = infer_concat,
                     .outputs = {{.rule = ElementRule::kMoved,
                                  .moved_from = {.all = true},
                                  .takes_each_once = true,
                                  .sources = concatenated}}});
  add_ordered(defs,
              {.name = "DepthToSpace", .infer = infer_depth_to_space, .outputs = {moved_from(0, depth_to_space)}});
  add_ordered(defs,
              {.name = "SpaceToDepth", .infer = infer_space_to_depth, .outputs = {moved_from(0, space_to_depth)}});
  add_ordered(defs, {.name = "ReverseSequence",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_reverse_sequence,
                     .outputs = {guided_by({length_of_batch}, moved_from(0, reversed))}});
}

}  // namespace isobit::graph::ops
