// The specification of softmax.h. T is float or double. No mask is a mask with offset >= V.
#pragma once

#include "isobit/kernels/softmax/softmax.h"

namespace isobit::kernels::reference {

template <class T>
void softmax(int64_t rows, int64_t V, CausalMask, const T* src, T* dst, T* row_max, T* row_sum);
template <class T>
void softmax_grad(int64_t rows, int64_t V, CausalMask, const T* dst, const T* diff_dst, T* diff_src, T* row_sum);
template <class T>
void log_softmax(int64_t rows, int64_t V, const T* src, T* dst, T* row_max, T* log_sum);
template <class T>
void log_softmax_grad(int64_t rows, int64_t V, const T* dst, const T* diff_dst, T* diff_src, T* row_sum);
// Of one result (log_sum_exp.h).
template <class T>
T log_sum_exp(int64_t n, const T* src, T* max, T* sum);
template <class T>
void softmax_cross_entropy(int64_t rows, int64_t V, CrossEntropyOptions, const T* logits, const int64_t* labels,
                           T* loss, T* row_max, T* log_sum);
template <class T>
T cross_entropy_mean(int64_t rows, const T* loss, int64_t count);
// g_stride 0: one g for every row; 1: one each.
template <class T>
void softmax_cross_entropy_grad(int64_t rows, int64_t V, CrossEntropyOptions, const T* logits, const int64_t* labels,
                                const T* row_max, const T* log_sum, const T* g, int64_t g_stride, T* diff_logits);

}  // namespace isobit::kernels::reference
