// A matrix product and its operands, for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::correct::testing {

struct Case {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false, biased = false;
  std::vector<float> a = {}, b = {}, bias = {};

  // Of a product into c, which is made anew and full of NaN.
  MatmulArgs<float> args(std::vector<float>& c) const {
    c.assign(static_cast<size_t>(m * n), NAN);
    MatmulArgs<float> p;
    p.m = m, p.n = n, p.k = k;
    p.a = a.data(), p.a_row_stride = transpose_a ? 1 : k, p.a_col_stride = transpose_a ? m : 1;
    p.b = b.data(), p.b_row_stride = transpose_b ? 1 : n, p.b_col_stride = transpose_b ? k : 1;
    p.c = c.data(), p.c_row_stride = n;
    p.bias = biased ? bias.data() : nullptr;
    return p;
  }
};

// The three lowest bits of the seed choose transpositions and bias.
inline Case random_case(int64_t m, int64_t n, int64_t k, kernels::testing::Values values, uint64_t seed) {
  using kernels::testing::random_values;
  Case x{m, n, k, (seed & 1) != 0, (seed & 2) != 0, (seed & 4) != 0};
  x.a = random_values<float>(static_cast<size_t>(m * k), values, seed * 3);
  x.b = random_values<float>(static_cast<size_t>(k * n), values, seed * 3 + 1);
  x.bias = random_values<float>(static_cast<size_t>(n), values, seed * 3 + 2);
  return x;
}

}  // namespace isobit::kernels::correct::testing
