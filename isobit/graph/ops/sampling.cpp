// Images sampled at points that data name.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {
namespace {

// Far from where products of them overflow.
constexpr int64_t kMostTaps = 1 << 24, kMostGroups = 1 << 24;
constexpr int kNoInput = 1 << 16;  // the number of one that no node has
// Of an image: a point is made of up to 4 places along each.
constexpr int kMostSampled = 5;

Status expect_text(const InferContext& c, const char* name, const char* fallback,
                   std::initializer_list<const char*> texts) {
  const std::string text = c.attributes().text(name, fallback);
  if (std::find(texts.begin(), texts.end(), text) != texts.end()) return {};
  return unreadable(text_of("attribute '", name, "' is '", text, "', which is not known"));
}

#define ISOBIT_GRID_ATTRIBUTES \
  {"align_corners", kInt}, {"mode", kText}, { "padding_mode", kText }

Status check_modes(const InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(expect_text(c, "mode", "linear", {"linear", "nearest", "cubic", "bilinear", "bicubic"}));
  return expect_text(c, "padding_mode", "zeros", {"zeros", "border", "reflection"});
}

// What a source of these dimensions is made into by input `grid`: [n, c, points ..].
Expected<std::vector<int64_t>> sampled_dims(const InferContext& c, const std::vector<int64_t>& src, int grid) {
  const auto rank = static_cast<int>(src.size());
  if (rank < 3 || c.rank(grid) != rank) {
    return unreadable("source and grid need one rank of 3 or more: images, channels and axes to sample along");
  }
  if (rank > kMostSampled + 2) {
    return unreadable(text_of("images of ", rank - 2, " axes, expected at most ", kMostSampled));
  }
  const std::span<const int64_t> image = image_of(src);
  if (std::find(image.begin(), image.end(), 0) != image.end()) return unreadable("images without places");
  std::vector<int64_t> points = c.dims(grid);
  points.front() = src[0];
  points.back() = rank - 2;
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(grid, points));
  std::vector<int64_t> dims = {src[0], src[1]};
  dims.insert(dims.end(), points.begin() + 1, points.end() - 1);
  return dims;
}

// (src [n, c, image ..], grid [n, points .., rank]) -> [n, c, points ..]
Status infer_grid_sample(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_GRID_ATTRIBUTES}));
  ISOBIT_RETURN_IF_ERROR(check_modes(c));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_TRY(auto dims, sampled_dims(c, c.dims(0), 1));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (diff_dst, grid) -> diff_src; attribute src_shape.
Status infer_grid_sample_grad_src(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_GRID_ATTRIBUTES, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(check_modes(c));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_TRY(const auto dims, sampled_dims(c, src, 1));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims));
  return set_countable_output(c, 0, c.input(0).dtype, src);
}

// (diff_dst, src, grid) -> diff_grid
Status infer_grid_sample_grad_grid(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_GRID_ATTRIBUTES}));
  ISOBIT_RETURN_IF_ERROR(check_modes(c));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  for (int i : {1, 2}) ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(0).dtype));
  ISOBIT_TRY(const auto dims, sampled_dims(c, c.dims(1), 2));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims));
  c.set_output(0, c.input(0).dtype, c.dims(2));
  return {};
}

// (theta [n, rank, rank + 1][, size]) -> [n, image .., rank]; size is [n, c, image ..].
Status infer_affine_grid(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"align_corners", kInt}, {"size", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 3));
  ISOBIT_TRY(const auto size, shape_parameter(c, "size", 1));
  if (!has_parameter(c, "size", 1)) return unreadable("'size' is needed");
  const int64_t rank = c.dim(0, 1) >= 0 ? c.dim(0, 1) : c.dim(0, 2) - 1;
  if (!size) {
    constexpr int64_t kMostAxes = 64;
    if (rank < 1 || rank > kMostAxes) {
      c.set_output(0, c.input(0).dtype, kUnknownRank);
      return {};
    }
    std::vector<int64_t> dims(static_cast<size_t>(rank) + 2, -1);
    dims.front() = c.dim(0, 0);
    dims.back() = rank;
    c.set_output(0, c.input(0).dtype, std::move(dims));
    return {};
  }
  if (size->size() < 3 || std::any_of(size->begin() + 2, size->end(), [](int64_t d) { return d < 1; })) {
    return unreadable(
        text_of("'size' is ", Shape(*size).text(), ", expected images, channels and extents of 1 or more"));
  }
  const auto axes = static_cast<int64_t>(size->size()) - 2;
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, {(*size)[0], axes, axes + 1}));
  ISOBIT_RETURN_IF_ERROR(check_plane(image_of(*size)));
  std::vector<int64_t> dims = {(*size)[0]};
  dims.insert(dims.end(), size->begin() + 2, size->end());
  dims.push_back(axes);
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

