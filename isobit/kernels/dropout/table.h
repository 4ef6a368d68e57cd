// What each instruction set brings to this family. Internal.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"

namespace isobit::kernels::dropouts {

// dropout.h's arguments, worked out.
template <class T>
struct Rule {
  uint64_t seed;
  uint32_t step;
  uint64_t first_block;  // node * 2^40
  int64_t first;         // of the elements, counted in the whole batch
  uint32_t threshold;    // kept iff bits >= threshold
  T scale;
};

// Elements begin <= i < end.
template <class T>
struct Table {
  void (*drop)(const Rule<T>& rule, int64_t begin, int64_t end, const T* src, T* dst);
};

// One for every instruction set and the reference, T: float, double.
template <Isa kIsa, class T>
const Table<T>& table();

template <class T>
const Table<T>& table_of(Isa isa) {
  return pick_or_reference(isa, []<Isa kIsa>() -> const Table<T>& { return table<kIsa, T>(); });
}

}  // namespace isobit::kernels::dropouts
