// The specification of reduce.h. T is float or double.
#pragma once

#include <span>

#include "isobit/kernels/reduce/reduce.h"

namespace isobit::kernels::reference {

template <class T>
void reduce_sum(AxisView view, const T* src, T* dst);
template <class T>
void reduce_mean(AxisView view, const T* src, T* dst);
template <class T>
void reduce_max(AxisView view, const T* src, T* dst);
template <class T>
void reduce_sum(std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);
template <class T>
void reduce_mean(std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);
template <class T>
void reduce_max(std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);
template <class T>
void sum_channels(int64_t n, int64_t c, int64_t s, const T* src, T* dst);
template <class T>
void reduce_sum_of_squares(std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst);
template <class T>
T global_sum_of_squares(std::span<const ConstPart<T>> parts);

}  // namespace isobit::kernels::reference