#define ISOBIT_DEFORM_ATTRIBUTES \
  {"kernel_shape", kInts}, {"strides", kInts}, {"pads", kInts}, {"dilations", kInts}, { "offset_group", kInt }

// The windows over a source [n, c, h, w], moved by input `offset` [n, groups * taps * 2, ..] and scaled by input `mask`
// [n, groups * taps, ..] if there is one, as columns: [n, c * taps, positions].
Expected<std::vector<int64_t>> deformed_dims(const InferContext& c, const std::vector<int64_t>& src, int offset,
                                             int mask) {
  const std::span<const int64_t> image = image_of(src);
  if (image[0] == 0 || image[1] == 0) return unreadable("images without places have none to move windows over");
  ISOBIT_RETURN_IF_ERROR(check_plane(image));
  ISOBIT_TRY(const Windows windows, read_windows(c.attributes(), image, {}));
  ISOBIT_RETURN_IF_ERROR(check_counts(windows, image));
  const int64_t groups = c.attributes().integer("offset_group", 1), channels = src[1];
  if (groups < 1 || groups > kMostGroups || (channels >= 0 && channels % groups != 0)) {
    return unreadable(text_of("offset_group ", groups, " does not divide ", channels, " channels"));
  }
  const int64_t taps = windows[0].size * windows[1].size;
  std::vector<int64_t> dims = dims_of_windows(src[0], 0, windows, image);
  ISOBIT_RETURN_IF_ERROR(check_plane(image_of(dims)));
  int64_t rows = -1;
  if (taps > kMostTaps || (channels >= 0 && __builtin_mul_overflow(channels, taps, &rows))) {
    return unreadable(text_of("windows of ", taps, " taps are too large"));
  }
  dims[1] = groups * taps * 2;
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(offset, dims));
  if (c.has_input(mask)) {
    dims[1] = groups * taps;
    ISOBIT_RETURN_IF_ERROR(c.expect_like(mask, 0, dims));
  }
  const int64_t positions = dims[2] < 0 || dims[3] < 0 ? -1 : dims[2] * dims[3];
  return std::vector<int64_t>{src[0], rows, positions};
}

// (src, offset[, mask]) -> [n, c * taps, positions]
Status infer_deform_im2col(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_DEFORM_ATTRIBUTES}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 4));
  ISOBIT_TRY(auto dims, deformed_dims(c, c.dims(0), 1, 2));
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (diff_matrix, offset) -> diff_src where the mask is ones; attribute src_shape.
Status infer_deform_grad_src(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_DEFORM_ATTRIBUTES, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  if (src.size() != 4) return unreadable("attribute 'src_shape' needs 4 numbers");
  ISOBIT_TRY(const auto dims, deformed_dims(c, src, 1, kNoInput));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims));
  return set_countable_output(c, 0, c.input(0).dtype, src);
}

// (diff_matrix, src, offset) -> diff_offset where the mask is ones
Status infer_deform_grad_offset(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_DEFORM_ATTRIBUTES}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  for (int i : {1, 2}) ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(0).dtype));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(1, 4));
  ISOBIT_TRY(const auto dims, deformed_dims(c, c.dims(1), 2, kNoInput));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims));
  c.set_output(0, c.input(0).dtype, c.dims(2));
  return {};
}

}  // namespace

void add_sampling(std::vector<OpDef>& defs) {
  using enum ElementRule;
  add_ordered(defs, {.name = "GridSample",
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .infer = infer_grid_sample,
                     .outputs = {output_by(kSampled)}});
  add_ordered(defs, {.name = "AffineGrid",
                     .max_inputs = 2,
                     .optional_inputs = {.some = {1}},
                     .infer = infer_affine_grid,
                     .outputs = {made_of(of_map_row, output_by(kSum))}});
  add_ordered(defs, {.name = "isobit.DeformIm2Col",
                     .min_inputs = 2,
                     .max_inputs = 3,
                     .optional_inputs = {.some = {2}},
                     .infer = infer_deform_im2col,
                     .outputs = {output_by(kSampled)}});
  const auto add_grad = [&](const char* name, int inputs, InferRule infer) {
    add_ordered(defs, {.name = name,
                       .min_inputs = inputs,
                       .max_inputs = inputs,
                       .infer = std::move(infer),
                       .outputs = {output_by(kSampled)}});
  };
  add_grad("isobit.GridSampleGradSrc", 2, infer_grid_sample_grad_src);
  add_grad("isobit.GridSampleGradGrid", 3, infer_grid_sample_grad_grid);
  add_grad("isobit.DeformIm2ColGradSrc", 2, infer_deform_grad_src);
  add_grad("isobit.DeformIm2ColGradOffset", 3, infer_deform_grad_offset);
}

}  // namespace isobit::graph::ops
