// The numbers modulo which integers stand for a product, and what it takes to put the product together again. Internal.
//
// p_0 .. p_(N-1) are coprime, M is their product. An integer |P| < M / 2 follows from its residues: with
//     w_s = (M / p_s)^-1 modulo p_s,   u_s = P w_s modulo p_s (nearest to zero)
// P / M differs from the sum of u_s / p_s by an integer (the Chinese remainder theorem in fractions).
#pragma once

#include <array>
#include <cstdint>

namespace isobit::kernels::correct::integer {

__extension__ typedef __int128 Int128;

inline constexpr int kFewestModuli = 10;
inline constexpr int kMostModuli = 12;

struct Moduli {
  int count = 0;
  std::array<int, kMostModuli> p = {};
  std::array<int, kMostModuli> weight = {};       // w_s, nearest to zero
  std::array<Int128, kMostModuli> cofactor = {};  // M / p_s
  Int128 product = 0;                             // M < 2^95
  // Lines are scaled so that the norms of their integers are at most this: sqrt(M / 2) (1 - 2^-11), rounded.
  double largest_norm = 0;
  // The first `first` moduli and the others: either product is below 2^48, so that the sum of the u_s q / p_s of one
  // group is an integer below 2^50, exact in float64 in whatever order.
  int first = 0;
  std::array<double, 2> group = {};               // q, the products of the two groups
  std::array<double, kMostModuli> in_group = {};  // q / p_s
};

// REQUIRES kFewestModuli <= count <= kMostModuli.
const Moduli& moduli_of(int count);

// P from u_0 .. u_(N-1). REQUIRES |P| < M / 2.
Int128 combined(const Moduli& moduli, const int8_t* u, int64_t stride);

}  // namespace isobit::kernels::correct::integer
