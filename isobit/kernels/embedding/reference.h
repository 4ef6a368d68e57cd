// The specification of embedding.h. T is float or double.
#pragma once

#include "isobit/kernels/embedding/embedding.h"

namespace isobit::kernels::reference {

template <class T>
void embedding(int64_t n, int64_t C, const int64_t* indices, const T* table, T* dst);
template <class T>
void embedding_grad(int64_t n, int64_t V, int64_t C, const int64_t* indices, const T* diff_dst, T* diff_table);

}  // namespace isobit::kernels::reference
