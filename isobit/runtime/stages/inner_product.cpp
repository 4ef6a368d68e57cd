#include "isobit/runtime/stages/inner_product.h"

#include <limits>

#include "isobit/base/status.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/runtime/kernels/linear.h"
#include "isobit/runtime/specialise.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::ProductBlock;

using kernels::product::Direction;
using kernels::product::Product;

void add_blocks(KernelCall& call, const Product<double>& product, std::vector<ProductBlock>& blocks) {
  for (int64_t batch = 0; batch < product.geometry.batches; ++batch) {
    ProductBlock block{kernels::product::batch_of(product, batch), call.in(0).span<double>(),
                       call.in(1).span<double>()};
    block.offset = block.out - call.out().data<double>();
    blocks.push_back(block);
  }
}

void add_matrices(KernelCall& call, const kernels::MatmulArgs<double>& args, std::vector<ProductBlock>& blocks) {
  ISOBIT_CHECK(args.c_row_stride == args.n);
  add_blocks(call, kernels::product::product_of(args), blocks);
}

}  // namespace

int64_t terms_of(const graph::Graph& graph, const graph::Node& node) {
  const auto shape = [&](graph::ValueId id) { return Shape(graph.value(id).dims); };
  return product_of_node(node, shape(node.inputs[0]), shape(node.inputs[1]), shape(node.outputs[0])).geometry().k;
}

Status check_terms(const graph::Graph& graph, const platform::Arithmetic& arithmetic) {
  if (arithmetic.most_terms == std::numeric_limits<int64_t>::max()) return {};
  if (!is_static(graph)) {
    return unreadable(text_of("the network's shapes follow from data, so that nobody can say beforehand whether the ",
                              "bounds of ", arithmetic.name, " hold; compute in ordered-1"));
  }
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
  const NodeProduct p = product_of_call(call);
  if (!p.is_matmul) {
    const double* bias = p.direction == Direction::kForward && call.has(2) ? call.in(2).data<double>() : nullptr;
    add_blocks(call,
               kernels::product::product_of(p.conv, p.direction, call.in(0).data<double>(), call.in(1).data<double>(),
                                            bias, call.out().data<double>()),
               blocks);
  } else if (graph::op_of(call.node).product == graph::ProductForm::kGemm) {
    add_matrices(call, gemm_args<double>(call, p.matmul), blocks);
  } else {
    const kernels::BroadcastPlan matrices = matrices_of(call.in(0).shape(), call.in(1).shape());
    for_each_product<double>(call, p.matmul, matrices,
                             [&](const kernels::MatmulArgs<double>& args) { add_matrices(call, args, blocks); });
  }
  return blocks;
}

std::vector<ProductBlock> product_blocks(const NodeRun& run) {
  KernelCall same{run.ctx, run.node, {run.inputs.begin(), run.inputs.end()}, {run.outputs.begin(), run.outputs.end()}};
  return product_blocks(same);
}

}  // namespace isobit::runtime
