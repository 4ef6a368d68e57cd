#include "isobit/kernels/rounding/exact_value.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <limits>

#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/sieves.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::kernels::rounding {
namespace {

using numerics::ExactAccumulator;

// a + b = sum + rest exactly, barring overflow. Source: D. E. Knuth, The Art of Computer Programming 2, 4.2.2.
struct TwoSum {
  double sum, rest;
};
TwoSum two_sum(double a, double b) {
  const double sum = a + b, virtual_b = sum - a;
  return {sum, (a - (sum - virtual_b)) + (b - virtual_b)};
}

constexpr int64_t kLanes = OutputSum::kLanes;

// The lanes in ascending order after the bias.
ExactValue sum_of_lanes(const double* high, const double* low, double bias) {
  double total = bias, rest = 0;
  for (int64_t q = 0; q < kLanes; ++q) {
    const TwoSum s = two_sum(total, high[q]);
    total = s.sum;
    rest += s.rest + low[q];
  }
  if (!std::isfinite(total)) return {numerics::canonical(total), 0};
  const TwoSum s = two_sum(total, rest);
  return {s.sum, s.rest};
}

// Sum2 of T. Ogita, S. M. Rump and S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005, in eight
// lanes: term l in lane l % 8. Products of float32 values are exact.
ExactValue doubled_sum(int64_t k, const double* a, const double* b, double bias) {
  double high[kLanes] = {}, low[kLanes] = {};
  const int64_t whole = k - k % kLanes;
  for (int64_t l = 0; l < whole; l += kLanes) {
    for (int64_t q = 0; q < kLanes; ++q) {
      const double p = a[l + q] * b[l + q], sum = high[q] + p, virtual_p = sum - high[q];
      low[q] += (high[q] - (sum - virtual_p)) + (p - virtual_p);
      high[q] = sum;
    }
  }
  for (int64_t l = whole; l < k; ++l) {
    const TwoSum s = two_sum(high[l - whole], a[l] * b[l]);
    high[l - whole] = s.sum;
    low[l - whole] += s.rest;
  }
  return sum_of_lanes(high, low, bias);
}

// The sum in as many digits as it has, as the float64 that is nearest or, between two, the odd one: rounding that
// rounds the sum itself.
double to_odd(ExactAccumulator sum) {
  if (sum.is_zero()) return 0;
  const bool negative = sum.sign() < 0;
  if (negative) {
    ExactAccumulator positive;
    positive.subtract(sum);
    sum = positive;
  }
  const ExactAccumulator::Limbs limbs = sum.limbs();
  int top = ExactAccumulator::kLimbs - 1;
  while (limbs[static_cast<size_t>(top)] == 0) --top;
  // The 64 bits from the highest one down, the last of them also standing for all below.
  const auto limb = [&](int i) { return i < 0 ? uint64_t{0} : limbs[static_cast<size_t>(i)]; };
  const int zeros = std::countl_zero(limb(top));
  uint64_t leading = zeros == 0 ? limb(top) : limb(top) << zeros | limb(top - 1) >> (64 - zeros);
  bool below = zeros == 0 ? limb(top - 1) != 0 : limb(top - 1) << zeros != 0;
  for (int i = 0; i < top - 1; ++i) below |= limb(i) != 0;
  constexpr uint64_t kBelow53 = (1 << 11) - 1;
  below |= (leading & kBelow53) != 0;
  leading = (leading >> 11) | uint64_t{below};
  const double magnitude =
      std::ldexp(static_cast<double>(leading), 64 * top - zeros + 11 + ExactAccumulator::kUnitExponent);
  return negative ? -magnitude : magnitude;
}

double exact_sum_to_odd(int64_t k, const double* a, const double* b, double bias) {
  ExactAccumulator sum;
  sum.add(static_cast<float>(bias));
  for (int64_t l = 0; l < k; ++l) sum.add_product(static_cast<float>(a[l]), static_cast<float>(b[l]));
  return to_odd(sum);
}

// The lines of one output at a time.
struct LinePair {
  std::vector<double> a, b;

  void read(const ProductBlock& block, int64_t i, int64_t j) {
    a.resize(static_cast<size_t>(block.k));
    b.resize(a.size());
    block.left.read(i, a.data());
    block.right.read(j, b.data());
  }
};

double round_normalised(double high, double low, int bits) {
  const TwoSum s = two_sum(high, low);
  return round_sum(s.sum, s.rest, bits) + 0.0;
}

// z rounded once, whatever it is off by.
double rounded_exactly(const LinePair& lines, double bias, const ExactValue& z, double magnitude, int bits) {
  if (!std::isfinite(z.high)) return round_to_bits(z.high, bits);
  const auto k = static_cast<int64_t>(lines.a.size());
  const double roundings = static_cast<double>(k + 16) * kUnit, off = roundings * roundings * magnitude * (1 + 0x1p-6);
  const double low = round_normalised(z.high, z.low - off, bits), high = round_normalised(z.high, z.low + off, bits);
  if (low == high) return low;
  return round_to_bits(exact_sum_to_odd(k, lines.a.data(), lines.b.data(), bias), bits) + 0.0;
}

}  // namespace

