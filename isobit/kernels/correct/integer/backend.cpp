#include "isobit/kernels/correct/integer/backend.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <string>

#include "isobit/base/text.h"
#include "isobit/kernels/correct/engine.h"
#include "isobit/kernels/correct/integer/exact.h"
#include "isobit/kernels/correct/repair.h"
#include "isobit/kernels/correct/watch.h"

namespace isobit::kernels::correct::integer {
namespace {

// Residues of a tile's lines: at most 12 * 2^21 and 12 * 3/2 * 2^21 bytes (memory is counted, run/job_size.h).
constexpr int64_t kTileColumns = 1024;
int64_t tile_rows(int64_t terms) { return terms <= 1024 ? 1024 : 512; }

// Terms of a block of k: blocks of one size, whole steps.
int64_t block_terms(int64_t k) {
  const int64_t blocks = (k + kTerms - 1) / kTerms, terms = (k + blocks - 1) / blocks;
  return std::min((terms + kStep - 1) / kStep * kStep, k);
}

// Of a thread's cache, for the residues of the columns that all its rows are multiplied with, one block after another.
constexpr int64_t kCache = 5 << 18;
constexpr int64_t kStripBlocks = 4;  // of columns, multiplied at a time

// Of choose(): what an output of a modulus costs beside its terms, and one that is put together exactly.
constexpr double kReduceNanoseconds = 0.5, kExactNanoseconds = 600;

// A few outputs, by which the number of moduli is chosen.
class SampledOutputs {
 public:
  SampledOutputs(const IntegerSide& left, const IntegerSide& right, int64_t k, const correct::Table& loops)
      : k_(k), rows_(left.sampled(loops)), columns_(right.sampled(loops)) {
    for (const IntegerSide::Sampled& a : rows_) {
      for (const IntegerSide::Sampled& b : columns_) {
        double sum = 0;
        for (size_t l = 0; l < a.line.size(); ++l) sum += a.line[l] * b.line[l];
        // Of all terms, as many more of which have random signs.
        sums_.push_back(std::fabs(sum) * std::sqrt(static_cast<double>(k) / static_cast<double>(a.line.size())));
      }
    }
  }

  // The part of them that the filter would leave undecided: |x| / 2^24 to |x| / 2^23 lie between two roundings.
  double undecided_share(const Moduli& moduli) const {
    std::vector<Estimate> columns;
    for (const IntegerSide::Sampled& b : columns_) columns.push_back(estimate_of(b, k_, moduli));
    double share = 0;
    int count = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const Estimate a = estimate_of(rows_[i], k_, moduli);
      for (size_t j = 0; j < columns.size(); ++j) {
        const double sum = sums_[i * columns.size() + j];
        if (sum == 0) continue;
        const LineBounds &r = a.bounds, &c = columns[j].bounds;
        const double d = kBoundOfSums * moduli.size * a.unit * columns[j].unit +
                         std::min(r.rest * c.norm, r.rest_sum * c.largest) +
                         std::min(r.norm * c.rest, r.largest * c.rest_sum);
        share += std::min(1.0, 2 * d / (sum * 0x1p-24));
        ++count;
      }
    }
    return count == 0 ? 0 : share / count;
  }

 private:
  int64_t k_;
  std::vector<IntegerSide::Sampled> rows_, columns_;
  std::vector<double> sums_;  // magnitudes, row by row
};

// A modulus that is not the one that sums are put together by.
Moduli with_a_wrong_modulus(const Moduli& moduli) {
  Moduli wrong = moduli;
  wrong.p[3] -= 2;
  wrong.digits[3] = digits_of(wrong.p[3], 1, 6);
  return wrong;
}

}  // namespace

// What the threads find, put together.
struct Backend::Collected {
  std::vector<Undecided> hard;
  std::vector<BoundedItem> sample;
  Statistics statistics;
  std::mutex merging = {};

  void add(const Collected& other) {
    const std::lock_guard<std::mutex> lock(merging);
    hard.insert(hard.end(), other.hard.begin(), other.hard.end());
    sample.insert(sample.end(), other.sample.begin(), other.sample.end());
    statistics += other.statistics;
  }
};

struct Backend::Tile {
  int64_t i0, i1, j0, j1;
  int64_t rows() const { return i1 - i0; }
  int64_t columns() const { return j1 - j0; }
};

