#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/ops/ops.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {

Expected<std::vector<int64_t>> read_extents(const Attributes& attributes, const std::string& name) {
  auto extents = attributes.integers(name, {});
  for (int64_t d : extents) {
    if (d < 0) return unreadable(text_of("attribute '", name, "' has an extent of ", d, "; it must not be negative"));
  }
  return extents;
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

// Of a convolution in 1 or 2 dimensions; those in 3 are written with isobit.Im2Col (expansions/windows.h).
Status check_ranks(const std::vector<int64_t>& src, const std::vector<int64_t>& weights) {
  if (src.size() != weights.size() || (src.size() != 3 && src.size() != 4)) {
    return unreadable("source and weights both need rank 3 or both rank 4 (convolution in 1 or 2 dimensions)");
  }
  if (std::any_of(weights.begin(), weights.end(), [](int64_t d) { return d < 0; })) {
    return unreadable("the weights' shape must be known before the run");
  }
  return {};
}

// The channels on the side of the weights' second dimension.
Expected<int64_t> check_groups(const Attributes& attributes, const std::vector<int64_t>& weights) {
  const int64_t group = attributes.integer("group", 1);
  if (group < 1 || weights[0] % group != 0)
    return unreadable(text_of("group ", group, " does not divide ", weights[0], " output channels"));
  int64_t channels = 0;
  if (__builtin_mul_overflow(weights[1], group, &channels)) return unreadable("the weights are too large");
  return channels;
}

Status check_kernel(const Windows& windows, std::span<const int64_t> kernel) {
  for (size_t i = 0; i < windows.size(); ++i) {
    if (windows[i].size != kernel[i]) return unreadable("kernel_shape differs from the weights' shape");
  }
  return {};
}

Expected<Windows> check_conv(InferContext& c, const std::vector<int64_t>& src, const std::vector<int64_t>& weights) {
  ISOBIT_RETURN_IF_ERROR(check_ranks(src, weights));
  const std::span<const int64_t> image = image_of(src), kernel = image_of(weights);
  if (weights[0] == 0 || weights[1] == 0 || std::find(image.begin(), image.end(), 0) != image.end()) {
    return unreadable(text_of("a source of ", image.front(), " x ", image.back(), " places and weights of ", weights[0],
                              " x ", weights[1], " channels; a convolution needs one of each at least"));
  }
  ISOBIT_RETURN_IF_ERROR(check_plane(image));
  ISOBIT_TRY(Windows windows, read_windows(c.attributes(), image, kernel));
  ISOBIT_TRY(const int64_t channels, check_groups(c.attributes(), weights));
  if (src[1] >= 0 && src[1] != channels) {
    return unreadable(text_of("source has ", src[1], " channels, weights expect ", channels));
  }
  ISOBIT_RETURN_IF_ERROR(check_kernel(windows, kernel));
  ISOBIT_RETURN_IF_ERROR(check_counts(windows, image));
  const std::vector<int64_t> dst = dims_of_windows(1, 1, windows, image);
  ISOBIT_RETURN_IF_ERROR(check_plane(image_of(dst)));
  return windows;
}

#define ISOBIT_CONV_ATTRIBUTES                                                                           \
  {"kernel_shape", kInts}, {"strides", kInts}, {"pads", kInts}, {"dilations", kInts}, {"group", kInt}, { \
    "auto_pad", kText                                                                                    \
  }

Status infer_conv(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_CONV_ATTRIBUTES}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_TRY(const Windows windows, check_conv(c, c.dims(0), c.dims(1)));
  if (c.has_input(2)) ISOBIT_RETURN_IF_ERROR(c.expect_like(2, 0, {c.dim(1, 0)}));
  c.set_output(0, c.input(0).dtype, dims_of_windows(c.dim(0, 0), c.dim(1, 0), windows, image_of(c.dims(0))));
  return {};
}

// (diff_dst, weights) -> diff_src; attribute src_shape.
Status infer_conv_grad_src(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_CONV_ATTRIBUTES, {"src_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_TRY(const auto src, read_extents(c.attributes(), "src_shape"));
  ISOBIT_TRY(const Windows windows, check_conv(c, src, c.dims(1)));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims_of_windows(src[0], c.dim(1, 0), windows, image_of(src))));
  c.set_output(0, c.input(0).dtype, src);
  return {};
}

