// What each instruction set brings to this family. Internal.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/elementwise/binary.h"
#include "isobit/kernels/elementwise/unary.h"

namespace isobit::kernels::elementwise {

// Which operand of a row is one repeated element.
enum class Row { kBoth, kScalarA, kScalarB };

template <class T>
struct Table {
  void (*binary_row)(BinaryOp op, Row row, int64_t n, const T* a, const T* b, T* dst);
  void (*unary)(UnaryOp op, int64_t n, const T* src, T* dst);  // null for integers
  void (*scale)(int64_t n, T factor, const T* src, T* dst);    // null for integers
  void (*cube)(int64_t n, const T* src, T* dst) = nullptr;     // of float
};

// One for every instruction set and the reference, T: NumberTypes.
template <Isa kIsa, class T>
const Table<T>& table();

template <class T>
const Table<T>& table_of(Isa isa) {
  return pick_or_reference(isa, []<Isa kIsa>() -> const Table<T>& { return table<kIsa, T>(); });
}

}  // namespace isobit::kernels::elementwise
