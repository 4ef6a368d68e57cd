// The matrices of Winograd's minimal filtering F(m, 3), derived by Cook and Toom's method in exact rational arithmetic,
// when the program is compiled.
//
// A correlation of m + 2 numbers d by 3 taps g is the transpose of a product of two polynomials of m and of 3
// coefficients. That product has a = m + 2 coefficients, so that it is known from its values at a points; here m + 1
// finite points p_i and infinity, where the value of a polynomial is its leading coefficient. With
//
//   M(x)   = (x - p_0) ... (x - p_m),    N_i(x) = M(x) / (x - p_i),    f_i = N_i(p_i)
//
// interpolation (Lagrange, and the leading coefficient times M) and transposition give
//
//   y = back ((weights g) * (src d)),   * element by element,
//   src[i][k]     = coefficient k of N_i, and for infinity of M      (a x a)
//   weights[i][k] = p_i^k / f_i, and for infinity [k = 2]            (a x 3)
//   back[j][i]    = p_i^j, and for infinity [j = m - 1]              (m x a)
//
// in which a sign may go from N_i to f_i: f_i is made positive. Two dimensions are this in each. Points: 0, 1, -1 for
// F(2, 3), and 0, 1, -1, 2, -2 for F(4, 3), the usual ones, whose src and back hold whole numbers. weights holds 1/2
// for F(2, 3), and 1/4, 1/6, 1/12 and 1/24 for F(4, 3): not all of them are float32 numbers.
//
// Source: Winograd, Arithmetic Complexity of Computations, 1980; Lavin and Gray, Fast Algorithms for Convolutional
// Neural Networks, CVPR 2016 (whose matrices these are, but for signs of the last column).
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

namespace isobit::kernels::algorithms {

// In lowest terms, denominator positive. REQUIRES that nothing overflows, which holds for the points above.
struct Rational {
  int64_t above = 0, below = 1;

  constexpr bool operator==(const Rational&) const = default;
  constexpr Rational operator+(Rational o) const { return reduced(above * o.below + o.above * below, below * o.below); }
  constexpr Rational operator*(Rational o) const { return reduced(above * o.above, below * o.below); }
  constexpr Rational operator/(Rational o) const { return reduced(above * o.below, below * o.above); }
  constexpr float rounded() const { return static_cast<float>(above) / static_cast<float>(below); }

  static constexpr Rational reduced(int64_t above, int64_t below) {
    const int64_t sign = below < 0 ? -1 : 1, common = std::gcd(above, below);
    return common == 0 ? Rational{} : Rational{sign * above / common, sign * below / common};
  }
};

template <class T, int kRows, int kColumns>
using Table = std::array<std::array<T, kColumns>, kRows>;

template <int kOutputs>
struct Winograd {
  static constexpr int kTaps = 3, kTile = kOutputs + kTaps - 1;
  Table<Rational, kOutputs, kTile> back{};
  Table<Rational, kTile, kTaps> weights{};
  Table<Rational, kTile, kTile> src{};
};

template <int kOutputs>
constexpr Winograd<kOutputs> winograd() {
  using W = Winograd<kOutputs>;
  constexpr int64_t kPoints[] = {0, 1, -1, 2, -2};
  constexpr int kFinite = W::kTile - 1;
  static_assert(kFinite <= 5);
  W w;
  // The product of (x - p) over all finite points but `without`, coefficients into row `without` of src.
  for (int without = 0; without <= kFinite; ++without) {
    auto& row = w.src[static_cast<size_t>(without)];
    row[0] = {1, 1};
    for (int p = 0, degree = 0; p < kFinite; ++p) {
      if (p == without) continue;
      ++degree;
      for (int k = degree; k >= 0; --k) {
        const Rational before = k == 0 ? Rational{} : row[static_cast<size_t>(k - 1)];
        row[static_cast<size_t>(k)] = before + Rational{-kPoints[p], 1} * row[static_cast<size_t>(k)];
      }
    }
  }
  for (size_t i = 0; i < kFinite; ++i) {
    const Rational point{kPoints[i], 1};
    Rational f{}, power{1, 1};
    for (const Rational& coefficient : w.src[i]) f = f + coefficient * power, power = power * point;
    const Rational sign{f.above < 0 ? -1 : 1, 1};
    for (Rational& coefficient : w.src[i]) coefficient = coefficient * sign;
    power = {1, 1};
    for (size_t k = 0; k < W::kTaps || k < kOutputs; ++k) {
      if (k < W::kTaps) w.weights[i][k] = power / (f * sign);
      if (k < kOutputs) w.back[k][i] = power;
      power = power * point;
    }
  }
  w.weights[kFinite][W::kTaps - 1] = {1, 1};
  w.back[kOutputs - 1][kFinite] = {1, 1};
  return w;
}

template <size_t kRows, size_t kColumns>
constexpr std::array<std::array<float, kColumns>, kRows> rounded(
    const std::array<std::array<Rational, kColumns>, kRows>& exact) {
  std::array<std::array<float, kColumns>, kRows> table{};
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t k = 0; k < kColumns; ++k) table[i][k] = exact[i][k].rounded();
  }
  return table;
}

}  // namespace isobit::kernels::algorithms
