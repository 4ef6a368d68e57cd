#include "isobit/kernels/correct/repair.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

#include "isobit/kernels/correct/lines.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::kernels::correct {
namespace {

// One undecided output: its two lines and what is known of them.
struct Term {
  int64_t k;
  const float* a;
  const float* b;
  float bias;  // +0 for none: it changes no exact sum
  double norm_a, norm_b;
};

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

// Every term is a number, or an infinity, or NaN; in float64 no product or sum of finite ones overflows, so that any
// order gives the result.
float special_value(const Term& t) {
  if (std::isnan(t.norm_a) || std::isnan(t.norm_b) || numerics::is_nan(t.bias)) return numerics::nan_f32();
  double sum = static_cast<double>(t.bias);
  for (int64_t l = 0; l < t.k; ++l) sum += static_cast<double>(t.a[l]) * static_cast<double>(t.b[l]);
  return numerics::canonical(static_cast<float>(sum));
}

float exact_value(const Term& t) {
  numerics::ExactAccumulator sum;
  for (int64_t l = 0; l < t.k; ++l) sum.add_product(t.a[l], t.b[l]);
  sum.add(t.bias);
  return sum.rounded();
}

Doubled plain_sum(const Term& t) {
  double sum = static_cast<double>(t.bias);
  for (int64_t l = 0; l < t.k; ++l) sum += static_cast<double>(t.a[l]) * static_cast<double>(t.b[l]);
  return {sum, 0};
}

float finite_value(const Steps& steps, const Term& t, Mutation mutation, Statistics& statistics) {
  Doubled sum = mutation == Mutation::kNoDoubledStep ? plain_sum(t) : steps.dot(t.k, t.a, t.b);
  if (mutation != Mutation::kNoDoubledStep) {
    double error;
    two_sum(sum.high, static_cast<double>(t.bias), sum.high, error);
    sum.low += error;
  }
  if (mutation == Mutation::kNoExactStep) return rounded(sum.high, sum.low);
  // Two terms more than the sum's own bound has: the bias, and the rounding of low +- bound.
  const double ku = static_cast<double>(t.k + 36) * 0x1p-53;
  const double magnitude = t.norm_a * t.norm_b + std::fabs(static_cast<double>(t.bias));
  const double bound = ku * ku * (1 + 0x1p-18) * magnitude;
  const float below = rounded(sum.high, sum.low - bound), above = rounded(sum.high, sum.low + bound);
  if (numerics::bits_of(below) == numerics::bits_of(above)) return below;
  ++statistics.exact;
  return exact_value(t);
}

template <class Key>
std::vector<int64_t> distinct(std::span<const Undecided> items, Key key) {
  std::vector<int64_t> lines(items.size());
  std::transform(items.begin(), items.end(), lines.begin(), key);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

// A value x and a bound on its distance from the exact sum; true if that decides the rounding.
bool decides(double x, double d, float& out) {
  const float below = static_cast<float>(x - d), above = static_cast<float>(x + d);
  out = below;
  return numerics::bits_of(below) == numerics::bits_of(above);
}

int64_t common_bits(const uint64_t* a, const uint64_t* b, size_t words) {
  int64_t count = 0;
  for (size_t w = 0; w < words; ++w) count += std::popcount(a[w] & b[w]);
  return count;
}

// gamma_n * (1 + 2^-20)
double gamma(int64_t n) {
  const double nu = static_cast<double>(n) * 0x1p-53;
  return nu / (1 - nu) * (1 + 0x1p-20);
}

// The closer look of repair.h at a sum of finite terms, at least one of them nonzero. False: still undecided.
bool settle(const Steps& steps, const Term& t, int64_t terms, double x, Mutation mutation, float& out) {
  const double bias = std::fabs(static_cast<double>(t.bias));
  const double magnitude = t.norm_a * t.norm_b + bias;
  x += 0.0;  // -0 to +0
  if (terms == 1 || (mutation == Mutation::kFewTermsAreExact && terms <= 3)) {
    out = static_cast<float>(x);
    return true;
  }
  if (terms == 2) {
    if (decides(x, 0x1p-51 * std::fabs(x), out)) return true;
  } else if (decides(x, gamma(terms) * magnitude, out)) {
    return true;
  }
  if ((numerics::bits_of(x) & ((uint64_t{1} << 28) - 1)) != 0) return false;  // more than 25 bits
  int grid = steps.grid(t.k, t.a) + steps.grid(t.k, t.b);
  if (t.bias != 0) grid = std::min(grid, steps.grid(1, &t.bias));
  if (mutation != Mutation::kGridUnchecked && magnitude * (1 + 0x1p-20) > std::ldexp(1.0, grid + 53)) return false;
  out = static_cast<float>(x);
  return true;
}

// The items of a few columns.
void repair_group(const Steps& steps, const Problem& p, const Norms& norms, const Lines& rows, Lines& columns,
                  std::span<const Undecided> items, Mutation mutation, Statistics& statistics) {
  columns.assign(distinct(items, [](const Undecided& u) { return u.j; }));
  columns.pack(0, static_cast<int64_t>(columns.size()));
  for (const Undecided& u : items) {
    const size_t row = rows.index_of(u.i), column = columns.index_of(u.j);
    Term t{p.k,
           rows.at(row),
           columns.at(column),
           0,
           norms.rows[u.i - norms.first_row],
           norms.columns[u.j - norms.first_column]};
    if (p.row_bias != nullptr) t.bias = p.row_bias[u.i];
    if (p.column_bias != nullptr) t.bias = p.column_bias[u.j];
    float* out = p.out.at(u.i, u.j);
    if (!std::isfinite(t.norm_a) || !std::isfinite(t.norm_b) || !numerics::is_finite(t.bias)) {
      ++statistics.repaired;
      *out = special_value(t);
      continue;
    }
    const int64_t terms = common_bits(rows.mask(row), columns.mask(column), rows.words());
    if (terms == 0) {
      ++statistics.zeros;
      *out = t.bias + 0.0f;
    } else if (settle(steps, t, terms + (t.bias != 0), u.x, mutation, *out)) {
      ++statistics.settled;
    } else {
      ++statistics.repaired;
      *out = finite_value(steps, t, mutation, statistics);
    }
  }
}

// Where the groups of at most `width` columns begin in the sorted items, and their end.
std::vector<size_t> group_starts(std::span<const Undecided> items, int64_t width) {
  std::vector<size_t> starts;
  int64_t columns = 0;
  for (size_t q = 0; q < items.size(); ++q) {
    if (q == 0 || items[q].j != items[q - 1].j) {
      if (columns++ % width == 0) starts.push_back(q);
    }
  }
  starts.push_back(items.size());
  return starts;
}

}  // namespace

void repair(const CorrectContext& ctx, const Problem& p, const Norms& norms, std::vector<Undecided>& items,
            Statistics& statistics) {
  if (items.empty()) return;
  const Steps& steps = steps_of(ctx.kernel.isa);
  ThreadPool& pool = *ctx.kernel.pool;
  std::sort(items.begin(), items.end(),
            [](const Undecided& x, const Undecided& y) { return x.j != y.j ? x.j < y.j : x.i < y.i; });
  Lines rows(steps, *p.left, p.k);
  rows.assign(distinct(items, [](const Undecided& u) { return u.i; }));
  pool.parallel_for(static_cast<int64_t>(rows.size()), 16, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; q += 16) rows.pack(q, std::min(q + 16, end));
  });
  int64_t columns = 1;
  for (size_t q = 1; q < items.size(); ++q) columns += items[q].j != items[q - 1].j;
  const int64_t width = std::clamp<int64_t>(columns / (4 * pool.threads()), 1, 16);
  const std::vector<size_t> starts = group_starts(items, width);
  std::mutex merging;
  pool.parallel_for(static_cast<int64_t>(starts.size()) - 1, 1, [&](int64_t begin, int64_t end) {
    Statistics own;
    Lines packed(steps, *p.right, p.k);
    for (int64_t g = begin; g < end; ++g) {
      const size_t first = starts[static_cast<size_t>(g)], last = starts[static_cast<size_t>(g) + 1];
      repair_group(steps, p, norms, rows, packed, std::span<const Undecided>(items).subspan(first, last - first),
                   ctx.instruments.mutation, own);
    }
    const std::lock_guard<std::mutex> lock(merging);
    statistics.zeros += own.zeros;
    statistics.settled += own.settled;
    statistics.repaired += own.repaired;
    statistics.exact += own.exact;
  });
}

}  // namespace isobit::kernels::correct
