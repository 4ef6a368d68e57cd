// What each instruction set brings to this family. Internal.
#pragma once

#include <cstdint>

#include "isobit/kernels/dispatch/by_isa.h"
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

// One for every instruction set and the reference, T: float, double.
template <Isa kIsa, class T>
const Table<T>& table();

template <class T>
const Table<T>& table_of(Isa isa) {
  return pick_or_reference(isa, []<Isa kIsa>() -> const Table<T>& { return table<kIsa, T>(); });
}

}  // namespace isobit::kernels::optimizer
