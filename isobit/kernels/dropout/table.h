// What each instruction set brings to this family. Internal.
#pragma once

#include <cstdint>

namespace isobit::kernels::dropout_kernels {

// dropout.h's arguments, worked out.
template <class T>
struct Rule {
  uint64_t seed;
  uint32_t step;
  uint64_t first_block;  // node * 2^40
  uint32_t threshold;    // kept iff bits >= threshold
  T scale;
};

// Elements begin <= i < end.
template <class T>
using Loop = void (*)(const Rule<T>& rule, int64_t begin, int64_t end, const T* src, T* dst);

}  // namespace isobit::kernels::dropout_kernels

#define ISOBIT_DROPOUT_LOOPS(isa)                   \
  namespace isobit::kernels::dropout_kernels::isa { \
  extern const Loop<float> kLoopF32;                \
  extern const Loop<double> kLoopF64;               \
  }
ISOBIT_DROPOUT_LOOPS(reference)
ISOBIT_DROPOUT_LOOPS(portable)
ISOBIT_DROPOUT_LOOPS(avx2)
ISOBIT_DROPOUT_LOOPS(avx512)
ISOBIT_DROPOUT_LOOPS(neon)
#undef ISOBIT_DROPOUT_LOOPS
