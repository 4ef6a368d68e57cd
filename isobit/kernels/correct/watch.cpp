#include "isobit/kernels/correct/watch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>

#include "isobit/base/text.h"
#include "isobit/kernels/correct/engine.h"
#include "isobit/kernels/correct/undecided_lines.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels::correct {
namespace {

// Mixes the bits of a counter (SplitMix64 of G. Steele, D. Lea and C. Flood, 2014).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

double distance(const EvaluatedSum& e, double x) { return std::fabs((x - e.sum.high) - e.sum.low); }

// The sum of the magnitudes of all terms; in lanes, for speed.
double magnitude_of(const UndecidedSum& t) {
  constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  int64_t l = 0;
  for (; l + kLanes <= t.k; l += kLanes) {
    for (int64_t q = 0; q < kLanes; ++q) {
      lanes[q] += std::fabs(static_cast<double>(t.a[l + q]) * static_cast<double>(t.b[l + q]));
    }
  }
  double sum = std::fabs(static_cast<double>(t.bias));
  for (; l < t.k; ++l) sum += std::fabs(static_cast<double>(t.a[l]) * static_cast<double>(t.b[l]));
  for (const double lane : lanes) sum += lane;
  return sum * (1 + 0x1p-20);
}

// Every partial sum of the terms fits in float64.
bool is_on_grid(const Table& loops, const UndecidedSum& t, double magnitude) {
  int grid = loops.grid(t.k, t.a) + loops.grid(t.k, t.b);
  if (t.bias != 0) grid = std::min(grid, loops.grid(1, &t.bias));
  return magnitude <= std::ldexp(1.0, grid + 53);
}

// One output that is looked at.
struct Looked {
  const Undecided& u;
  const UndecidedSum& t;
  int64_t terms;  // nonzero ones, bias included
  int64_t roundings;
};

// Whether |x - sum| shows that x is near enough without the magnitudes: it is zero, or at most gamma_r |sum|, the sum
// being no more than they are. So it nearly always is. Where the terms lie on one grid, so that no error is allowed,
// the sum is a float64 number. What the sum itself is off by is far below a rounding of the magnitudes.
bool is_plainly_near(const Looked& o, const EvaluatedSum& e) {
  const double off = distance(e, o.u.x);
  if (off == 0) return true;
  if (o.terms <= 1 || e.sum.low == 0) return false;
  return off <= gamma(std::min(o.terms - 1, o.roundings)) * std::fabs(e.sum.high);
}

void check_written(const EvaluatedSum& e, const Undecided& u, float written, Breaches& breaches) {
  if (numerics::bits_of(e.value) == numerics::bits_of(written)) return;
  breaches.note({.i = u.i, .j = u.j, .x = u.x, .exact = e.sum.high, .written = written, .nearest = e.value});
}

void check_one(const Table& loops, const Looked& o, float written, Breaches& breaches) {
  EvaluatedSum e = evaluate(loops, o.t, o.t.magnitude(), Mutation::kNone);
  if (!is_plainly_near(o, e)) {
    const double magnitude = magnitude_of(o.t);
    const bool exact = o.terms <= 1 || is_on_grid(loops, o.t, magnitude);
    e.bound = exact ? 0 : doubled_bound(o.t.k, magnitude);
    compare(e, o.u, exact ? 0 : gamma(std::min(o.terms - 1, o.roundings)) * magnitude, breaches);
  }
  check_written(e, o.u, written, breaches);
}

// Items that are read together, since columns of one row lie near each other; fewer where their lines are long, so that
// what is read stays in a cache, and memory does not grow with the terms of several.
constexpr int64_t kMostTogether = 16, kMostElements = int64_t{1} << 18;

// The lines of `side` that items need.
template <class LineOf>
void assign(UndecidedLines& lines, std::span<const size_t> items, const LaidOut& side, const LineOf& line_of) {
  std::vector<int64_t> needed;
  for (const size_t q : items) needed.push_back(line_of(q));
  std::sort(needed.begin(), needed.end());
  needed.erase(std::unique(needed.begin(), needed.end()), needed.end());
  lines.assign(std::move(needed), side.first, side.last);
  lines.pack(0, static_cast<int64_t>(lines.size()));
}

// Calls look(q, lines and bias, nonzero products and bias) for every item(q) of finite terms.
template <class Item, class Look>
void for_each_looked_at(const CorrectContext& ctx, const Matrices& p, const LaidOut& left, const LaidOut& right,
                        size_t count, const Item& item, Statistics& statistics, const Look& look) {
  if (count == 0) return;
  const Table& loops = table_of(ctx.kernel.isa);
  statistics.sampled += static_cast<int64_t>(count);
  statistics.sampled_terms += static_cast<double>(count) * static_cast<double>(p.k);
  std::vector<size_t> by_column(count);
  std::iota(by_column.begin(), by_column.end(), size_t{0});
  std::sort(by_column.begin(), by_column.end(), [&](size_t a, size_t b) { return item(a).j < item(b).j; });
  const int64_t together = std::clamp<int64_t>(kMostElements / p.k, 1, kMostTogether);
  const auto in_group = static_cast<size_t>(together);
  const auto groups = static_cast<int64_t>((count + in_group - 1) / in_group);
  ctx.kernel.pool->parallel_for(groups, 4096 / p.k / together + 1, [&](int64_t begin, int64_t end) {
    UndecidedLines rows(loops, p.left, Grids::kWithout), columns(loops, p.right, Grids::kWithout);
    for (int64_t g = begin; g < end; ++g) {
      const size_t first = static_cast<size_t>(g) * in_group;
      const auto items = std::span<const size_t>(by_column).subspan(first, std::min(in_group, count - first));
      assign(rows, items, left, [&](size_t q) { return item(q).i; });
      assign(columns, items, right, [&](size_t q) { return item(q).j; });
      for (const size_t q : items) {
        const Undecided& u = item(q);
        UndecidedSum t = term_of(p, left, right, u);
        if (!t.finite()) continue;  // whatever x is: special_value does not use it
        const size_t row = rows.index_of(u.i), column = columns.index_of(u.j);
        t.a = rows.at(row);
        t.b = columns.at(column);
        const int64_t common = common_bits(rows.mask(row), columns.mask(column), rows.words());
        look(q, t, common + (t.bias != 0 ? 1 : 0));
      }
    }
  });
}

}  // namespace

