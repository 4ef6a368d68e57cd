// Windows laid out as the columns of a matrix, and back.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/parameters.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {
namespace {

// Product of extents, -1 where one of them is not known.
Expected<int64_t> product_of(std::span<const int64_t> extents) {
  int64_t product = 1;
  for (int64_t d : extents) {
    if (product < 0 || d < 0) {
      product = -1;
    } else if (__builtin_mul_overflow(product, d, &product)) {
      return unreadable("the windows together are too large");
    }
  }
  return product;
}

struct Matrix {
  int64_t taps = 1, positions = -1;
};

Expected<Matrix> matrix_of(const Windows& windows, std::span<const int64_t> image) {
  ISOBIT_RETURN_IF_ERROR(check_counts(windows, image));
  std::vector<int64_t> sizes, counts;
  for (size_t i = 0; i < windows.size(); ++i) {
    sizes.push_back(windows[i].size);
    counts.push_back(windows[i].count(image[i]));
  }
  Matrix m;
  ISOBIT_TRY(m.taps, product_of(sizes));
  ISOBIT_TRY(m.positions, product_of(counts));
  return m;
}

// [n, c, ..] -> [n, c * taps, positions]: row (channel, tap) of an image has the element under that tap at every
// position, +0 on padding.
Status infer_im2col(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes(
      {{"kernel_shape", kInts}, {"strides", kInts}, {"pads", kInts}, {"dilations", kInts}, {"auto_pad", kText}}));
  if (c.rank(0) < 3) return unreadable("the source needs rank 3 or more: images, channels and an axis for windows");
  const std::span<const int64_t> image = image_of(c.dims(0));
  ISOBIT_RETURN_IF_ERROR(check_plane(image));
  ISOBIT_TRY(const Windows windows, read_windows(c.attributes(), image, {}));
  ISOBIT_TRY(const Matrix m, matrix_of(windows, image));
  const int64_t extents[] = {c.dim(0, 1), m.taps};
  ISOBIT_TRY(const int64_t rows, product_of(extents));
  c.set_output(0, c.input(0).dtype, {c.dim(0, 0), rows, m.positions});
  return {};
}

// Where image_shape or block_shape is not known before the run.
Status set_unknown_image(InferContext& c) {
  const bool given = c.has_input(1) && c.input(1).has_rank() && c.rank(1) == 1 && c.dim(1, 0) >= 0;
  if (!given) {
    c.set_output(0, c.input(0).dtype, kUnknownRank);
    return {};
  }
  ISOBIT_RETURN_IF_ERROR(check_axes(c.dim(1, 0)));
  std::vector<int64_t> dims(static_cast<size_t>(c.dim(1, 0)) + 2, -1);
  dims[0] = c.dim(0, 0);
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

// (src [n, c * taps, positions][, image_shape][, block_shape]) -> [n, c, image_shape ..]: the elements under each place
// added up.
Status infer_col2im(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes(
      {{"image_shape", kInts}, {"block_shape", kInts}, {"strides", kInts}, {"pads", kInts}, {"dilations", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 3));
  ISOBIT_TRY(const auto image, shape_parameter(c, "image_shape", 1));
  ISOBIT_TRY(const auto block, shape_parameter(c, "block_shape", 2));
  if (!has_parameter(c, "image_shape", 1) || !has_parameter(c, "block_shape", 2)) {
    return unreadable("'image_shape' and 'block_shape' are both needed");
  }
  if (!image || !block) return set_unknown_image(c);
  if (image->empty() || std::any_of(image->begin(), image->end(), [](int64_t d) { return d < 1; })) {
    return unreadable(
        text_of("'image_shape' is ", Shape(*image).text(), ", expected one extent or more, each 1 or more"));
  }
  ISOBIT_RETURN_IF_ERROR(check_plane(*image));
  ISOBIT_TRY(const Windows windows, read_windows(c.attributes(), *image, *block));
  ISOBIT_TRY(const Matrix m, matrix_of(windows, *image));
  if (c.dim(0, 1) >= 0 && c.dim(0, 1) % m.taps != 0) {
    return unreadable(text_of("the matrix has ", c.dim(0, 1), " rows, expected a multiple of ", m.taps));
  }
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, {c.dim(0, 0), c.dim(0, 1), m.positions}));
  std::vector<int64_t> dims = {c.dim(0, 0), c.dim(0, 1) < 0 ? -1 : c.dim(0, 1) / m.taps};
  dims.insert(dims.end(), image->begin(), image->end());
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

}  // namespace

void add_columns(std::vector<OpDef>& defs) {
  add_ordered(defs, {.name = "isobit.Im2Col", .infer = infer_im2col, .outputs = {moved_from_repeatedly(0, under_tap)}});
  add_ordered(defs, {.name = "Col2Im",
                     .max_inputs = 3,
                     .optional_inputs = {.some = {1, 2}},
                     .infer = infer_col2im,
                     .outputs = {made_of(folded, output_by(ElementRule::kSum))}});
}

}  // namespace isobit::graph::ops
