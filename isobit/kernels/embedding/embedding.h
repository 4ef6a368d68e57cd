// Rows of a table by index, and the gradient of the table.
//
// T: float, double. REQUIRES 0 <= indices[i] < V. Determinism class: ordered-1.
#pragma once

#include <cstdint>

#include "isobit/kernels/context.h"

namespace isobit::kernels {

// table [V, C], indices [n] -> dst [n, C]: dst[i] = table[indices[i]], bits preserved.
template <class T>
void embedding(const KernelContext&, int64_t n, int64_t V, int64_t C, const int64_t* indices, const T* table, T* dst);

// diff_table [V, C], written throughout: diff_table[v][c] = Sum (reduce/reduce.h) over the i with indices[i] = v, in
// ascending i, of diff_dst[i][c]; +0 where there are none.
template <class T>
void embedding_grad(const KernelContext&, int64_t n, int64_t V, int64_t C, const int64_t* indices, const T* diff_dst,
                    T* diff_table);

}  // namespace isobit::kernels
