// The scalar specification of `correct-1` inner products: one exact accumulator per output, rounded once.
#pragma once

#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/matmul/matmul.h"

namespace isobit::kernels::correct::reference {

void matmul(const MatmulArgs<float>& args);
void conv_forward(const ConvShape& shape, const float* src, const float* weights, const float* bias, float* dst);
void conv_grad_src(const ConvShape& shape, const float* diff_dst, const float* weights, float* diff_src);
void conv_grad_weights(const ConvShape& shape, const float* src, const float* diff_dst, float* diff_weights);

}  // namespace isobit::kernels::correct::reference
