#include "isobit/runtime/stages/inner_product.h"

#include "isobit/base/status.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/kernels/linear.h"

namespace isobit::runtime {
namespace {

using graph::ProductForm;
using kernels::ConvShape;
using kernels::MatmulArgs;

void add_matrices(KernelCall& call, const MatmulArgs<double>& args, std::vector<ProductBlock>& blocks) {
  ISOBIT_CHECK(args.c_row_stride == args.n);
  for (int64_t t = 0; t < args.batch; ++t) {
    const double *a = args.a + t * args.a_batch_stride, *b = args.b + t * args.b_batch_stride;
    ProductBlock block;
    block.m = args.m;
    block.n = args.n;
    block.k = args.k;
    block.offset = args.c + t * args.c_batch_stride - call.out().data<double>();
    block.columns = args.n < 1 ? 1 : args.n;
    block.column_bias = args.bias;
    block.left = Lines::strided(a, args.m, args.k, args.a_row_stride, args.a_col_stride);
    block.right = Lines::strided(b, args.n, args.k, args.b_col_stride, args.b_row_stride);
    blocks.push_back(block);
  }
}

Windows windows_of(const ConvShape& s) {
  Windows w;
  w.rows = {s.kh, s.ih, s.oh(), s.stride_h, s.pad_top, s.dilation_h};
  w.columns = {s.kw, s.iw, s.ow(), s.stride_w, s.pad_left, s.dilation_w};
  w.images = s.n;
  return w;
}

// Group g of a convolution, which has `channels` channels of `plane` elements in the output.
ProductBlock group_block(const ConvShape& s, int64_t g, int64_t channels, int64_t plane) {
  ProductBlock b;
  b.m = channels;
  b.n = s.n * plane;
  b.columns = plane;
  b.column_stride = s.groups * channels * plane;
  b.offset = g * channels * plane;
  return b;
}

// Weights [oc, taps of ic] times windows of src.
ProductBlock forward(const ConvShape& s, int64_t g, const double* src, const double* weights, const double* bias) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, image = s.ih * s.iw;
  Windows w = windows_of(s);
  w.image_stride = s.ic * image;
  w.channels = icg;
  ProductBlock b = group_block(s, g, ocg, w.positions());
  b.k = icg * w.taps();
  b.row_bias = bias != nullptr ? bias + g * ocg : nullptr;
  b.left = Lines::strided(weights + g * ocg * b.k, ocg, b.k, b.k, 1);
  b.right = Lines::windows(src + g * icg * image, w);
  return b;
}

// Weights [ic, taps of oc] times the elements of diff_dst that each place of src went into.
ProductBlock grad_src(const ConvShape& s, int64_t g, const double* diff_dst, const double* weights) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups;
  Windows w = windows_of(s);
  w.backward = true;
  w.image_stride = s.oc * w.plane();
  w.channels = ocg;
  ProductBlock b = group_block(s, g, icg, w.positions());
  b.k = ocg * w.taps();
  b.left = Lines::grouped(weights + g * ocg * icg * w.taps(), icg, b.k, w.taps(), w.taps(), icg * w.taps());
  b.right = Lines::windows(diff_dst + g * ocg * w.plane(), w);
  return b;
}

// diff_dst [oc, positions] times windows of src [positions, taps of ic].
ProductBlock grad_weights(const ConvShape& s, int64_t g, const double* src, const double* diff_dst) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, image = s.ih * s.iw;
  Windows w = windows_of(s);
  w.image_stride = s.ic * image;
  w.channels = icg;
  const int64_t area = w.positions();
  ProductBlock b;
  b.m = ocg;
  b.n = icg * w.taps();
  b.k = s.n * area;
  b.columns = b.n;
  b.offset = g * ocg * b.n;
  b.left = Lines::grouped(diff_dst + g * ocg * area, ocg, b.k, area, area, s.oc * area);
  b.right = Lines::taps(src + g * icg * image, w);
  return b;
}

void add_convolution(KernelCall& call, std::vector<ProductBlock>& blocks) {
  const ConvShape s = conv_shape(call);
  const double *first = call.in(0).data<double>(), *second = call.in(1).data<double>();
  const ProductForm form = graph::op_of(call.node).product;
  for (int64_t g = 0; g < s.groups; ++g) {
    if (form == ProductForm::kConv) {
      blocks.push_back(forward(s, g, first, second, call.has(2) ? call.in(2).data<double>() : nullptr));
    } else if (form == ProductForm::kConvGradSrc) {
      blocks.push_back(grad_src(s, g, first, second));
    } else {
      blocks.push_back(grad_weights(s, g, first, second));
    }
  }
}

}  // namespace

int64_t terms_of(const graph::Graph& graph, const graph::Node& node) {
  const auto dims = [&](size_t input) -> const std::vector<int64_t>& { return graph.value(node.inputs[input]).dims; };
  const std::vector<int64_t>&a = dims(0), &b = dims(1);
  switch (graph::op_of(node).product) {
    case ProductForm::kMatmul:
    case ProductForm::kGemm:
      return node.attributes.integer("transA", 0) != 0 ? a[a.size() - 2] : a.back();
    case ProductForm::kConv:  // weights [oc, ic of a group, kh, kw]
      return b[1] * b[2] * b[3];
    case ProductForm::kConvGradSrc:
      return b[0] / node.attributes.integer("group", 1) * b[2] * b[3];
    case ProductForm::kConvGradWeights:  // diff_dst [n, oc, oh, ow]
      return b[0] * b[2] * b[3];
    case ProductForm::kNone:
      break;
  }
  ISOBIT_CHECK(false);
  return 0;
}

Status check_terms(const graph::Graph& graph, const platform::Arithmetic& arithmetic) {
  for (const graph::Node& node : graph.nodes()) {
    if (!graph::op_of(node).is_inner_product()) continue;
    const int64_t terms = terms_of(graph, node);
    if (terms <= arithmetic.most_terms) continue;
    return unreadable(text_of(node.op, " of '", graph.value(node.outputs[0]).name, "' adds up ", terms,
                              " products for one output; the error bounds of ", arithmetic.name, " hold up to ",
                              arithmetic.most_terms, ": make the batch or the model smaller, or compute in ordered-1"));
  }
  return {};
}

std::vector<ProductBlock> product_blocks(KernelCall& call) {
  std::vector<ProductBlock> blocks;
  if (call.out().elements() == 0) return blocks;
  const ProductForm form = graph::op_of(call.node).product;
  if (form == ProductForm::kMatmul) {
    for_each_product<double>(call, [&](const MatmulArgs<double>& args) { add_matrices(call, args, blocks); });
  } else if (form == ProductForm::kGemm) {
    add_matrices(call, gemm_args<double>(call), blocks);
  } else {
    add_convolution(call, blocks);
  }
  for (ProductBlock& block : blocks) {
    block.out = call.out().data<double>() + block.offset;
    block.first_operand = call.in(0).span<double>();
    block.second_operand = call.in(1).span<double>();
  }
  return blocks;
}

}  // namespace isobit::runtime