// A part of a tile, counted from its first output, and its u_s: rows and columns in whole blocks.
struct Backend::Part {
  int64_t i0, i1, j0, j1;
  int8_t* u = nullptr;
  int64_t row_stride = 0, modulus_stride = 0;

  int8_t* at(int64_t i, int64_t j) const { return u + (i - i0) * row_stride + (j - j0); }
};

struct Backend::Next {
  Strip::Fetch left;
  int columns_of = -1;  // this modulus; -1: of none
};

struct Backend::Work {
  const CorrectContext& ctx;
  const Matrices& problem;
  const Tile& tile;
  const Moduli& moduli;
  const std::vector<int64_t>& sample;  // places in the tile that are looked at, however they are decided; ascending
  Collected& collected;

  // Of output (i, j) and those right of it, counted from the tile's first.
  RowOfSums row(const Backend& backend, const Part& part, int64_t i, int64_t j) const {
    const IntegerSide &left = backend.left_, &right = backend.right_;
    RowOfSums r;
    r.moduli = moduli.count;
    r.u = part.at(i, j), r.stride = part.modulus_stride;
    r.in_group = moduli.in_group;
    r.inverse = moduli.inverse;
    r.row_scale = moduli.size * left.units()[i];
    r.column_scales = right.units() + j;
    r.row = left.bounds(i);
    r.column_norms = right.norms() + j, r.column_largest = right.largest() + j;
    r.column_rests = right.rest_norms() + j, r.column_rest_sums = right.rest_sums() + j;
    r.biased = problem.row_bias != nullptr || problem.column_bias != nullptr;
    if (problem.row_bias != nullptr) r.row_bias = static_cast<double>(problem.row_bias[tile.i0 + i]);
    if (problem.column_bias != nullptr) r.column_bias = problem.column_bias + tile.j0 + j;
    const Mutation mutation = ctx.instruments.mutation;
    r.share = mutation == Mutation::kNoBound ? 0 : mutation == Mutation::kSmallBound ? 0x1p-10 : 1;
    return r;
  }
};

int Backend::choose(const CorrectContext& ctx, const Matrices& p) const {
  if (options_.moduli != 0) return options_.moduli;
  const SampledOutputs outputs(left_, right_, p.k, correct::table_of(ctx.kernel.isa));
  int best = 0;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int count = kFewestModuli; count <= kMostModuli; ++count) {
    const double share = outputs.undecided_share(moduli_of(count));
    if (share > kMostUndecided) continue;
    const double cost =
        count * (static_cast<double>(p.k) / unit_.rate + kReduceNanoseconds) + share * kExactNanoseconds;
    if (cost >= best_cost) continue;
    best = count;
    best_cost = cost;
  }
  return best;
}

// A part modulo p_s, by the terms that have been converted. What will be multiplied next comes nearer meanwhile: the
// rows `next`, where they follow, and the columns, where they are new, of the next modulus.
void Backend::multiply(const Moduli& moduli, const Part& part, int s, const Next& next, bool add) {
  alignas(64) int32_t sums[kStripBlocks * kBlockSums];
  Strip strip;
  strip.panel = left_.panel();
  strip.steps = left_.steps();
  strip.left = left_.lines(s, part.i0);
  strip.next_left = next.left;
  for (int64_t j = part.j0; j < part.j1; j += strip.blocks * kBlock) {
    strip.blocks = std::min(kStripBlocks, (part.j1 - j + kBlock - 1) / kBlock);
    strip.right = right_.lines(s, j);
    if (next.columns_of >= 0) {
      strip.next_right = {right_.lines(next.columns_of, j), 2 * strip.blocks * strip.panel};
    }
    unit_.loops.multiply(strip, sums);
    strip.next_left = {};
    int8_t* const to = part.at(part.i0, j) + s * part.modulus_stride;
    for (int64_t q = 0; q < strip.blocks; ++q) {
      unit_.loops.reduce(sums + q * kBlockSums, moduli, s, add, to + q * kBlock, part.row_stride);
    }
  }
}

