#include "isobit/kernels/correct/closer_look.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include "isobit/numerics/bits.h"

namespace isobit::kernels::correct {
namespace {

// A value x and a bound on its distance from the exact sum; true if that decides the rounding.
bool decides(double x, double d, float& out) {
  const float below = static_cast<float>(x - d), above = static_cast<float>(x + d);
  out = below;
  return numerics::bits_of(below) == numerics::bits_of(above);
}

// magnitude <= 2^(grid + 53), with what rounding may have taken from the norms.
bool fits_grid(const UndecidedSum& t, int grid, Mutation mutation) {
  return mutation == Mutation::kGridUnchecked || t.magnitude() * (1 + 0x1p-20) <= std::ldexp(1.0, grid + 53);
}

// Masks of the nonzero elements of the lines that are asked for, from the block in float64.
class Masks {
 public:
  Masks(const LaidOut& side, int64_t k) : side_(side), k_(k), words_(static_cast<size_t>((k + 63) / 64)) {
    masks_.resize(words_ * static_cast<size_t>(side.count()));
  }
  // Each line once; different lines at the same time.
  void make(const Table& loops, int64_t begin, int64_t end) {
    if (side_.source->k_contiguous()) {
      for (int64_t line = begin; line < end; ++line) {
        loops.mask_f64(k_, side_.block + line * side_.ld(), masks_.data() + static_cast<size_t>(line) * words_);
      }
      return;
    }
    std::vector<uint64_t> words(static_cast<size_t>(end - begin));
    for (int64_t l = 0; l < k_; l += 64) {
      const double* from = side_.block + l * side_.ld() + begin;
      loops.column_masks(std::min<int64_t>(64, k_ - l), end - begin, from, side_.ld(), words.data());
      uint64_t* to = masks_.data() + static_cast<size_t>(begin) * words_ + l / 64;
      for (size_t q = 0; q < words.size(); ++q) to[q * words_] = words[q];
    }
  }
  const uint64_t* of(int64_t line) const { return masks_.data() + static_cast<size_t>(line - side_.first) * words_; }
  size_t words() const { return words_; }

