// The numbers modulo which integers stand for a product, and what it takes to put the product together again. Internal.
//
// p_0 .. p_(N-1) are coprime, M is their product. An integer |P| < M / 2 follows from its residues: with
//     w_s = (M / p_s)^-1 modulo p_s,   u_s = P w_s modulo p_s (nearest to zero)
// P / M differs from the sum of u_s / p_s by an integer (the Chinese remainder theorem in fractions).
#pragma once

#include <cstdint>

namespace isobit::kernels::correct::integer {

__extension__ typedef __int128 Int128;

inline constexpr int kFewestModuli = 10;
inline constexpr int kMostModuli = 12;

// An integer in bytes b_0, b_1, .. from the least significant on, none of them signed, is congruent modulo p to the sum
// of b_i of[i]: which byte instructions add up at once.
struct Digits {
  int8_t of[8] = {};
};

// The first moduli are one group, the others another.
constexpr int first_group(int moduli) { return (moduli + 1) / 2; }

struct Moduli {
  int count = 0;
  int p[kMostModuli] = {};
  int weight[kMostModuli] = {};       // w_s, nearest to zero
  Int128 cofactor[kMostModuli] = {};  // M / p_s
  // 256^i modulo p_s, i < 6, and 256^i w_s modulo p_s, i < 4; nearest to zero.
  Digits digits[kMostModuli] = {}, weighted_digits[kMostModuli] = {};
  Int128 product = 0;  // M < 2^95
  double size = 0;     // M, rounded
  // Lines are scaled so that the norms of their integers are at most this: sqrt(M / 2) (1 - 2^-11), rounded.
  double largest_norm = 0;
  // Either group's product is below 2^48, so that the sum of the u_s q / p_s of one group is an integer below 2^50,
  // exact in float64 in whatever order.
  double group[2] = {}, inverse[2] = {};  // q, and 1 / q
  double in_group[kMostModuli] = {};      // q / p_s
};

// REQUIRES kFewestModuli <= count <= kMostModuli.
const Moduli& moduli_of(int count);

// The digits 256^i * weight modulo p, i < count. REQUIRES 3 <= p <= 256, count <= 8.
Digits digits_of(int p, int weight, int count);

// P from u_0 .. u_(N-1). REQUIRES |P| < M / 2.
Int128 combined(const Moduli& moduli, const int8_t* u, int64_t stride);

}  // namespace isobit::kernels::correct::integer
