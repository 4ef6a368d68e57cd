// Two-dimensional convolution and its gradients. Determinism class: `correct-1`.
//
// Each output is one inner product in the sense of correct/matmul.h: the float32 nearest to the exact sum, with the
// same rules for zero, underflow, overflow, NaN and infinities. Its terms are those of kernels/conv/conv.h: padding
// taps, and in the gradient of src taps that fall on no output, take part with +0 in place of the element of src or
// diff_dst (so that an infinite or NaN weight there makes the output NaN). The bias is one more summand of the exact
// sum. Errors are those of correct/matmul.h; kUnreadable also for an extent of 2^31 or more.
#pragma once

#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/correct/matmul.h"

namespace isobit::kernels::correct {

// bias may be nullptr. No output overlaps an operand.
Status conv_forward(const CorrectContext& ctx, const ConvShape& shape, const float* src, const float* weights,
                    const float* bias, float* dst);
Status conv_grad_src(const CorrectContext& ctx, const ConvShape& shape, const float* diff_dst, const float* weights,
                     float* diff_src);
// n = 0 gives +0 everywhere.
Status conv_grad_weights(const CorrectContext& ctx, const ConvShape& shape, const float* src, const float* diff_dst,
                         float* diff_weights);

}  // namespace isobit::kernels::correct
