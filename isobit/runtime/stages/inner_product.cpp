#include "isobit/runtime/stages/inner_product.h"

#include <cmath>

#include "isobit/kernels/rounding/steps.h"
#include "isobit/runtime/kernels/linear.h"

namespace isobit::runtime {
namespace {

using kernels::MatmulArgs;

// 2-norms of lines whose elements are k_stride apart.
std::vector<double> line_norms(const kernels::KernelContext& ctx, const double* data, int64_t lines, int64_t k,
                               int64_t line_stride, int64_t k_stride) {
  const kernels::rounding::Steps& steps = kernels::rounding::steps_of(ctx.isa);
  std::vector<double> norms(static_cast<size_t>(lines), 0.0);
  ctx.pool->parallel_for(lines, 16384 / (k + 1) + 1, [&](int64_t begin, int64_t end) {
    if (k_stride != 1 && line_stride == 1) {
      steps.column_squares(k, end - begin, data + begin, k_stride, norms.data() + begin);
    } else {
      for (int64_t i = begin; i < end; ++i) {
        double& sum = norms[static_cast<size_t>(i)];
        if (k_stride == 1) {
          sum = steps.squares(k, data + i * line_stride);
        } else {
          for (int64_t l = 0; l < k; ++l) {
            const double x = data[i * line_stride + l * k_stride];
            sum += x * x;
          }
        }
      }
    }
    for (int64_t i = begin; i < end; ++i) norms[static_cast<size_t>(i)] = std::sqrt(norms[static_cast<size_t>(i)]);
  });
  return norms;
}

std::function<void(int64_t, double*)> strided_line(const double* data, int64_t k, int64_t line_stride,
                                                   int64_t k_stride) {
  return [=](int64_t line, double* to) {
    for (int64_t l = 0; l < k; ++l) to[l] = data[line * line_stride + l * k_stride];
  };
}

void add_blocks(KernelCall& call, const MatmulArgs<double>& args, std::vector<ProductBlock>& blocks) {
  for (int64_t t = 0; t < args.batch; ++t) {
    const double *a = args.a + t * args.a_batch_stride, *b = args.b + t * args.b_batch_stride;
    ProductBlock block;
    block.m = args.m;
    block.n = args.n;
    block.k = args.k;
    block.out = args.c + t * args.c_batch_stride;
    block.offset = block.out - call.out().data<double>();
    block.row_stride = args.c_row_stride;
    block.columns = args.n < 1 ? 1 : args.n;
    block.row_norms = line_norms(call.ctx, a, args.m, args.k, args.a_row_stride, args.a_col_stride);
    block.column_norms = line_norms(call.ctx, b, args.n, args.k, args.b_col_stride, args.b_row_stride);
    block.column_bias = args.bias;
    block.first_operand = call.in(0).span<double>();
    block.second_operand = call.in(1).span<double>();
    block.left = strided_line(a, args.k, args.a_row_stride, args.a_col_stride);
    block.right = strided_line(b, args.k, args.b_col_stride, args.b_row_stride);
    blocks.push_back(std::move(block));
  }
}

}  // namespace

bool is_inner_product(const std::string& op) {
  return op == "MatMul" || op == "Gemm" || op == "Conv" || op == "isobit.ConvGradSrc" || op == "isobit.ConvGradWeights";
}

std::vector<ProductBlock> product_blocks(KernelCall& call) {
  std::vector<ProductBlock> blocks;
  if (call.out().elements() == 0) return blocks;
  if (call.node.op == "MatMul") {
    for_each_product<double>(call, [&](const MatmulArgs<double>& args) { add_blocks(call, args, blocks); });
  } else if (call.node.op == "Gemm") {
    add_blocks(call, gemm_args<double>(call), blocks);
  } else {
    blocks = convolution_blocks(call);
  }
  return blocks;
}

}  // namespace isobit::runtime
