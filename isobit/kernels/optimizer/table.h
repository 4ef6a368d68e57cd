// What each instruction set brings to this family. Internal.
#pragma once

#include <cstdint>

#include "isobit/kernels/optimizer/optimizer.h"

namespace isobit::kernels::optimizer {

// The numbers that do not depend on the element, rounded to T as optimizer.h writes.
template <class T>
struct SgdFactors {
  T lr, momentum, weight_decay, grad_scale;
  bool decay, velocity, nesterov;
};
template <class T>
struct AdamFactors {
  T beta1, beta2, nb1, nb2, step, root, eps, weight_decay, keep, grad_scale;
  bool decay, decoupled;
};

// Elements begin <= i < end.
template <class T>
struct Table {
  void (*sgd)(const SgdFactors<T>& f, int64_t begin, int64_t end, const SgdTensors<T>& t);
  void (*adam)(const AdamFactors<T>& f, int64_t begin, int64_t end, const AdamTensors<T>& t);
};

}  // namespace isobit::kernels::optimizer

#define ISOBIT_OPTIMIZER_TABLES(isa)          \
  namespace isobit::kernels::optimizer::isa { \
  extern const Table<float> kTableF32;        \
  extern const Table<double> kTableF64;       \
  }
ISOBIT_OPTIMIZER_TABLES(reference)
ISOBIT_OPTIMIZER_TABLES(portable)
ISOBIT_OPTIMIZER_TABLES(avx2)
ISOBIT_OPTIMIZER_TABLES(avx512)
ISOBIT_OPTIMIZER_TABLES(neon)
#undef ISOBIT_OPTIMIZER_TABLES