// An output that its x and bound leave open.
void Backend::settle(const Work& w, const Part& part, int64_t i, int64_t j, float& out, Collected& own) {
  const int64_t row = w.tile.i0 + i, column = w.tile.j0 + j;
  const bool finite = left_.is_finite(i) && right_.is_finite(j) && std::isfinite(w.problem.bias(row, column));
  const bool no_exact_step = finite && w.ctx.instruments.mutation == Mutation::kNoExactStep;
  if (no_exact_step || !finite || !left_.has_all_rests(i) || !right_.has_all_rests(j)) {
    double x, d;
    unit_.loops.approximate(1, w.row(*this, part, i, j), &x, &d);
    out = static_cast<float>(x + 0.0);
    if (!no_exact_step) own.hard.push_back({row, column, x});
    return;
  }
  const Int128 product = combined(w.moduli, part.at(i, j), part.modulus_stride);
  out = exact_output(left_, right_, w.problem, row, column, product);
  ++own.statistics.repaired;
  ++own.statistics.combined;
}

// What is certain of a part is written, the rest is settled or collected.
void Backend::filter(const Work& w, const Part& part, Collected& own) {
  const Matrices& p = w.problem;
  uint32_t undecided[kSumColumns];
  for (int64_t i = part.i0; i < part.i1; ++i) {
    for (int64_t j = part.j0, count; j < part.j1; j += count) {
      const int64_t run = p.place.columns - (w.tile.j0 + j) % p.place.columns;
      count = std::min({part.j1 - j, run, kSumColumns});
      float* out = p.out + p.at(w.tile.i0 + i, w.tile.j0 + j);
      const RowOfSums row = w.row(*this, part, i, j);
      const bool some = unit_.loops.filter(count, row, out, undecided);
      if (w.ctx.instruments.bounds != nullptr) show_bounds(w, row, i, j, count);
      for (int64_t q = 0; some && q < count; ++q) {
        if (undecided[q] != 0) settle(w, part, i, j + q, out[q], own);
      }
    }
  }
  const int64_t columns = w.tile.columns();
  for (auto place = std::lower_bound(w.sample.begin(), w.sample.end(), part.i0 * columns);
       place != w.sample.end() && *place < part.i1 * columns; ++place) {
    const int64_t i = *place / columns, j = *place % columns;
    if (j < part.j0 || j >= part.j1) continue;
    double x, d;
    unit_.loops.approximate(1, w.row(*this, part, i, j), &x, &d);
    own.sample.push_back({{w.tile.i0 + i, w.tile.j0 + j, x}, d});
  }
}

void Backend::show_bounds(const Work& w, const RowOfSums& row, int64_t i, int64_t j, int64_t count) {
  double x[kSumColumns], d[kSumColumns];
  unit_.loops.approximate(count, row, x, d);
  for (int64_t q = 0; q < count; ++q) {
    w.ctx.instruments.bounds->on_bound(w.tile.i0 + i, w.tile.j0 + j + q, x[q], d[q]);
  }
}

// Blocks of rows [begin, end) of the tile by terms [l0, l1), which both sides have converted. Where these are all
// terms, the sums of all moduli are made together and filtered while they are in cache; else they stay in sums_, and
// with one modulus at a time more columns are.
void Backend::compute_rows(const Work& w, int64_t begin, int64_t end, bool first_terms, bool last_terms) {
  const bool one_block = first_terms && last_terms;
  const int together = one_block ? w.moduli.count : 1;
  const int64_t all_columns = right_.blocks() * kBlock, fit = kCache / (together * 2 * right_.panel());
  const int64_t width = kBlock * std::max<int64_t>(fit > kStripBlocks ? fit / kStripBlocks * kStripBlocks : fit, 1);
  Part part{};
  std::vector<int8_t> own_sums;
  if (one_block) {
    part.row_stride = std::min(width, all_columns);
    part.modulus_stride = kBlock * part.row_stride;
    own_sums.resize(static_cast<size_t>(w.moduli.count * part.modulus_stride));
  } else {
    part.row_stride = row_stride();
    part.modulus_stride = modulus_stride();
  }
  Collected own;
  for (int s0 = 0; s0 < w.moduli.count; s0 += together) {
    for (part.j0 = 0; part.j0 < w.tile.columns(); part.j0 = part.j1) {
      part.j1 = std::min(part.j0 + width, w.tile.columns());
      for (int64_t i = begin; i < end; ++i) {
        part.i0 = i * kBlock;
        part.i1 = std::min(part.i0 + kBlock, w.tile.rows());
        part.u = one_block ? own_sums.data() : sums_.data() + part.i0 * part.row_stride + part.j0;
        for (int s = s0; s < s0 + together; ++s) {
          const bool more = s + 1 < s0 + together;
          Next next;
          if (more || i + 1 < end)
            next.left = {left_.lines(more ? s + 1 : s0, (more ? i : i + 1) * kBlock), 2 * left_.panel()};
          if (more && i == begin) next.columns_of = s + 1;
          multiply(w.moduli, part, s, next, !first_terms);
        }
        if (last_terms && s0 + together == w.moduli.count) filter(w, part, own);
      }
    }
  }
  w.collected.add(own);
}

