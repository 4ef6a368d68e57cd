// What each instruction set brings to this family. Internal.
#pragma once

#include <cstdint>

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
};

// T: float, double, int64_t, int32_t. `isa` is available.
template <class T>
const Table<T>& table(Isa isa);

}  // namespace isobit::kernels::elementwise

#define ISOBIT_ELEMENTWISE_TABLES(isa)          \
  namespace isobit::kernels::elementwise::isa { \
  extern const Table<float> kTableF32;          \
  extern const Table<double> kTableF64;         \
  extern const Table<int64_t> kTableI64;        \
  extern const Table<int32_t> kTableI32;        \
  }
ISOBIT_ELEMENTWISE_TABLES(reference)
ISOBIT_ELEMENTWISE_TABLES(portable)
ISOBIT_ELEMENTWISE_TABLES(avx2)
ISOBIT_ELEMENTWISE_TABLES(avx512)
ISOBIT_ELEMENTWISE_TABLES(neon)
#undef ISOBIT_ELEMENTWISE_TABLES
