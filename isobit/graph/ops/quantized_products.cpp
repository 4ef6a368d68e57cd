// Inner products of 8-bit integers.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {
namespace {

Status expect_byte(const InferContext& c, int i) {
  if (Types<int8_t, uint8_t>::contains(c.input(i).dtype)) return {};
  return unreadable(
      text_of("input ", i, " ('", c.input(i).name, "') is ", name_of(c.input(i).dtype), ", expected int8 or uint8"));
}

// One number, one for each of `lines` lines of a matrix, or one for each line of every matrix: then the shape is
// `lines_shape`.
Status expect_numbers(const InferContext& c, int i, int64_t lines, const std::vector<int64_t>& lines_shape) {
  const std::vector<int64_t>& dims = c.dims(i);
  if (dims.empty()) return {};
  const auto fits = [](int64_t found, int64_t wanted) { return found == wanted || found < 0 || wanted < 0; };
  if (dims.size() == 1 && (dims[0] == 1 || fits(dims[0], lines))) return {};
  if (!lines_shape.empty() && dims.size() == lines_shape.size() &&
      std::equal(dims.begin(), dims.end(), lines_shape.begin(), fits)) {
    return {};
  }
  return unreadable(text_of("input ", i, " ('", c.input(i).name, "') has shape ", Shape(dims).text(),
                            ", expected one number, or ", lines, ", one for each line"));
}

// The zero point of an operand: of its type.
Status expect_zero(const InferContext& c, int i, int operand, int64_t lines, const std::vector<int64_t>& lines_shape) {
  if (!c.has_input(i)) return {};
  ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(operand).dtype));
  return expect_numbers(c, i, lines, lines_shape);
}

Status expect_scale(const InferContext& c, int i, int first, int64_t lines, const std::vector<int64_t>& lines_shape) {
  ISOBIT_RETURN_IF_ERROR(c.expect_float(i));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(i, c.input(first).dtype));
  return expect_numbers(c, i, lines, lines_shape);
}

// The shape of one number for each row, or each column, of the matrices of shape `dims`.
std::vector<int64_t> one_for_each_line(std::vector<int64_t> dims, bool rows) {
  dims[dims.size() - (rows ? 1 : 2)] = 1;
  return dims;
}

// The kernel has a list of them.
Status check_matrices(const std::vector<int64_t>& leading) {
  constexpr int64_t kMostMatrices = 1 << 22;
  int64_t matrices = 1;
  for (const int64_t d : leading) {
    if (d >= 0 && (__builtin_mul_overflow(matrices, std::max<int64_t>(d, 1), &matrices) || matrices > kMostMatrices)) {
      return unreadable(
          text_of("more than ", kMostMatrices, " matrices, in a shape that begins ", Shape(leading).text()));
    }
  }
  return {};
}

// The dimensions of a b.
Expected<std::vector<int64_t>> product_dims(const InferContext& c, int a, int b) {
  if (c.rank(a) < 2 || c.rank(b) < 2) return unreadable("both matrices need rank 2 or more");
  const int64_t ka = c.dim(a, -1), kb = c.dim(b, -2);
  if (ka >= 0 && kb >= 0 && ka != kb) return unreadable(text_of("matrices of ", ka, " columns and ", kb, " rows"));
  ISOBIT_TRY(auto dims,
             broadcast_dims({c.dims(a).begin(), c.dims(a).end() - 2}, {c.dims(b).begin(), c.dims(b).end() - 2}));
  ISOBIT_RETURN_IF_ERROR(check_matrices(dims));
  dims.push_back(c.dim(a, -2));
  dims.push_back(c.dim(b, -1));
  return dims;
}

// (a, b[, a_zero_point][, b_zero_point]) -> int32
Status infer_matmul_integer(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  for (int i : {0, 1}) ISOBIT_RETURN_IF_ERROR(expect_byte(c, i));
  ISOBIT_TRY(auto dims, product_dims(c, 0, 1));
  ISOBIT_RETURN_IF_ERROR(expect_zero(c, 2, 0, c.dim(0, -2), one_for_each_line(c.dims(0), true)));
  ISOBIT_RETURN_IF_ERROR(expect_zero(c, 3, 1, c.dim(1, -1), one_for_each_line(c.dims(1), false)));
  c.set_output(0, DType::kInt32, std::move(dims));
  return {};
}

// (a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point) -> y
Status infer_qlinear_matmul(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({}));
  for (int i : {0, 3, 7}) ISOBIT_RETURN_IF_ERROR(expect_byte(c, i));
  ISOBIT_TRY(auto dims, product_dims(c, 0, 3));
  const auto rows = one_for_each_line(c.dims(0), true), columns = one_for_each_line(c.dims(3), false);
  ISOBIT_RETURN_IF_ERROR(expect_scale(c, 1, 1, c.dim(0, -2), rows));
  ISOBIT_RETURN_IF_ERROR(expect_zero(c, 2, 0, c.dim(0, -2), rows));
  ISOBIT_RETURN_IF_ERROR(expect_scale(c, 4, 1, c.dim(3, -1), columns));
  ISOBIT_RETURN_IF_ERROR(expect_zero(c, 5, 3, c.dim(3, -1), columns));
  ISOBIT_RETURN_IF_ERROR(expect_scale(c, 6, 1, 1, {}));
  ISOBIT_RETURN_IF_ERROR(expect_numbers(c, 7, 1, {}));
  c.set_output(0, c.input(7).dtype, std::move(dims));
  return {};
}

