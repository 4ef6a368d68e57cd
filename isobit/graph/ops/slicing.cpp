// Parts of tensors, and tensors with something around them.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/movement_parameters.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"

namespace isobit::graph::ops {
namespace {

Numbers counts_of(const std::vector<SliceRange>& ranges) {
  Numbers counts;
  for (const SliceRange& r : ranges) counts.push_back(r.count);
  return counts;
}

// Parameters starts, ends, and perhaps axes and steps.
Status infer_slice(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"starts", kInts}, {"ends", kInts}, {"axes", kInts}, {"steps", kInts}}));
  ISOBIT_TRY(const auto starts, needed_parameter(c, "starts", 1));
  ISOBIT_TRY(const auto ends, needed_parameter(c, "ends", 2));
  ISOBIT_TRY(const auto axes, shape_parameter(c, "axes", 3));
  ISOBIT_TRY(const auto steps, shape_parameter(c, "steps", 4));
  const bool axes_known = axes || !has_parameter(c, "axes", 3);
  if (!axes_known) return set_output_of_rank(c, c.rank(0));
  if (!starts || !ends || (!steps && has_parameter(c, "steps", 4))) {
    Numbers dims = c.dims(0);
    ISOBIT_TRY(const auto places, distinct_axes(axes, dims.size()));
    for (const size_t a : places) dims[a] = -1;
    c.set_output(0, c.input(0).dtype, std::move(dims));
    return {};
  }
  ISOBIT_TRY(const auto ranges, slice_ranges(c.dims(0), *starts, *ends, axes, steps));
  c.set_output(0, c.input(0).dtype, counts_of(ranges));
  return {};
}

// diff_dst -> diff_src of shape src_shape: its elements at the positions start, start + step, ... of each axis, else 0.
Status infer_slice_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(
      c.expect_attributes({{"starts", kInts}, {"counts", kInts}, {"steps", kInts}, {"src_shape", kInts}}));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  const Numbers starts = c.attributes().integers("starts", {}), counts = c.attributes().integers("counts", {}),
                steps = c.attributes().integers("steps", {});
  if (starts.size() != src.size() || counts.size() != src.size() || steps.size() != src.size()) {
    return unreadable("starts, counts and steps need one number an axis");
  }
  for (size_t i = 0; i < src.size(); ++i) {
    if (counts[i] == 0) continue;
    int64_t last = 0;
    const bool inside = counts[i] > 0 && starts[i] >= 0 && starts[i] < src[i] &&
                        !__builtin_mul_overflow(counts[i] - 1, steps[i], &last) &&
                        !__builtin_add_overflow(last, starts[i], &last) && last >= 0 && last < src[i];
    if (!inside || (steps[i] == 0 && counts[i] > 1)) return unreadable(text_of("the slice leaves axis ", i));
  }
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, counts));
  return set_countable_output(c, 0, c.input(0).dtype, src);
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

// The dimensions of `src` with the pads; a mode other than 'constant' takes what it adds from what is left of the
// source.
Expected<Numbers> padded_dims(const Numbers& src, const Pads& pads, bool constant) {
  Numbers dims = src;
  for (size_t i = 0; i < src.size(); ++i) {
    if (src[i] < 0) continue;
    int64_t& d = dims[i];
    if (__builtin_add_overflow(d, pads.before[i], &d) || __builtin_add_overflow(d, pads.after[i], &d) || d < 0) {
      return unreadable(text_of("axis ", i, " of ", src[i], " elements cannot be padded by ", pads.before[i], " and ",
                                pads.after[i]));
    }
    const int64_t left = src[i] + std::min<int64_t>(pads.before[i], 0) + std::min<int64_t>(pads.after[i], 0);
    if (!constant && left <= 0 && d > 0) return unreadable(text_of("nothing is left of axis ", i, " to pad with"));
  }
  return dims;
}

Expected<bool> read_pad_mode(const InferContext& c) {
  const std::string mode = c.attributes().text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return unreadable("attribute 'mode' is none of 'constant', 'reflect', 'edge' and 'wrap'");
  }
  return mode == "constant";
}

// (source, pads, value, axes): parameters pads and axes; the value is an operand.
Status infer_pad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"pads", kInts}, {"axes", kInts}, {"mode", kText}}));
  ISOBIT_TRY(const bool constant, read_pad_mode(c));
  ISOBIT_TRY(const auto pads, needed_parameter(c, "pads", 1));
  ISOBIT_TRY(const auto axes, shape_parameter(c, "axes", 3));
  if (c.has_input(2)) {
    ISOBIT_RETURN_IF_ERROR(c.expect_type(2, c.input(0).dtype));
    ISOBIT_RETURN_IF_ERROR(expect_one_number(c, 2));
  }
  if (!pads || (!axes && has_parameter(c, "axes", 3))) return set_output_of_rank(c, c.rank(0));
  ISOBIT_TRY(const Pads all, pads_of_axes(c.dims(0).size(), *pads, axes));
  ISOBIT_TRY(auto dims, padded_dims(c.dims(0), all, constant));
  return set_countable_output(c, 0, c.input(0).dtype, std::move(dims));
}

