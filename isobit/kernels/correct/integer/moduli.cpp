#include "isobit/kernels/correct/integer/moduli.h"

#include <array>
#include <cmath>

#include "isobit/base/status.h"

namespace isobit::kernels::correct::integer {
namespace {

// The largest that are coprime in pairs and whose residues, nearest to zero, fit in int8.
constexpr std::array<int, kMostModuli> kModuli = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217};

int nearest_to_zero(Int128 x, int p) {
  int r = static_cast<int>(x % p);
  if (r < 0) r += p;
  return r > p / 2 ? r - p : r;
}

// The inverse of x modulo p by trial.
int inverse(int x, int p) {
  for (int q = 1; q < p; ++q) {
    if (nearest_to_zero(static_cast<Int128>(x) * q - 1, p) == 0) return q;
  }
  ISOBIT_CHECK(!"moduli are coprime");
  return 0;
}

Moduli make(int count) {
  Moduli m;
  m.count = count;
  m.product = 1;
  const int first = first_group(count);
  m.group[0] = m.group[1] = 1;
  for (int s = 0; s < count; ++s) {
    const auto at = static_cast<size_t>(s);
    m.p[at] = kModuli[at];
    m.product *= kModuli[at];
    m.group[s < first ? 0 : 1] *= kModuli[at];
  }
  for (int s = 0; s < count; ++s) {
    const auto at = static_cast<size_t>(s);
    m.cofactor[at] = m.product / m.p[at];
    m.weight[at] = nearest_to_zero(inverse(nearest_to_zero(m.cofactor[at], m.p[at]), m.p[at]), m.p[at]);
    m.digits[at] = digits_of(m.p[at], 1, 6);
    m.weighted_digits[at] = digits_of(m.p[at], m.weight[at], 4);
    m.in_group[at] = m.group[s < first ? 0 : 1] / m.p[at];  // exact
  }
  for (int g = 0; g < 2; ++g) m.inverse[g] = 1 / m.group[g];
  m.size = static_cast<double>(m.product);
  m.largest_norm = std::sqrt(m.size / 2) * (1 - 0x1p-11);
  return m;
}

}  // namespace

Digits digits_of(int p, int weight, int count) {
  Digits digits;
  Int128 power = weight;
  for (int i = 0; i < count; ++i, power = nearest_to_zero(256 * power, p)) {
    digits.of[i] = static_cast<int8_t>(nearest_to_zero(power, p));
  }
  return digits;
}

const Moduli& moduli_of(int count) {
  static const std::array<Moduli, kMostModuli - kFewestModuli + 1> all = {make(10), make(11), make(12)};
  ISOBIT_CHECK(count >= kFewestModuli && count <= kMostModuli);
  return all[static_cast<size_t>(count - kFewestModuli)];
}

Int128 combined(const Moduli& m, const int8_t* u, int64_t stride) {
  Int128 sum = 0;  // below 6 M < 2^98
  for (int s = 0; s < m.count; ++s) sum += m.cofactor[static_cast<size_t>(s)] * u[s * stride];
  while (sum > m.product / 2) sum -= m.product;
  while (sum < -(m.product / 2)) sum += m.product;
  return sum;
}

}  // namespace isobit::kernels::correct::integer