#define ISOBIT_CONV_ATTRIBUTES                                                                           \
  {"kernel_shape", kInts}, {"strides", kInts}, {"pads", kInts}, {"dilations", kInts}, {"group", kInt}, { \
    "auto_pad", kText                                                                                    \
  }

// The dimensions of the convolution of inputs x and w.
Expected<std::vector<int64_t>> convolved_dims(const InferContext& c, int x, int w) {
  const std::vector<int64_t>&src = c.dims(x), &weights = c.dims(w);
  if (src.size() < 3 || weights.size() != src.size())
    return unreadable("source and weights need one rank of 3 or more");
  if (std::any_of(weights.begin(), weights.end(), [](int64_t d) { return d < 1; })) {
    return unreadable("weights of another shape than is known before the run, or without elements");
  }
  const std::span<const int64_t> image = image_of(src), kernel = image_of(weights);
  ISOBIT_RETURN_IF_ERROR(check_plane(image));
  ISOBIT_RETURN_IF_ERROR(check_plane(kernel));
  ISOBIT_TRY(const Windows windows, read_windows(c.attributes(), image, kernel));
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].size != kernel[i]) return unreadable("kernel_shape is not that of the weights");
  }
  const int64_t group = c.attributes().integer("group", 1);
  int64_t channels = 0;
  if (group < 1 || weights[0] % group != 0 || __builtin_mul_overflow(weights[1], group, &channels) ||
      (src[1] >= 0 && src[1] != channels)) {
    return unreadable(text_of("a source of ", src[1], " channels in ", group, " groups and weights of ", weights[0],
                              " x ", weights[1], " channels do not fit"));
  }
  ISOBIT_RETURN_IF_ERROR(check_counts(windows, image));
  std::vector<int64_t> dims = dims_of_windows(src[0], weights[0], windows, image);
  ISOBIT_RETURN_IF_ERROR(check_plane(image_of(dims)));
  return dims;
}

// (x, w[, x_zero_point][, w_zero_point]) -> int32
Status infer_conv_integer(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_CONV_ATTRIBUTES}));
  for (int i : {0, 1}) ISOBIT_RETURN_IF_ERROR(expect_byte(c, i));
  ISOBIT_TRY(auto dims, convolved_dims(c, 0, 1));
  ISOBIT_RETURN_IF_ERROR(expect_zero(c, 2, 0, 1, {}));
  ISOBIT_RETURN_IF_ERROR(expect_zero(c, 3, 1, c.dim(1, 0), {}));
  c.set_output(0, DType::kInt32, std::move(dims));
  return {};
}

// (x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point[, bias int32]) -> y
Status infer_qlinear_conv(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_CONV_ATTRIBUTES}));
  for (int i : {0, 3, 7}) ISOBIT_RETURN_IF_ERROR(expect_byte(c, i));
  ISOBIT_TRY(auto dims, convolved_dims(c, 0, 3));
  ISOBIT_RETURN_IF_ERROR(expect_scale(c, 1, 1, 1, {}));
  ISOBIT_RETURN_IF_ERROR(expect_zero(c, 2, 0, 1, {}));
  ISOBIT_RETURN_IF_ERROR(expect_scale(c, 4, 1, c.dim(3, 0), {}));
  ISOBIT_RETURN_IF_ERROR(expect_zero(c, 5, 3, c.dim(3, 0), {}));
  ISOBIT_RETURN_IF_ERROR(expect_scale(c, 6, 1, 1, {}));
  ISOBIT_RETURN_IF_ERROR(expect_numbers(c, 7, 1, {}));
  if (c.has_input(8)) {
    ISOBIT_RETURN_IF_ERROR(c.expect_type(8, DType::kInt32));
    ISOBIT_RETURN_IF_ERROR(c.expect_dims(8, {c.dim(3, 0)}));
  }
  c.set_output(0, c.input(7).dtype, std::move(dims));
  return {};
}

}  // namespace

void add_quantized_products(std::vector<OpDef>& defs) {
  const auto add = [&](OpDef def) {
    def.outputs = {judged_whole("its terms are products of integers less their zero points")};
    add_ordered(defs, std::move(def));
  };
  add({.name = "MatMulInteger",
       .min_inputs = 2,
       .max_inputs = 4,
       .optional_inputs = {.some = {2, 3}},
       .infer = infer_matmul_integer});
  add({.name = "ConvInteger",
       .min_inputs = 2,
       .max_inputs = 4,
       .optional_inputs = {.some = {2, 3}},
       .infer = infer_conv_integer});
  add({.name = "QLinearMatMul", .min_inputs = 8, .max_inputs = 8, .infer = infer_qlinear_matmul});
  add({.name = "QLinearConv",
       .min_inputs = 8,
       .max_inputs = 9,
       .optional_inputs = {.some = {8}},
       .infer = infer_qlinear_conv});
}

}  // namespace isobit::graph::ops
