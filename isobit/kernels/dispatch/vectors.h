// Vectors of the compiler in memory, for translation units of one instruction set each. Nothing here has linkage.
#pragma once

#include "isobit/numerics/inline.h"

namespace isobit::kernels {

// V: a vector of T. At p, which needs only the alignment of T, lie as many T as V has.
template <class V, class T>
ISOBIT_INLINE V load(const T* p) {
  V v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V, class T>
ISOBIT_INLINE void store(T* p, const V& v) {
  __builtin_memcpy(p, &v, sizeof v);
}

}  // namespace isobit::kernels
