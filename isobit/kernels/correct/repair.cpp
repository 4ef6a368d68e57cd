#include "isobit/kernels/correct/repair.h"

#include <algorithm>
#include <cmath>
#include <mutex>

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

// Lines by number, packed where they are not contiguous in memory, with masks of their nonzero elements on demand.
class Lines {
 public:
  Lines(const Steps& steps, const Operand& operand, int64_t k) : steps_(steps), operand_(operand), k_(k) {}

  // REQUIRES lines ascending, without repetition.
  void assign(std::vector<int64_t> lines) {
    lines_ = std::move(lines);
    direct_ = lines_.empty() || operand_.direct(lines_[0]) != nullptr;
    if (!direct_ && packed_.size() < lines_.size() * static_cast<size_t>(k_)) {
      packed_.resize(lines_.size() * static_cast<size_t>(k_));
    }
    masked_.assign(lines_.size(), 0);
  }
  // Packs lines [first, last) of those assigned.
  void pack(int64_t first, int64_t last) {
    if (direct_) return;
    operand_.pack(
        std::span<const int64_t>(lines_).subspan(static_cast<size_t>(first), static_cast<size_t>(last - first)),
        packed_.data() + first * k_);
  }
  size_t size() const { return lines_.size(); }
  size_t index_of(int64_t line) const {
    return static_cast<size_t>(std::lower_bound(lines_.begin(), lines_.end(), line) - lines_.begin());
  }
  const float* at(size_t index) const {
    return direct_ ? operand_.direct(lines_[index]) : packed_.data() + static_cast<int64_t>(index) * k_;
  }
  // Not for two threads at a time.
  const uint64_t* mask(size_t index) {
    if (masks_.size() < lines_.size() * words()) masks_.resize(lines_.size() * words());
    uint64_t* m = masks_.data() + index * words();
    if (!masked_[index]) steps_.mask(k_, at(index), m);
    masked_[index] = 1;
    return m;
  }
  const uint64_t* made_mask(size_t index) const { return masks_.data() + index * words(); }
  size_t words() const { return static_cast<size_t>((k_ + 63) / 64); }

 private:
  const Steps& steps_;
  const Operand& operand_;
  int64_t k_;
  bool direct_ = true;
  std::vector<int64_t> lines_;
  std::vector<float> packed_;
  std::vector<uint64_t> masks_;
  std::vector<char> masked_;
};

template <class Key>
std::vector<int64_t> distinct(std::span<const Undecided> items, Key key) {
  std::vector<int64_t> lines(items.size());
  std::transform(items.begin(), items.end(), lines.begin(), key);
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

bool disjoint(const uint64_t* a, const uint64_t* b, size_t words) {
  uint64_t common = 0;
  for (size_t w = 0; w < words; ++w) common |= a[w] & b[w];
  return common == 0;
}

// The items of a few columns.
void repair_group(const Steps& steps, const Problem& p, const Norms& norms, const Lines& rows, Lines& columns,
                  std::span<const Undecided> items, Statistics& statistics) {
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
    } else if (u.maybe_empty && disjoint(rows.made_mask(row), columns.mask(column), rows.words())) {
      ++statistics.zeros;
      *out = t.bias + 0.0f;
    } else {
      ++statistics.repaired;
      *out = finite_value(steps, t, p.mutation, statistics);
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
  for (const Undecided& u : items) {
    if (u.maybe_empty) rows.mask(rows.index_of(u.i));
  }
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
      repair_group(steps, p, norms, rows, packed, std::span<const Undecided>(items).subspan(first, last - first), own);
    }
    const std::lock_guard<std::mutex> lock(merging);
    statistics.zeros += own.zeros;
    statistics.repaired += own.repaired;
    statistics.exact += own.exact;
  });
}

}  // namespace isobit::kernels::correct
