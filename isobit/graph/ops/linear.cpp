#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::ops {

int64_t Window::out_h(int64_t ih) const {
  return ih < 0 ? -1 : (ih + pad_top + pad_bottom - dilation_h * (kh - 1) - 1) / stride_h + 1;
}
int64_t Window::out_w(int64_t iw) const {
  return iw < 0 ? -1 : (iw + pad_left + pad_right - dilation_w * (kw - 1) - 1) / stride_w + 1;
}

Expected<std::vector<int64_t>> read_extents(const Attributes& attributes, const std::string& name) {
  auto extents = attributes.integers(name, {});
  for (int64_t d : extents) {
    if (d < 0) return unreadable(text_of("attribute '", name, "' has an extent of ", d, "; it must not be negative"));
  }
  return extents;
}

Expected<Window> read_window(const Attributes& a, std::vector<int64_t> default_kernel) {
  const auto kernel = a.integers("kernel_shape", std::move(default_kernel));
  const auto strides = a.integers("strides", {1, 1}), dilations = a.integers("dilations", {1, 1});
  auto pads = a.integers("pads", {0, 0, 0, 0});
  const std::string auto_pad = a.text("auto_pad", "NOTSET");
  if (auto_pad != "NOTSET" && auto_pad != "VALID")
    return unreadable(text_of("auto_pad '", auto_pad, "' is not supported"));
  if (kernel.size() != 2 || strides.size() != 2 || dilations.size() != 2 || pads.size() != 4) {
    return unreadable("kernel_shape, strides, dilations need 2 numbers and pads 4");
  }
  constexpr int64_t kMost = 1 << 24;  // keeps every product of extents far from overflow
  for (const auto* list : {&kernel, &strides, &dilations}) {
    for (int64_t v : *list) {
      if (v < 1 || v > kMost) {
        return unreadable(text_of("kernel_shape, strides and dilations: found ", v, ", expected 1 to ", kMost));
      }
    }
  }
  for (int64_t v : pads) {
    if (v < 0 || v > kMost) return unreadable(text_of("pads: found ", v, ", expected 0 to ", kMost));
  }
  return Window{.kh = kernel[0],
                .kw = kernel[1],
                .stride_h = strides[0],
                .stride_w = strides[1],
                .pad_top = pads[0],
                .pad_left = pads[1],
                .pad_bottom = pads[2],
                .pad_right = pads[3],
                .dilation_h = dilations[0],
                .dilation_w = dilations[1]};
}

Status check_plane(const std::vector<int64_t>& image) {
  constexpr int64_t kMostPlaces = (int64_t{1} << 31) - 1;
  const int64_t height = image[2], width = image[3];
  if (height <= kMostPlaces && width <= kMostPlaces && (height <= 0 || width <= kMostPlaces / height)) return {};
  return unreadable(
      text_of("a plane of ", height, " x ", width, " places; windows are computed on up to ", kMostPlaces));
}

