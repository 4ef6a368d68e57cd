// The one seam between a kernel and the instruction sets and types that it is compiled for.
//
// A family declares in <family>/table.h what each set brings, and that there is one of it per set and type:
//
//   template <class T> struct Table { void (*relu)(int64_t n, const T* src, T* dst); ... };
//   template <Isa kIsa, class T> const Table<T>& table();
//   template <class T> const Table<T>& table_of(Isa isa);  // by pick(), below
//
// The names are the same in every family: Table, table and table_of, in a namespace of the family's name; where that is
// the name of a function, in `gemm` (matmul), `dropouts`, `softmaxes`. A family whose loops are not the same for every
// type has them without T: norm, pool, reduce and softmax (float32), rounding (float64), correct (both).
//
// <family>/tables.cpp defines table<Isa::ISOBIT_ISA, T> for every T. CMake compiles it once for every instruction set
// of cmake/instruction_sets.cmake (isobit_by_isa), with ISOBIT_ISA as its enumerator. Everything else in that file has
// internal linkage: the linker keeps one of several equal weak definitions, and must not find any.
#pragma once

#include "isobit/base/status.h"
#include "isobit/kernels/context.h"

// The types of kernels: a new one is added here. X(T, ...) for each.
#define ISOBIT_FOR_FLOATS(X, ...) X(float __VA_OPT__(, ) __VA_ARGS__) X(double __VA_OPT__(, ) __VA_ARGS__)
#define ISOBIT_FOR_NUMBERS(X, ...)                \
  ISOBIT_FOR_FLOATS(X __VA_OPT__(, ) __VA_ARGS__) \
  X(int64_t __VA_OPT__(, ) __VA_ARGS__)           \
  X(int32_t __VA_OPT__(, ) __VA_ARGS__)           \
  X(int16_t __VA_OPT__(, ) __VA_ARGS__)           \
  X(int8_t __VA_OPT__(, ) __VA_ARGS__)            \
  X(uint64_t __VA_OPT__(, ) __VA_ARGS__)          \
  X(uint32_t __VA_OPT__(, ) __VA_ARGS__) X(uint16_t __VA_OPT__(, ) __VA_ARGS__) X(uint8_t __VA_OPT__(, ) __VA_ARGS__)

// For families whose reference is a table, too: table<Isa::isa, T>() is the file's kTable<T>. In tables.cpp
// ISOBIT_FOR_FLOATS(ISOBIT_DEFINE_TABLE, ISOBIT_ISA), in reference.cpp the same with kReference.
#define ISOBIT_DEFINE_TABLE(T, isa)      \
  template <>                            \
  const Table<T>& table<Isa::isa, T>() { \
    return kTable<T>;                    \
  }
// For families without T, in tables.cpp: ISOBIT_DEFINE_ONE_TABLE(ISOBIT_ISA). table<Isa::isa>() is the file's kTable.
#define ISOBIT_DEFINE_ONE_TABLE(isa) \
  template <>                        \
  const Table& table<Isa::isa>() {   \
    return kTable;                   \
  }

namespace isobit::kernels {

// f.operator()<Isa::kAvx2>() where isa is kAvx2, and so on; kReference gets kPortable, for families whose reference is
// no table. REQUIRES isa_available(isa).
template <class F>
decltype(auto) pick(Isa isa, F f) {
  switch (isa) {
#define ISOBIT_EACH_BUILT_ISA(enumerator, name, runs) \
  case Isa::enumerator:                               \
    return f.template operator()<Isa::enumerator>();
#include "isobit/kernels/dispatch/instruction_sets.inc"
    case Isa::kReference:
      break;
    default:
      ISOBIT_CHECK(!"this build has no kernels for that instruction set");
  }
  return f.template operator()<Isa::kPortable>();
}

// The same for families whose reference is a table of the same kind.
template <class F>
decltype(auto) pick_or_reference(Isa isa, F f) {
  return isa == Isa::kReference ? f.template operator()<Isa::kReference>() : pick(isa, f);
}

}  // namespace isobit::kernels
