#include "isobit/kernels/correct/evaluate.h"

#include <cmath>

#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::kernels::correct {
namespace {

// a + b = sum + error exactly.
void two_sum(double a, double b, double& sum, double& error) {
  sum = a + b;
  const double z = sum - a;
  error = (a - (sum - z)) + (b - z);
}

// The float32 nearest to high + low. The sum is rounded to odd first; 53 >= 2 * 24 + 2, so that narrowing it is the one
// rounding that counts (S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums, 2008).
float rounded(double high, double low) {
  double sum, error;
  two_sum(high, low, sum, error);
  if (error == 0) return static_cast<float>(sum);
  uint64_t bits = numerics::bits_of(sum);
  if ((error < 0) != (sum < 0)) --bits;
  return static_cast<float>(numerics::f64_from_bits(bits | 1));
}

float exact_value(const UndecidedSum& t) {
  numerics::ExactAccumulator sum;
  for (int64_t l = 0; l < t.k; ++l) sum.add_product(t.a[l], t.b[l]);
  sum.add(t.bias);
  return sum.rounded();
}

Doubled plain_sum(const UndecidedSum& t) {
  double sum = static_cast<double>(t.bias);
  for (int64_t l = 0; l < t.k; ++l) sum += static_cast<double>(t.a[l]) * static_cast<double>(t.b[l]);
  return {sum, 0};
}

}  // namespace

// Every term is a number, or an infinity, or NaN; in float64 no product or sum of finite ones overflows, so that any
// order gives the result.
float special_value(const UndecidedSum& t) {
  if (std::isnan(t.norm_a) || std::isnan(t.norm_b) || numerics::is_nan(t.bias)) return numerics::nan_f32();
  double sum = static_cast<double>(t.bias);
  for (int64_t l = 0; l < t.k; ++l) sum += static_cast<double>(t.a[l]) * static_cast<double>(t.b[l]);
  return numerics::canonical(static_cast<float>(sum));
}

// Two terms more than the sum's own bound (table.h) has: the bias, and the rounding of low +- bound.
double doubled_bound(int64_t k, double magnitude) {
  const double ku = static_cast<double>(k + 36) * 0x1p-53;
  return ku * ku * (1 + 0x1p-18) * magnitude;
}

EvaluatedSum evaluate(const Table& loops, const UndecidedSum& t, double magnitude, Mutation mutation) {
  EvaluatedSum e;
  e.sum = mutation == Mutation::kNoDoubledStep ? plain_sum(t) : loops.dot(t.k, t.a, t.b);
  if (mutation != Mutation::kNoDoubledStep) {
    double error;
    two_sum(e.sum.high, static_cast<double>(t.bias), e.sum.high, error);
    e.sum.low += error;
  }
  if (mutation == Mutation::kNoExactStep) {
    e.value = rounded(e.sum.high, e.sum.low);
    return e;
  }
  e.bound = doubled_bound(t.k, magnitude);
  const float below = rounded(e.sum.high, e.sum.low - e.bound), above = rounded(e.sum.high, e.sum.low + e.bound);
  if (numerics::bits_of(below) == numerics::bits_of(above)) {
    e.value = below;
    return e;
  }
  e.accumulated = true;
  e.value = exact_value(t);
  return e;
}

}  // namespace isobit::kernels::correct
