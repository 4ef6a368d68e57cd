#include "isobit/kernels/correct/integer/exact.h"

#include <cmath>

#include "isobit/numerics/exact_accumulator.h"

namespace isobit::kernels::correct::integer {
namespace {

using numerics::ExactAccumulator;
__extension__ typedef unsigned __int128 Unsigned128;

// integer * 2^exponent, which is a multiple of the accumulator's unit, in it.
ExactAccumulator in_accumulator(Int128 integer, int exponent) {
  int shift = exponent - ExactAccumulator::kUnitExponent;
  if (shift < 0) {
    integer >>= -shift;  // nothing but zeros
    shift = 0;
  }
  const auto bits = static_cast<Unsigned128>(integer);
  const uint64_t sign = integer < 0 ? ~uint64_t{0} : 0;
  const uint64_t words[3] = {static_cast<uint64_t>(bits), static_cast<uint64_t>(bits >> 64), sign};
  ExactAccumulator::Limbs limbs = {};
  const int skipped = shift / 64, within = shift % 64;
  for (int q = skipped; q < ExactAccumulator::kLimbs; ++q) {
    const int from = q - skipped;
    const uint64_t word = words[from < 2 ? from : 2], below = from == 0 ? 0 : words[from - 1 < 2 ? from - 1 : 2];
    limbs[static_cast<size_t>(q)] = within == 0 ? word : word << within | below >> (64 - within);
  }
  return ExactAccumulator::from_limbs(limbs, ExactAccumulator::Special::kNone);
}

}  // namespace

// Rounded to odd to 53 bits first: 53 >= 2 * 24 + 2, so that narrowing is the one rounding that counts.
float rounded(Int128 integer, int exponent) {
  const bool negative = integer < 0;
  auto size = static_cast<Unsigned128>(negative ? -integer : integer);
  bool lost = false;
  while (size >> 53 != 0) {
    const int step = size >> 64 != 0 ? 11 : 1;
    lost = lost || (size & ((Unsigned128{1} << step) - 1)) != 0;
    size >>= step;
    exponent += step;
  }
  const auto odd = static_cast<double>(static_cast<uint64_t>(size) | (lost ? 1 : 0));
  return static_cast<float>(std::ldexp(negative ? -odd : odd, exponent));
}

float exact_output(const IntegerSide& left, const IntegerSide& right, const product::Matrices<float>& p, int64_t i,
                   int64_t j, Int128 product) {
  const int64_t row = i - left.laid().first, column = j - right.laid().first;
  const int exponent = -left.exponent(row) - right.exponent(column);
  const float bias = p.bias(i, j);
  const Rest* r = left.rests_begin(row);
  const Rest* const r_end = left.rests_end(row);
  const Rest* q = right.rests_begin(column);
  const Rest* const q_end = right.rests_end(column);
  if (r == r_end && q == q_end && bias == 0) return rounded(product, exponent);
  ExactAccumulator sum = in_accumulator(product, exponent);
  for (const Rest* x = r; x != r_end; ++x) sum.add_product(x->value, p.right.element(j, x->l));
  for (const Rest* x = q; x != q_end; ++x) sum.add_product(x->value, p.left.element(i, x->l));
  while (r != r_end && q != q_end) {
    if (r->l == q->l) sum.add_product(-r->value, q->value);
    const bool both = r->l == q->l, first = r->l < q->l;
    if (first || both) ++r;
    if (!first) ++q;
  }
  sum.add(bias);
  return sum.rounded();
}

}  // namespace isobit::kernels::correct::integer
