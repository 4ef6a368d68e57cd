#include "isobit/runtime/stages/inner_product.h"

#include "isobit/base/status.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/kernels/linear.h"

namespace isobit::runtime {
namespace {

using graph::ProductForm;
using kernels::product::Direction;
using kernels::product::Product;

void add_blocks(KernelCall& call, const Product<double>& product, std::vector<ProductBlock>& blocks) {
  for (int64_t batch = 0; batch < product.geometry.batches; ++batch) {
    ProductBlock block{kernels::product::block_of(product, batch), call.in(0).span<double>(),
                       call.in(1).span<double>()};
    block.offset = block.out - call.out().data<double>();
    blocks.push_back(block);
  }
}

void add_matrices(KernelCall& call, const kernels::MatmulArgs<double>& args, std::vector<ProductBlock>& blocks) {
  ISOBIT_CHECK(args.c_row_stride == args.n);
  add_blocks(call, kernels::product::product_of(args), blocks);
}

Direction direction_of(ProductForm form) {
  if (form == ProductForm::kConv) return Direction::kForward;
  return form == ProductForm::kConvGradSrc ? Direction::kGradSrc : Direction::kGradWeights;
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
    for_each_product<double>(call, [&](const kernels::MatmulArgs<double>& args) { add_matrices(call, args, blocks); });
  } else if (form == ProductForm::kGemm) {
    add_matrices(call, gemm_args<double>(call), blocks);
  } else {
    const Direction direction = direction_of(form);
    const double* bias = direction == Direction::kForward && call.has(2) ? call.in(2).data<double>() : nullptr;
    add_blocks(call,
               kernels::product::product_of(conv_shape(call), direction, call.in(0).data<double>(),
                                            call.in(1).data<double>(), bias, call.out().data<double>()),
               blocks);
  }
  return blocks;
}

}  // namespace isobit::runtime