// Parameter shape: the extents of the axes (attribute axes; all of them without it), cropped or filled with 0 on both
// sides.
Status infer_center_crop_pad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"shape", kInts}, {"axes", kInts}}));
  ISOBIT_TRY(const auto extents, needed_parameter(c, "shape", 1));
  std::optional<Numbers> axes;
  if (c.attributes().has("axes")) axes = c.attributes().integers("axes", {});
  if (!extents) return set_output_of_rank(c, c.rank(0));
  ISOBIT_RETURN_IF_ERROR(centering_pads(c.dims(0), *extents, axes));
  ISOBIT_TRY(const auto places, distinct_axes(axes, c.dims(0).size()));
  Numbers dims = c.dims(0);
  for (size_t i = 0; i < places.size(); ++i) dims[places[i]] = (*extents)[i];
  return set_countable_output(c, 0, c.input(0).dtype, std::move(dims));
}

// diff_dst -> diff_src of shape src_shape: each element is one Sum of those of diff_dst that came from it. Of every
// mode but 'constant', whose gradient is a Pad by the negative numbers.
Status infer_pad_grad(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"pads", kInts}, {"mode", kText}, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_TRY(const bool constant, read_pad_mode(c));
  if (constant) return unreadable("mode 'constant' has no sums");
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_TRY(const Pads all, pads_of_axes(src.size(), c.attributes().integers("pads", {}), std::nullopt));
  ISOBIT_TRY(const auto dims, padded_dims(src, all, false));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims));
  return set_countable_output(c, 0, c.input(0).dtype, src);
}

// Parameter split: the sizes of the parts; without it num_outputs, or as many parts as the node has outputs.
Status infer_split(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"axis", kInt}, {"split", kInts}, {"num_outputs", kInt}}));
  ISOBIT_TRY(const int64_t axis, normalized_axis(c.attributes().integer("axis", 0), c.rank(0)));
  ISOBIT_TRY(const auto sizes, shape_parameter(c, "split", 1));
  const int64_t parts = c.output_count();
  const int64_t named = c.attributes().integer("num_outputs", parts);
  if (named != parts) return unreadable(text_of("'num_outputs' is ", named, ", the node has ", parts, " outputs"));
  Numbers extents(static_cast<size_t>(parts), -1);
  if (sizes || !has_parameter(c, "split", 1)) {
    ISOBIT_TRY(extents, split_sizes(c.dim(0, static_cast<int>(axis)), extents.size(), sizes));
  }
  for (size_t o = 0; o < extents.size(); ++o) {
    Numbers dims = c.dims(0);
    dims[static_cast<size_t>(axis)] = extents[o];
    c.set_output(static_cast<int>(o), c.input(0).dtype, std::move(dims));
  }
  return {};
}

}  // namespace

Status expect_one_number(const InferContext& c, int i) {
  if (c.rank(i) == 0) return {};
  return c.expect_dims(i, {1});
}

void add_slicing(std::vector<OpDef>& defs) {
  add_ordered(defs, {.name = "Slice",
                     .max_inputs = 5,
                     .optional_inputs = {.some = {1, 2, 3, 4}},
                     .infer = infer_slice,
                     .outputs = {moved_from(0, sliced)}});
  add_ordered(defs, {.name = "isobit.SliceGrad", .infer = infer_slice_grad, .outputs = {moved_from(0, slice_put)}});
  add_ordered(defs, {.name = "isobit.Block", .infer = infer_block, .outputs = {moved_from(0, of_the_block)}});
  add_ordered(defs, {.name = "isobit.BlockGrad", .infer = infer_block_grad, .outputs = {moved_from(0, block_put)}});
  add_ordered(defs, {.name = "Pad",
                     .max_inputs = 4,
                     .optional_inputs = {.some = {1, 2, 3}},
                     .infer = infer_pad,
                     .outputs = {{.rule = ElementRule::kMoved, .moved_from = {.some = {0, 2}}, .sources = padded}}});
  add_ordered(defs, {.name = "CenterCropPad",
                     .max_inputs = 2,
                     .optional_inputs = {.some = {1}},
                     .infer = infer_center_crop_pad,
                     .outputs = {moved_from(0, centered)}});
  add_ordered(defs, {.name = "isobit.PadGrad",
                     .infer = infer_pad_grad,
                     .outputs = {made_of(of_padded_places, output_by(ElementRule::kSum))}});
  add_ordered(defs, {.name = "Split",
                     .max_inputs = 2,
                     .optional_inputs = {.some = {1}},
                     .max_outputs = 1 << 16,
                     .more_outputs_like_last = true,
                     .infer = infer_split,
                     .outputs = {moved_from(0, of_part)}});
}

}  // namespace isobit::graph::ops
