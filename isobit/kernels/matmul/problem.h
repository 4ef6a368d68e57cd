// What the driver (gemm.cpp) computes. Internal to it.
#pragma once

#include "isobit/kernels/matmul/gemm.h"
#include "isobit/kernels/matmul/padded.h"
#include "isobit/kernels/product/geometry.h"

namespace isobit::kernels::gemm {

// A product whose sides are laid out as it reads them, or a part of one.
template <class T>
struct Problem {
  int64_t m = 0, n = 0;
  product::Order order;
  Operand<T> left, right;
  product::Placement out;
  T* c = nullptr;
  const T* bias = nullptr;
  bool bias_per_row = false;  // else one per column
  int64_t bias_batch_stride = 0;
  int64_t batch = 1;
  // Set by the driver, where the right side is read so: n then counts lanes of its vectors.
  const Padded<T>* padded = nullptr;
};

void compute(const KernelContext& ctx, const Problem<float>& problem);
void compute(const KernelContext& ctx, const Problem<double>& problem);

}  // namespace isobit::kernels::gemm