std::vector<int64_t> Watch::draw(int64_t count) {
  std::vector<int64_t> places;
  const uint64_t first = seen_, last = seen_ + static_cast<uint64_t>(count);
  for (uint64_t stretch = first / one_in_; stretch * one_in_ < last; ++stretch) {
    const uint64_t place = stretch * one_in_ + mixed(stretch) % one_in_;
    if (place >= first && place < last) places.push_back(static_cast<int64_t>(place - first));
  }
  seen_ = last;
  return places;
}

void Breaches::note(const Breach& breach) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!first_ || std::tie(breach.i, breach.j) < std::tie(first_->i, first_->j)) first_ = breach;
}

Status Breaches::status(const Matrices& p, const std::string& product, Backing backing) const {
  if (!first_) return {};
  const Breach& b = *first_;
  const std::string which = text_of("output (", b.i, ", ", b.j, ") of ", p.m, " x ", p.k, " times ", p.k, " x ", p.n,
                                    " is ", b.x, " in float64, ", b.exact, " exactly");
  if (numerics::bits_of(b.written) != numerics::bits_of(b.nearest)) {
    return unavailable(text_of("a result of platform ", product, " is not correctly rounded: ", which,
                               ", and was rounded to ", b.written, " instead of ", b.nearest,
                               "; is the memory of this machine sound?"));
  }
  if (backing == Backing::kBounded) {
    return unavailable(text_of("platform ", product, " breaks its own bound: ", which, ", more than ", b.most,
                               " apart; is the memory of this machine sound? Use another platform"));
  }
  const std::string within =
      b.most == 0 ? "round nothing here" : text_of("stay within ", b.most, " of the exact value here");
  return unavailable(text_of("the float64 product of platform ", product, " is not classical: ", which,
                             ", but additions in float64, in whatever order, ", within, "; use another platform"));
}

void compare(const EvaluatedSum& e, const Undecided& u, double most, Breaches& breaches) {
  // Written so that a NaN is too far away.
  if (distance(e, u.x) <= most + e.bound) return;
  breaches.note({.i = u.i, .j = u.j, .x = u.x, .exact = e.sum.high, .most = most});
}

void check_sample(const CorrectContext& ctx, const Matrices& p, const LaidOut& left, const LaidOut& right,
                  const std::vector<Undecided>& sample, int64_t roundings, Breaches& breaches, Statistics& statistics) {
  const Table& loops = table_of(ctx.kernel.isa);
  const auto item = [&](size_t q) -> const Undecided& { return sample[q]; };
  for_each_looked_at(ctx, p, left, right, sample.size(), item, statistics,
                     [&](size_t q, const UndecidedSum& t, int64_t terms) {
                       const Undecided& u = sample[q];
                       check_one(loops, {u, t, terms, roundings}, p.out[p.at(u.i, u.j)], breaches);
                     });
}

void check_bounded_sample(const CorrectContext& ctx, const Matrices& p, const LaidOut& left, const LaidOut& right,
                          const std::vector<BoundedItem>& sample, Breaches& breaches, Statistics& statistics) {
  const Table& loops = table_of(ctx.kernel.isa);
  const auto item = [&](size_t q) -> const Undecided& { return sample[q].item; };
  for_each_looked_at(ctx, p, left, right, sample.size(), item, statistics,
                     [&](size_t q, const UndecidedSum& t, int64_t) {
                       const Undecided& u = sample[q].item;
                       const EvaluatedSum e = evaluate(loops, t, t.magnitude(), Mutation::kNone);
                       compare(e, u, sample[q].most, breaches);
                       check_written(e, u, p.out[p.at(u.i, u.j)], breaches);
                     });
}

}  // namespace isobit::kernels::correct
