#include "isobit/kernels/embedding/reference.h"

#include <cstring>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/reduce/scalar.h"

namespace isobit::kernels::reference {

template <class T>
void embedding(int64_t n, int64_t C, const int64_t* indices, const T* table, T* dst) {
  // Bytes, not values: a load and store of a signalling NaN may change it.
  if (C == 0) return;
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * C, table + indices[i] * C, static_cast<size_t>(C) * sizeof(T));
}

template <class T>
void embedding_grad(int64_t n, int64_t V, int64_t C, const int64_t* indices, const T* diff_dst, T* diff_table) {
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(V));
  for (int64_t i = 0; i < n; ++i) rows[indices[i]].push_back(i);
  for (int64_t v = 0; v < V; ++v) {
    for (int64_t c = 0; c < C; ++c) {
      std::vector<T> terms;
      for (int64_t i : rows[v]) terms.push_back(diff_dst[i * C + c]);
      diff_table[v * C + c] = sum_of(terms);
    }
  }
}

#define ISOBIT_INSTANTIATE(T)                                                 \
  template void embedding<T>(int64_t, int64_t, const int64_t*, const T*, T*); \
  template void embedding_grad<T>(int64_t, int64_t, int64_t, const int64_t*, const T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels::reference