double round_sum(double high, double low, int bits) {
  uint64_t odd = numerics::bits_of(high);
  // Of the two float64 values around the sum the one whose last bit is set, which is no value of fewer bits and no
  // boundary of them: it lies on the same side of all of those as the sum.
  if (low != 0 && std::isfinite(high) && (odd & 1) == 0) odd = (low > 0) == (high > 0) ? odd + 1 : odd - 1;
  return round_to_bits(numerics::f64_from_bits(odd), bits);
}

ExactValue evaluate_exactly(const ProductBlock& block, int64_t i, int64_t j) {
  LinePair lines;
  lines.read(block, i, j);
  return doubled_sum(block.k, lines.a.data(), lines.b.data(), block.bias(i, j));
}

double ExactOutput::error() const {
  const double x = at.value;
  if (x == z.high && z.low == 0) return 0;
  if (std::isnan(x) && std::isnan(z.high)) return 0;
  const double distance = std::fabs((x - z.high) - z.low);
  return std::isfinite(distance) ? distance / at.magnitude / kUnit : std::numeric_limits<double>::infinity();
}

std::vector<ExactOutput> evaluate_outputs(const KernelContext& ctx, const std::vector<ProductBlock>& blocks,
                                          const std::vector<NearTie>& places, int bits) {
  const Table& loops = table_of(ctx.isa);
  std::vector<ExactOutput> outputs(places.size());
  ctx.pool->parallel_for(static_cast<int64_t>(places.size()), 4, [&](int64_t begin, int64_t end) {
    LinePair lines;
    for (int64_t q = begin; q < end; ++q) {
      ExactOutput& o = outputs[static_cast<size_t>(q)];
      o.at = places[static_cast<size_t>(q)];
      const ProductBlock& block = blocks[o.at.block];
      const double bias = block.bias(o.at.i, o.at.j);
      lines.read(block, o.at.i, o.at.j);
      o.at.magnitude = loops.magnitudes(block.k, lines.a.data(), lines.b.data()) + std::fabs(bias);
      o.z = doubled_sum(block.k, lines.a.data(), lines.b.data(), bias);
      o.rounded = rounded_exactly(lines, bias, o.z, o.at.magnitude, bits);
    }
  });
  return outputs;
}

void OutputSum::add(double a, double b) {
  const auto q = static_cast<size_t>(count++ % kLanes);
  const double product = a * b;
  const TwoSum s = two_sum(high[q], product);
  high[q] = s.sum;
  low[q] += s.rest;
  magnitude[q] += std::fabs(product);
  if (a != 0 && b != 0) quantum = std::min(quantum, quantum_of(a) + quantum_of(b));
  sum.add_product(static_cast<float>(a), static_cast<float>(b));
}

ExactOutput OutputSum::output(double bias, int bits) const {
  ExactOutput o;
  double magnitudes = 0;
  for (const double m : magnitude) magnitudes += m;
  o.at.magnitude = magnitudes + std::fabs(bias);
  o.z = sum_of_lanes(high.data(), low.data(), bias);
  ExactAccumulator all = sum;
  all.add(static_cast<float>(bias));
  o.rounded = std::isfinite(o.z.high) ? round_to_bits(to_odd(all), bits) + 0.0 : round_to_bits(o.z.high, bits);
  return o;
}

bool OutputSum::adds_exactly(double bias, double magnitude_of_output) const {
  return rounding::adds_exactly(magnitude_of_output, bias != 0 ? std::min(quantum, quantum_of(bias)) : quantum);
}

bool adds_exactly(const ProductBlock& block, int64_t i, int64_t j, double magnitude) {
  LinePair lines;
  lines.read(block, i, j);
  const double bias = block.bias(i, j);
  int quantum = bias != 0 ? quantum_of(bias) : INT_MAX;
  for (size_t l = 0; l < lines.a.size(); ++l) {
    const double x = lines.a[l], y = lines.b[l];
    if (x != 0 && y != 0) quantum = std::min(quantum, quantum_of(x) + quantum_of(y));
  }
  return adds_exactly(magnitude, quantum);
}

Candidates candidates(const ExactValue& z, double width, double magnitude, int bits) {
  return candidates(z.high, width, magnitude, bits);
}

}  // namespace isobit::kernels::rounding