namespace {

// [.., m, k] x [.., k, n] with NumPy broadcasting of the leading dimensions; transA and transB swap the last two.
Status infer_matmul(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"transA", kInt}, {"transB", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  if (c.rank(0) < 2 || c.rank(1) < 2) return unreadable("both inputs need rank 2 or more");
  const bool ta = c.attributes().integer("transA", 0) != 0, tb = c.attributes().integer("transB", 0) != 0;
  const int64_t m = c.dim(0, ta ? -1 : -2), ka = c.dim(0, ta ? -2 : -1);
  const int64_t kb = c.dim(1, tb ? -1 : -2), n = c.dim(1, tb ? -2 : -1);
  if (ka >= 0 && kb >= 0 && ka != kb) return unreadable(text_of("inner dimensions ", ka, " and ", kb, " differ"));
  const std::vector<int64_t> outer_a(c.dims(0).begin(), c.dims(0).end() - 2),
      outer_b(c.dims(1).begin(), c.dims(1).end() - 2);
  ISOBIT_TRY(auto dims, broadcast_dims(outer_a, outer_b));
  dims.push_back(m);
  dims.push_back(n);
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

Status infer_gemm(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({{"transA", kInt}, {"transB", kInt}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(0, 2));
  ISOBIT_RETURN_IF_ERROR(c.expect_rank(1, 2));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  const bool ta = c.attributes().integer("transA", 0) != 0, tb = c.attributes().integer("transB", 0) != 0;
  const int64_t ka = c.dim(0, ta ? 0 : 1), kb = c.dim(1, tb ? 1 : 0), n = c.dim(1, tb ? 0 : 1);
  if (ka >= 0 && kb >= 0 && ka != kb) return unreadable(text_of("inner dimensions ", ka, " and ", kb, " differ"));
  if (c.has_input(2)) ISOBIT_RETURN_IF_ERROR(c.expect_like(2, 0, {n}));
  c.set_output(0, c.input(0).dtype, {c.dim(0, ta ? 1 : 0), n});
  return {};
}

Expected<Window> check_conv(InferContext& c, const std::vector<int64_t>& src, const std::vector<int64_t>& weights) {
  if (src.size() != 4 || weights.size() != 4) return unreadable("source and weights need rank 4 (2-D convolution)");
  if (std::any_of(weights.begin(), weights.end(), [](int64_t d) { return d < 0; })) {
    return unreadable("the weights' shape must be known before the run");
  }
  if (weights[0] == 0 || weights[1] == 0 || src[2] == 0 || src[3] == 0) {
    return unreadable(text_of("a source of ", src[2], " x ", src[3], " places and weights of ", weights[0], " x ",
                              weights[1], " channels; a convolution needs one of each at least"));
  }
  ISOBIT_RETURN_IF_ERROR(check_plane(src));
  ISOBIT_TRY(const Window window, read_window(c.attributes(), {weights[2], weights[3]}));
  const int64_t group = c.attributes().integer("group", 1);
  if (group < 1 || weights[0] % group != 0)
    return unreadable(text_of("group ", group, " does not divide ", weights[0], " output channels"));
  int64_t channels = 0;
  if (__builtin_mul_overflow(weights[1], group, &channels)) return unreadable("the weights are too large");
  if (src[1] >= 0 && src[1] != channels) {
    return unreadable(text_of("source has ", src[1], " channels, weights expect ", channels));
  }
  if (window.kh != weights[2] || window.kw != weights[3])
    return unreadable("kernel_shape differs from the weights' shape");
  const int64_t oh = window.out_h(src[2]), ow = window.out_w(src[3]);
  if ((src[2] >= 0 && oh < 1) || (src[3] >= 0 && ow < 1))
    return unreadable("the window is larger than the padded source");
  ISOBIT_RETURN_IF_ERROR(check_plane({1, 1, oh, ow}));
  return window;
}

#define ISOBIT_CONV_ATTRIBUTES                                                                           \
  {"kernel_shape", kInts}, {"strides", kInts}, {"pads", kInts}, {"dilations", kInts}, {"group", kInt}, { \
    "auto_pad", kText                                                                                    \
  }

Status infer_conv(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_CONV_ATTRIBUTES}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_TRY(const Window window, check_conv(c, c.dims(0), c.dims(1)));
  if (c.has_input(2)) ISOBIT_RETURN_IF_ERROR(c.expect_like(2, 0, {c.dim(1, 0)}));
  c.set_output(0, c.input(0).dtype, {c.dim(0, 0), c.dim(1, 0), window.out_h(c.dim(0, 2)), window.out_w(c.dim(0, 3))});
  return {};
}

// (diff_dst, weights) -> diff_src; attribute src_shape.
Status infer_conv_grad_src(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_CONV_ATTRIBUTES, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_TRY(const Window window, check_conv(c, src, c.dims(1)));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, {src[0], c.dim(1, 0), window.out_h(src[2]), window.out_w(src[3])}));
  c.set_output(0, c.input(0).dtype, src);
  return {};
}

// (src, diff_dst) -> diff_weights; attribute weights_shape.
Status infer_conv_grad_weights(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_CONV_ATTRIBUTES, {"weights_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_TRY(const auto weights, read_extents(c.attributes(), "weights_shape"));
  ISOBIT_TRY(const Window window, check_conv(c, c.dims(0), weights));
  ISOBIT_RETURN_IF_ERROR(
      c.expect_dims(1, {c.dim(0, 0), weights[0], window.out_h(c.dim(0, 2)), window.out_w(c.dim(0, 3))}));
  c.set_output(0, c.input(0).dtype, weights);
  return {};
}

}  // namespace

void add_linear(std::vector<OpDef>& defs) {
  // Platforms bring their results: none is platform_independent.
  const auto add = [&](OpDef def) {
    def.min_inputs = 2;
    def.outputs = {output_by(ElementRule::kInnerProduct)};
    def.any_real_type = true;
    defs.push_back(std::move(def));
  };
  add({.name = "MatMul", .max_inputs = 2, .infer = infer_matmul, .product = ProductForm::kMatmul});
  add({.name = "Gemm",
       .max_inputs = 3,
       .optional_inputs = {.some = {2}},
       .infer = infer_gemm,
       .product = ProductForm::kGemm});
  add({.name = "Conv",
       .max_inputs = 3,
       .optional_inputs = {.some = {2}},
       .infer = infer_conv,
       .product = ProductForm::kConv});
  add({.name = "isobit.ConvGradSrc",
       .max_inputs = 2,
       .infer = infer_conv_grad_src,
       .product = ProductForm::kConvGradSrc});
  add({.name = "isobit.ConvGradWeights",
       .max_inputs = 2,
       .infer = infer_conv_grad_weights,
       .product = ProductForm::kConvGradWeights});
}

}  // namespace isobit::graph::ops
