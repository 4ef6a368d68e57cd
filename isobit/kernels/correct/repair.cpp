#include "isobit/kernels/correct/repair.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <span>

#include "isobit/kernels/correct/lines.h"
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
  const double bound = ku * ku * (1 + 0x1p-18) * t.magnitude();
  const float below = rounded(sum.high, sum.low - bound), above = rounded(sum.high, sum.low + bound);
  if (numerics::bits_of(below) == numerics::bits_of(above)) return below;
  ++statistics.exact;
  return exact_value(t);
}

// By column, in linear time.
std::vector<Undecided> by_column(const std::vector<Undecided>& items, const Side& right) {
  std::vector<size_t> place(static_cast<size_t>(right.count()) + 1);
  for (const Undecided& u : items) ++place[static_cast<size_t>(u.j - right.first) + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<Undecided> sorted(items.size());
  for (const Undecided& u : items) sorted[place[static_cast<size_t>(u.j - right.first)]++] = u;
  return sorted;
}

// The rows that items need, ascending.
std::vector<int64_t> rows_of(const std::vector<Undecided>& items, const Side& left) {
  std::vector<char> needed(static_cast<size_t>(left.count()));
  for (const Undecided& u : items) needed[static_cast<size_t>(u.i - left.first)] = 1;
  std::vector<int64_t> rows;
  for (size_t q = 0; q < needed.size(); ++q) {
    if (needed[q]) rows.push_back(left.first + static_cast<int64_t>(q));
  }
  return rows;
}

// The columns of items that are sorted by column.
std::vector<int64_t> columns_of(std::span<const Undecided> items) {
  std::vector<int64_t> columns;
  for (const Undecided& u : items) {
    if (columns.empty() || columns.back() != u.j) columns.push_back(u.j);
  }
  return columns;
}

// One output, all else having been made ready.
void repair_one(const Steps& steps, const Term& t, const Lines& rows, size_t row, const Lines& columns, size_t column,
                double x, Mutation mutation, Statistics& statistics, float& out) {
  if (!t.finite()) {
    ++statistics.repaired;
    out = special_value(t);
    return;
  }
  const int64_t common = common_bits(rows.mask(row), columns.mask(column), rows.words());
  if (settle_by_terms(t, common, x, mutation, statistics, out)) return;
  if (has_few_bits(x) && settle_by_grid(t, rows.grid(row), columns.grid(column), x, mutation, statistics, out)) {
    return;
  }
  ++statistics.repaired;
  out = finite_value(steps, t, mutation, statistics);
}

// What all threads share.
struct Work {
  const Steps& steps;
  const Problem& problem;
  const Side& left;
  const Side& right;
  const Lines& rows;
  Mutation mutation;
};

// The items of a few columns.
void repair_group(const Work& w, Lines& columns, std::span<const Undecided> items, Statistics& statistics) {
  columns.assign(columns_of(items), w.right.first, w.right.last);
  columns.pack(0, static_cast<int64_t>(columns.size()));
  for (const Undecided& u : items) {
    const size_t row = w.rows.index_of(u.i), column = columns.index_of(u.j);
    Term t = term_of(w.problem, w.left, w.right, u);
    t.a = w.rows.at(row);
    t.b = columns.at(column);
    repair_one(w.steps, t, w.rows, row, columns, column, u.x, w.mutation, statistics, *w.problem.out.at(u.i, u.j));
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

void repair(const CorrectContext& ctx, const Problem& p, const Side& left, const Side& right,
            std::vector<Undecided>& items, Statistics& statistics) {
  if (items.empty()) return;
  const Steps& steps = steps_of(ctx.kernel.isa);
  ThreadPool& pool = *ctx.kernel.pool;
  items = by_column(items, right);
  const bool with_grids = std::any_of(items.begin(), items.end(), [](const Undecided& u) { return has_few_bits(u.x); });
  Lines rows(steps, *p.left, p.k, with_grids);
  rows.assign(rows_of(items, left), left.first, left.last);
  pool.parallel_for(static_cast<int64_t>(rows.size()), 16, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; q += 16) rows.pack(q, std::min(q + 16, end));
  });
  const auto columns = static_cast<int64_t>(columns_of(items).size());
  const int64_t width = std::clamp<int64_t>(columns / (4 * pool.threads()), 1, 16);
  const std::vector<size_t> starts = group_starts(items, width);
  const Work work{steps, p, left, right, rows, ctx.instruments.mutation};
  std::mutex merging;
  pool.parallel_for(static_cast<int64_t>(starts.size()) - 1, 1, [&](int64_t begin, int64_t end) {
    Statistics own;
    Lines packed(steps, *p.right, p.k, with_grids);
    for (int64_t g = begin; g < end; ++g) {
      const size_t first = starts[static_cast<size_t>(g)], last = starts[static_cast<size_t>(g) + 1];
      repair_group(work, packed, std::span<const Undecided>(items).subspan(first, last - first), own);
    }
    const std::lock_guard<std::mutex> lock(merging);
    statistics += own;
  });
}

}  // namespace isobit::kernels::correct
