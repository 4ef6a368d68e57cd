// What every kernel is given besides its operands: which implementation to use and the threads to use it on.
//
// Determinism class of the kernels in this room, but for those in vendor/: `ordered-1`, or `correct-1` in correct/. The
// result is a function of the operands alone; neither ISA nor threads can reach a bit of it.
#pragma once

#include <span>
#include <string>

#include "isobit/base/thread_pool.h"

namespace isobit::kernels {

// kReference is the scalar specification in <op>/reference.cpp, compiled for the baseline machine. The others are those
// of cmake/instruction_sets.cmake, slowest first: kPortable (the same order, blocked and vectorisable, for the baseline
// machine of any architecture), kNeon, kAvx2, kAvx512.
enum class Isa {
  kReference,
#define ISOBIT_EACH_ISA(enumerator, name) enumerator,
#include "isobit/kernels/dispatch/instruction_sets.inc"
};

const char* name_of(Isa isa);  // "reference", "portable", "neon", "avx2", "avx512"

template <class T>
class InnerProducts;  // inner_products.h
class Finisher;       // elements.h

struct KernelContext {
  Isa isa;
  ThreadPool* pool;  // not owned; never null
  // Whoever runs a graph takes inner products from here; null: the ordered ones. Not owned. The kernels themselves do
  // not look at them.
  InnerProducts<float>* products_f32 = nullptr;
  InnerProducts<double>* products_f64 = nullptr;
  // Who changes outputs as their elements come; null: nobody, as for every kernel that does not say that it finishes
  // (runtime/kernel_call.h). Not owned.
  Finisher* finisher = nullptr;

  template <class T>
  InnerProducts<T>* products() const {
    if constexpr (sizeof(T) == 4) {
      return products_f32;
    } else {
      return products_f64;
    }
  }
};

}  // namespace isobit::kernels
