// The specification of pool.h. T is float or double.
#pragma once

#include "isobit/kernels/pool/pool.h"

namespace isobit::kernels::reference {

template <class T>
void max_pool(const PoolShape&, const T* src, T* dst, int64_t* indices);
template <class T>
void max_pool_grad(const PoolShape&, const T* diff_dst, const int64_t* indices, T* diff_src);
template <class T>
void average_pool(const PoolShape&, const T* src, T* dst);
template <class T>
void average_pool_grad(const PoolShape&, const T* diff_dst, T* diff_src);
template <class T>
void global_average_pool(int64_t planes, int64_t s, const T* src, T* dst);
template <class T>
void global_average_pool_grad(int64_t planes, int64_t s, const T* diff_dst, T* diff_src);

}  // namespace isobit::kernels::reference
