// What each instruction set brings to this family. Internal.
#pragma once

#include <cstdint>

#include "isobit/kernels/activation/activation.h"
#include "isobit/kernels/dispatch/by_isa.h"

namespace isobit::kernels::activation {

template <class T>
struct Table {
  void (*relu)(int64_t n, const T* src, T* dst);
  void (*relu_grad)(int64_t n, const T* src, const T* diff_dst, T* diff_src);
  void (*leaky_relu)(int64_t n, T alpha, const T* src, T* dst);
  void (*leaky_relu_grad)(int64_t n, T alpha, const T* src, const T* diff_dst, T* diff_src);
  void (*sigmoid)(int64_t n, const T* src, T* dst);
  void (*sigmoid_grad)(int64_t n, const T* dst, const T* diff_dst, T* diff_src);
  void (*tanh)(int64_t n, const T* src, T* dst);
  void (*tanh_grad)(int64_t n, const T* dst, const T* diff_dst, T* diff_src);
  void (*gelu)(GeluForm form, int64_t n, const T* src, T* dst);
  void (*gelu_grad)(GeluForm form, int64_t n, const T* src, const T* diff_dst, T* diff_src);
};

// The constants of gelu_grad.
template <class T>
struct GeluConstants {
  static constexpr T kInverseRoot2 = T(0.70710678118654752440);
  static constexpr T kRoot2OverPi = T(0.79788456080286535588);
  static constexpr T kInverseRoot2Pi = T(0.39894228040143267794);
  static constexpr T kCubic = T(0.044715);
  static constexpr T kThreeCubic = T(0.134145);
  static constexpr T kBound = T(40);
};

// One for every instruction set and the reference, T: float, double.
template <Isa kIsa, class T>
const Table<T>& table();

template <class T>
const Table<T>& table_of(Isa isa) {
  return pick_or_reference(isa, []<Isa kIsa>() -> const Table<T>& { return table<kIsa, T>(); });
}

}  // namespace isobit::kernels::activation
