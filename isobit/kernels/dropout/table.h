// What each instruction set brings to this family. Internal.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"

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

// One for every instruction set and the reference, T: float, double.
template <Isa kIsa, class T>
Loop<T> loop_for();

template <class T>
Loop<T> loop_of(Isa isa) {
  return pick_or_reference(isa, []<Isa kIsa>() { return loop_for<kIsa, T>(); });
}

}  // namespace isobit::kernels::dropout_kernels