// (src, diff_dst) -> diff_weights; attribute weights_shape.
Status infer_conv_grad_weights(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(c.expect_attributes({ISOBIT_CONV_ATTRIBUTES, {"weights_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_TRY(const auto weights, read_extents(c.attributes(), "weights_shape"));
  ISOBIT_TRY(const Windows windows, check_conv(c, c.dims(0), weights));
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(1, dims_of_windows(c.dim(0, 0), weights[0], windows, image_of(c.dims(0)))));
  c.set_output(0, c.input(0).dtype, weights);
  return {};
}

// (src [n, oc, ..], weights [oc, ic / group, ..]) -> [n, ic, ..]: the gradient with respect to its source of the
// convolution with these weights. A bias is added by a node of its own.
Status infer_conv_transpose(InferContext& c) {
  ISOBIT_RETURN_IF_ERROR(
      c.expect_attributes({ISOBIT_CONV_ATTRIBUTES, {"output_padding", kInts}, {"output_shape", kInts}}));
  ISOBIT_RETURN_IF_ERROR(c.expect_float(0));
  ISOBIT_RETURN_IF_ERROR(c.expect_type(1, c.input(0).dtype));
  ISOBIT_RETURN_IF_ERROR(check_ranks(c.dims(0), c.dims(1)));
  const std::span<const int64_t> src = image_of(c.dims(0)), kernel = image_of(c.dims(1));
  if (c.dim(1, 0) == 0 || c.dim(1, 1) == 0 || std::find(src.begin(), src.end(), 0) != src.end()) {
    return unreadable("a transposed convolution needs one place and one channel on either side at least");
  }
  ISOBIT_RETURN_IF_ERROR(check_plane(src));
  ISOBIT_TRY(const int64_t channels, check_groups(c.attributes(), c.dims(1)));
  ISOBIT_TRY(const TransposedWindows t, read_transposed_windows(c.attributes(), src, kernel));
  ISOBIT_RETURN_IF_ERROR(check_kernel(t.windows, kernel));
  std::vector<int64_t> dims = c.dims(0);
  dims[1] = c.dim(1, 0);
  ISOBIT_RETURN_IF_ERROR(c.expect_dims(0, dims));
  dims[1] = channels;
  std::copy(t.image.begin(), t.image.end(), dims.begin() + 2);
  c.set_output(0, c.input(0).dtype, std::move(dims));
  return {};
}

}  // namespace

void add_linear(std::vector<OpDef>& defs) {
  // Platforms bring their results: none is platform_independent.
  const auto add = [&](OpDef def, SourceRule terms) {
    def.min_inputs = 2;
    def.outputs = {made_of(std::move(terms), output_by(ElementRule::kInnerProduct))};
    def.any_real_type = true;
    defs.push_back(std::move(def));
  };
  add({.name = "MatMul", .max_inputs = 2, .infer = infer_matmul, .product = ProductForm::kMatmul}, of_matrices);
  add({.name = "Gemm",
       .max_inputs = 3,
       .optional_inputs = {.some = {2}},
       .infer = infer_gemm,
       .product = ProductForm::kGemm},
      of_matrices);
  add({.name = "Conv",
       .max_inputs = 3,
       .optional_inputs = {.some = {2}},
       .infer = infer_conv,
       .product = ProductForm::kConv},
      of_convolution);
  add({.name = "isobit.ConvGradSrc",
       .max_inputs = 2,
       .infer = infer_conv_grad_src,
       .product = ProductForm::kConvGradSrc},
      of_convolution_grad_src);
  add({.name = "isobit.ConvGradWeights",
       .max_inputs = 2,
       .infer = infer_conv_grad_weights,
       .product = ProductForm::kConvGradWeights},
      of_convolution_grad_weights);
  add({.name = "ConvTranspose", .max_inputs = 2, .infer = infer_conv_transpose, .product = ProductForm::kConvTranspose},
      of_transposed_convolution);
}

}  // namespace isobit::graph::ops