// One tile, whose lines both sides have taken.
Status Backend::compute(const CorrectContext& ctx, const Matrices& p, const Tile& tile, const Moduli& moduli,
                        Statistics& statistics) {
  const Mutation mutation = ctx.instruments.mutation;
  const Moduli& scaling = mutation == Mutation::kFewModuli ? moduli_of(moduli.count + 1) : moduli;
  const Moduli converting = mutation == Mutation::kWrongModulus ? with_a_wrong_modulus(moduli) : moduli;
  const bool watched = mutation == Mutation::kNone && ctx.watch != nullptr;
  const std::vector<int64_t> sample = watched ? ctx.watch->draw(tile.rows() * tile.columns()) : std::vector<int64_t>();
  Collected collected;
  const Work w{ctx, p, tile, moduli, sample, collected};
  ThreadPool& pool = *ctx.kernel.pool;
  left_.scale(scaling);
  right_.scale(scaling);
  const int64_t terms = block_terms(p.k);
  if (terms < p.k) {
    sums_.resize(std::max(sums_.size(), static_cast<size_t>(moduli.count * modulus_stride())));
  }
  for (int64_t l0 = 0; l0 < p.k; l0 += terms) {
    const int64_t l1 = std::min(l0 + terms, p.k);
    left_.convert(ctx, unit_.loops, converting, l0, l1);
    right_.convert(ctx, unit_.loops, moduli, l0, l1);
    if (l1 == p.k) {
      left_.finish(pool);
      right_.finish(pool);
    }
    pool.parallel_for(left_.blocks(), 1,
                      [&](int64_t begin, int64_t end) { compute_rows(w, begin, end, l0 == 0, l1 == p.k); });
  }
  statistics += collected.statistics;
  repair(ctx, p, left_.laid(), right_.laid(), collected.hard, Backing::kBounded, 0, nullptr, statistics);
  Breaches breaches;
  check_bounded_sample(ctx, p, left_.laid(), right_.laid(), collected.sample, breaches, statistics);
  return breaches.status(p, text_of("integer@", unit_.name), Backing::kBounded);
}

std::unique_ptr<Backend> open_matrix_unit() {
  return amx_available() ? std::make_unique<Backend>(amx_unit(), kOnMatrixUnits) : nullptr;
}

Expected<bool> Backend::run(const CorrectContext& ctx, const Matrices& p, Statistics& statistics) {
  const double m = static_cast<double>(p.m), n = static_cast<double>(p.n), sums = 2 * m * n / (m + n);
  const bool small = p.k < options_.least_terms || sums < static_cast<double>(options_.least_sums);
  if (ctx.instruments.mutation == Mutation::kUnfiltered || (small && options_.moduli == 0)) return false;
  const int64_t rows = std::min(p.m, tile_rows(block_terms(p.k))), columns = std::min(p.n, kTileColumns);
  const Source left(ctx, p.left), right(ctx, p.right);
  left_.start(left, p.k);
  right_.start(right, p.k);
  int count = 0;
  for (int64_t i = 0; i < p.m; i += rows) {
    left_.take(ctx, i, std::min(i + rows, p.m));
    for (int64_t j = 0; j < p.n; j += columns) {
      right_.take(ctx, j, std::min(j + columns, p.n));
      if (count == 0) count = choose(ctx, p);
      if (count == 0) return false;
      const Tile tile{i, std::min(i + rows, p.m), j, std::min(j + columns, p.n)};
      ISOBIT_RETURN_IF_ERROR(compute(ctx, p, tile, moduli_of(count), statistics));
    }
  }
  ++products_;
  return true;
}

}  // namespace isobit::kernels::correct::integer
