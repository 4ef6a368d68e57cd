// The specification of batch_norm.h, layer_norm.h and rms_norm.h. T is float or double.
#pragma once

#include "isobit/kernels/norm/batch_norm.h"
#include "isobit/kernels/norm/layer_norm.h"
#include "isobit/kernels/norm/rms_norm.h"

namespace isobit::kernels::reference {

// Of the first `channels` of them alone, b.c unless less: with pointers at a later one, of those from it on.
template <class T>
void batch_norm_stats(BatchNormShape b, int64_t channels, const T* src, T* mean, T* var);
template <class T>
void batch_norm_apply(BatchNormShape, T eps, const T* src, const T* mean, const T* var, const T* scale, const T* bias,
                      T* dst);
template <class T>
void batch_norm_running(int64_t c, int64_t count, T momentum, const T* running, const T* current, T* dst);
// As batch_norm_stats.
template <class T>
void batch_norm_grad_sums(BatchNormShape b, int64_t channels, T eps, const BatchNormGradInputs<T>&, T* diff_scale,
                          T* diff_bias);
// elements: of a channel in the whole batch, of which `b` may be a part.
template <class T>
void batch_norm_grad_data(BatchNormShape b, int64_t elements, T eps, const BatchNormGradInputs<T>&, const T* diff_scale,
                          const T* diff_bias, T* diff_src);
template <class T>
void layer_norm(int64_t rows, int64_t C, T eps, const T* src, const T* scale, const T* bias,
                const LayerNormOutputs<T>&);
// Of the first `columns` of them alone, C unless less: with pointers at a later one, of those from it on.
template <class T>
void layer_norm_grad_params(int64_t rows, int64_t C, int64_t columns, const LayerNormGradInputs<T>&, T* diff_scale,
                            T* diff_bias);
template <class T>
void layer_norm_grad_data(int64_t rows, int64_t C, const LayerNormGradInputs<T>&, T* diff_src, T* sum_g, T* sum_gh);
template <class T>
void rms_norm(int64_t rows, int64_t C, T eps, const T* src, const T* scale, T* dst, T* squares);
template <class T>
void rms_norm_grad(int64_t rows, int64_t C, T eps, const RmsNormGradInputs<T>&, const RmsNormGradOutputs<T>&);

}  // namespace isobit::kernels::reference
