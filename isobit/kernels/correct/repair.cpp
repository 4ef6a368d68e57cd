#include "isobit/kernels/correct/repair.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <span>

#include "isobit/kernels/correct/evaluate.h"
#include "isobit/kernels/correct/undecided_lines.h"

namespace isobit::kernels::correct {
namespace {

// By column, in linear time.
std::vector<Undecided> by_column(const std::vector<Undecided>& items, const LaidOut& right) {
  std::vector<size_t> place(static_cast<size_t>(right.count()) + 1);
  for (const Undecided& u : items) ++place[static_cast<size_t>(u.j - right.first) + 1];
  std::partial_sum(place.begin(), place.end(), place.begin());
  std::vector<Undecided> sorted(items.size());
  for (const Undecided& u : items) sorted[place[static_cast<size_t>(u.j - right.first)]++] = u;
  return sorted;
}

// The rows that items need, ascending.
std::vector<int64_t> rows_of(const std::vector<Undecided>& items, const LaidOut& left) {
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

// What all threads share.
struct Work {
  const Table& loops;
  const Matrices& problem;
  const LaidOut& left;
  const LaidOut& right;
  const UndecidedLines& rows;
  Mutation mutation;
  Backing backing;
  double gamma;
  Breaches* breaches;
};

// One output, all else having been made ready.
void repair_one(const Work& w, const UndecidedSum& t, size_t row, const UndecidedLines& columns, size_t column,
                const Undecided& u, Statistics& statistics, float& out) {
  if (!t.finite()) {
    ++statistics.repaired;
    out = special_value(t);
    return;
  }
  const int64_t common = common_bits(w.rows.mask(row), columns.mask(column), w.rows.words());
  const bool classical = w.backing == Backing::kClassical;
  if ((classical || common == 0) && settle_by_terms(t, common, u.x, w.mutation, statistics, out)) return;
  if (classical && has_few_bits(u.x) &&
      settle_by_grid(t, w.rows.grid(row), columns.grid(column), u.x, w.mutation, statistics, out)) {
    return;
  }
  ++statistics.repaired;
  const EvaluatedSum e = evaluate(w.loops, t, t.magnitude(), w.mutation);
  statistics.exact += e.accumulated ? 1 : 0;
  out = e.value;
  if (w.breaches != nullptr) compare(e, u, w.gamma * t.magnitude(), *w.breaches);
}

// The items of a few columns.
void repair_group(const Work& w, UndecidedLines& columns, std::span<const Undecided> items, Statistics& statistics) {
  columns.assign(columns_of(items), w.right.first, w.right.last);
  columns.pack(0, static_cast<int64_t>(columns.size()));
  for (const Undecided& u : items) {
    const size_t row = w.rows.index_of(u.i), column = columns.index_of(u.j);
    UndecidedSum t = term_of(w.problem, w.left, w.right, u);
    t.a = w.rows.at(row);
    t.b = columns.at(column);
    repair_one(w, t, row, columns, column, u, statistics, w.problem.out[w.problem.at(u.i, u.j)]);
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

void repair(const CorrectContext& ctx, const Matrices& p, const LaidOut& left, const LaidOut& right,
            std::vector<Undecided>& items, Backing backing, double gamma, Breaches* breaches, Statistics& statistics) {
  if (items.empty()) return;
  const Table& loops = table_of(ctx.kernel.isa);
  ThreadPool& pool = *ctx.kernel.pool;
  items = by_column(items, right);
  const bool few_bits = backing == Backing::kClassical &&
                        std::any_of(items.begin(), items.end(), [](const Undecided& u) { return has_few_bits(u.x); });
  const Grids grids = few_bits ? Grids::kWith : Grids::kWithout;
  UndecidedLines rows(loops, p.left, grids);
  rows.assign(rows_of(items, left), left.first, left.last);
  pool.parallel_for(static_cast<int64_t>(rows.size()), 16, [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; q += 16) rows.pack(q, std::min(q + 16, end));
  });
  const auto columns = static_cast<int64_t>(columns_of(items).size());
  const int64_t width = std::clamp<int64_t>(columns / (4 * pool.threads()), 1, 16);
  const std::vector<size_t> starts = group_starts(items, width);
  const Work work{loops, p, left, right, rows, ctx.instruments.mutation, backing, gamma, breaches};
  std::mutex merging;
  pool.parallel_for(static_cast<int64_t>(starts.size()) - 1, 1, [&](int64_t begin, int64_t end) {
    Statistics own;
    UndecidedLines packed(loops, p.right, grids);
    for (int64_t g = begin; g < end; ++g) {
      const size_t first = starts[static_cast<size_t>(g)], last = starts[static_cast<size_t>(g) + 1];
      repair_group(work, packed, std::span<const Undecided>(items).subspan(first, last - first), own);
    }
    const std::lock_guard<std::mutex> lock(merging);
    statistics += own;
  });
}

}  // namespace isobit::kernels::correct
