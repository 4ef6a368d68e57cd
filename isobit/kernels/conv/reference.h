// The scalar specification of conv.h; single-threaded, for any machine.
#pragma once

#include "isobit/kernels/conv/conv.h"

namespace isobit::kernels::reference {

void conv_forward(const ConvShape& shape, const float* src, const float* weights, const float* bias, float* dst);
void conv_forward(const ConvShape& shape, const double* src, const double* weights, const double* bias, double* dst);
void conv_grad_src(const ConvShape& shape, const float* diff_dst, const float* weights, float* diff_src);
void conv_grad_src(const ConvShape& shape, const double* diff_dst, const double* weights, double* diff_src);
void conv_grad_weights(const ConvShape& shape, const float* src, const float* diff_dst, float* diff_weights);
void conv_grad_weights(const ConvShape& shape, const double* src, const double* diff_dst, double* diff_weights);

}  // namespace isobit::kernels::reference
