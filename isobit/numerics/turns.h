// Sine and cosine of fractions of a turn: the numbers of discrete Fourier transforms and of window functions.
//
// Determinism: integers and + - * / in float64, in a written order; the same bits on every machine.
#pragma once

#include <cstdint>

namespace isobit::numerics {

struct SinCos {
  double sin;
  double cos;
};

// Of the angle 2 pi j / n. Error below 2 ulp of each; exact where the result is 0, 1 or -1, and a zero is +0. The
// quarter turns are symmetric to the bit: sin of (n - j) is -sin of j. REQUIRES 0 < n <= 2^59.
SinCos sin_cos_of_turn(int64_t j, int64_t n);

}  // namespace isobit::numerics