 private:
  const LaidOut& side_;
  int64_t k_;
  size_t words_;
  std::vector<uint64_t> masks_;
};

bool laid_out(const LaidOut& side, int64_t k) { return side.l0 == 0 && side.l1 == k; }

// Masks of all lines cost about as much as their conversion did.
bool masks_are_worth_it(const LaidOut& left, const LaidOut& right, const std::vector<Undecided>& items) {
  const auto zeros = std::count_if(items.begin(), items.end(), [](const Undecided& u) { return u.x == 0; });
  return zeros > (left.count() + right.count()) / 8;
}

bool grids_are_worth_it(const LaidOut& left, const LaidOut& right, int64_t k, const std::vector<Undecided>& items) {
  const auto count = std::count_if(items.begin(), items.end(), [](const Undecided& u) { return has_few_bits(u.x); });
  return count > (left.count() + right.count()) * k / 256 + 16;
}

double largest_norm(const LaidOut& side) { return *std::max_element(side.norms.begin(), side.norms.end()); }

bool all_finite(const LaidOut& side) {
  return std::all_of(side.norms.begin(), side.norms.end(), [](double x) { return std::isfinite(x); });
}

// Whether every sum of the tile lies on one grid and so has been rounded nowhere.
bool all_on_grid(const Table& loops, const Matrices& p, const LaidOut& left, const LaidOut& right, Mutation mutation) {
  if (!all_finite(left) || !all_finite(right)) return false;
  // One term that stands for all: the largest norms, the largest bias, the finest grids.
  UndecidedSum t{.k = p.k, .norm_a = largest_norm(left), .norm_b = largest_norm(right)};
  const float* bias = p.row_bias != nullptr ? p.row_bias + left.first : p.column_bias;
  if (p.row_bias == nullptr && bias != nullptr) bias += right.first;
  const int64_t biases = bias == nullptr ? 0 : p.row_bias != nullptr ? left.count() : right.count();
  for (int64_t q = 0; q < biases; ++q) t.bias = std::max(t.bias, std::fabs(bias[q]));
  if (!t.finite()) return false;
  const int product = loops.grid_f64(left.count() * p.k, left.block) + loops.grid_f64(right.count() * p.k, right.block);
  return fits_grid(t, std::min(product, loops.grid(biases, bias)), mutation);
}

// Writes the outputs that the masks decide and removes them from items.
void count_terms(const CorrectContext& ctx, const Matrices& p, const LaidOut& left, const LaidOut& right,
                 std::vector<Undecided>& items, Statistics& statistics) {
  const Table& loops = table_of(ctx.kernel.isa);
  ThreadPool& pool = *ctx.kernel.pool;
  Masks rows(left, p.k), columns(right, p.k);
  const int64_t grain = 16384 / p.k + 1;
  pool.parallel_for(left.count(), grain, [&](int64_t begin, int64_t end) { rows.make(loops, begin, end); });
  pool.parallel_for(right.count(), grain, [&](int64_t begin, int64_t end) { columns.make(loops, begin, end); });
  std::vector<Undecided> remaining;
  std::mutex merging;
  pool.parallel_for(static_cast<int64_t>(items.size()), 512, [&](int64_t begin, int64_t end) {
    Statistics own;
    std::vector<Undecided> left_over;
    for (int64_t q = begin; q < end; ++q) {
      const Undecided& u = items[static_cast<size_t>(q)];
      const UndecidedSum t = term_of(p, left, right, u);
      float* out = p.out + p.at(u.i, u.j);
      if (!t.finite() || !settle_by_terms(t, common_bits(rows.of(u.i), columns.of(u.j), rows.words()), u.x,
                                          ctx.instruments.mutation, own, *out)) {
        left_over.push_back(u);
      }
    }
    const std::lock_guard<std::mutex> lock(merging);
    statistics += own;
    remaining.insert(remaining.end(), left_over.begin(), left_over.end());
  });
  items = std::move(remaining);
}

}  // namespace

UndecidedSum term_of(const Matrices& p, const LaidOut& left, const LaidOut& right, const Undecided& u) {
  UndecidedSum t{.k = p.k, .norm_a = left.norm(u.i), .norm_b = right.norm(u.j)};
  if (p.row_bias != nullptr) t.bias = p.row_bias[u.i];
  if (p.column_bias != nullptr) t.bias = p.column_bias[u.j];
  return t;
}

int64_t common_bits(const uint64_t* a, const uint64_t* b, size_t words) {
  int64_t count = 0;
  for (size_t w = 0; w < words; ++w) count += std::popcount(a[w] & b[w]);
  return count;
}

bool settle_by_terms(const UndecidedSum& t, int64_t common, double x, Mutation mutation, Statistics& statistics,
                     float& out) {
  if (common == 0) {
    ++statistics.zeros;
    out = t.bias + 0.0f;
    return true;
  }
  const int64_t terms = common + (t.bias != 0 ? 1 : 0);
  if (terms == 1 || (mutation == Mutation::kFewTermsAreExact && terms <= 3)) {
    out = static_cast<float>(x + 0.0);
  } else if (!decides(x, terms == 2 ? 0x1p-51 * std::fabs(x) : gamma(terms) * t.magnitude(), out)) {
    return false;
  }
  ++statistics.settled;
  return true;
}

bool has_few_bits(double x) { return (numerics::bits_of(x) & ((uint64_t{1} << 28) - 1)) == 0; }

bool settle_by_grid(const UndecidedSum& t, int grid_a, int grid_b, double x, Mutation mutation, Statistics& statistics,
                    float& out) {
  int grid = grid_a + grid_b;
  if (t.bias != 0) grid = std::min(grid, table_of(Isa::kPortable).grid(1, &t.bias));
  if (!fits_grid(t, grid, mutation)) return false;
  ++statistics.settled;
  out = static_cast<float>(x + 0.0);  // -0 to +0
  return true;
}

void look_closer(const CorrectContext& ctx, const Matrices& p, const LaidOut& left, const LaidOut& right,
                 std::vector<Undecided>& items, Statistics& statistics) {
  if (!laid_out(left, p.k) || !laid_out(right, p.k)) return;
  if (masks_are_worth_it(left, right, items)) count_terms(ctx, p, left, right, items, statistics);
  if (!grids_are_worth_it(left, right, p.k, items)) return;
  if (!all_on_grid(table_of(ctx.kernel.isa), p, left, right, ctx.instruments.mutation)) return;
  for (const Undecided& u : items) p.out[p.at(u.i, u.j)] = static_cast<float>(u.x + 0.0);  // -0 to +0
  statistics.settled += static_cast<int64_t>(items.size());
  items.clear();
}

}  // namespace isobit::kernels::correct
