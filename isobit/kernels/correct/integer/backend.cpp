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

constexpr int64_t kColumnBlocks = 4;  // at a time; their panels stay in cache for all rows of a thread

// Of choose(): what an output of a modulus costs beside its terms, and one that is put together exactly.
constexpr double kReduceNanoseconds = 2, kExactNanoseconds = 300;

// The part of all outputs that the filter would leave undecided, by a few of them: |x| / 2^24 to |x| / 2^23 lie
// between two roundings, x here a sum over the terms that are laid out, as many more of which have random signs.
double undecided_share(const IntegerSide& left, const IntegerSide& right, int64_t k, const Moduli& moduli) {
  const auto rows = left.sampled(moduli), columns = right.sampled(moduli);
  const int64_t l0 = left.laid().l0, l1 = left.laid().l1;
  const double beyond = std::sqrt(static_cast<double>(k) / static_cast<double>(l1 - l0));
  double share = 0;
  int count = 0;
  for (const IntegerSide::Sampled& a : rows) {
    for (const IntegerSide::Sampled& b : columns) {
      double sum = 0;
      for (int64_t l = l0; l < l1; ++l) sum += left.element(a.line, l) * right.element(b.line, l);
      if (sum == 0) continue;
      const double d = 5 * 0x1p-53 * static_cast<double>(moduli.product) * a.unit * b.unit + a.rest_norm * b.norm +
                       a.norm * b.rest_norm;
      share += std::min(1.0, 2 * d / (beyond * std::fabs(sum) * 0x1p-24));
      ++count;
    }
  }
  return count == 0 ? 0 : share / count;
}

// A modulus that is not the one that sums are put together by.
Moduli with_a_wrong_modulus(const Moduli& moduli) {
  Moduli wrong = moduli;
  wrong.p[3] -= 2;
  return wrong;
}

}  // namespace

struct Backend::Tile {
  int64_t i0, i1, j0, j1;
  int64_t rows() const { return i1 - i0; }
  int64_t columns() const { return j1 - j0; }
};

struct Backend::Work {
  const CorrectContext& ctx;
  const Table& loops;
  const Matrices& problem;
  const Tile& tile;
  const Moduli& moduli;

  // Of output (i, j) and those right of it, counted from the tile's first.
  RowOfSums row(const Backend& backend, int64_t i, int64_t j) const {
    const IntegerSide &left = backend.left_, &right = backend.right_;
    RowOfSums r;
    r.moduli = moduli.count, r.first = moduli.first;
    r.u = backend.sums_.data() + i * backend.row_stride_ + j, r.stride = backend.modulus_stride_;
    r.in_group = moduli.in_group.data();
    for (size_t g = 0; g < 2; ++g) r.group[g] = moduli.group[g], r.inverse[g] = 1 / moduli.group[g];
    r.row_scale = static_cast<double>(moduli.product) * left.units()[i];
    r.column_scales = right.units() + j;
    r.row_norm = left.norms()[i], r.row_rest = left.rest_norms()[i];
    r.column_norms = right.norms() + j, r.column_rests = right.rest_norms() + j;
    if (problem.row_bias != nullptr) r.row_bias = static_cast<double>(problem.row_bias[tile.i0 + i]);
    if (problem.column_bias != nullptr) r.column_bias = problem.column_bias + tile.j0 + j;
    const Mutation mutation = ctx.instruments.mutation;
    r.share = mutation == Mutation::kNoBound ? 0 : mutation == Mutation::kSmallBound ? 0x1p-10 : 1;
    return r;
  }
};

int Backend::choose(const Matrices& p) const {
  if (options_.moduli != 0) return options_.moduli;
  int best = 0;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int count = kFewestModuli; count <= kMostModuli; ++count) {
    const Moduli& moduli = moduli_of(count);
    const double share = undecided_share(left_, right_, p.k, moduli);
    if (share > kMostUndecided) continue;
    const double cost =
        count * (static_cast<double>(p.k) / tiles_.rate + kReduceNanoseconds) + share * kExactNanoseconds;
    if (cost >= best_cost) continue;
    best = count;
    best_cost = cost;
  }
  return best;
}

// Blocks of rows [begin, end) of the terms that have been converted.
void Backend::multiply(const Work& w, int64_t begin, int64_t end, bool add) {
  alignas(64) int32_t sums[kColumnBlocks * kBlockSums];
  for (int s = 0; s < w.moduli.count; ++s) {
    const int p = w.moduli.p[static_cast<size_t>(s)], weight = w.moduli.weight[static_cast<size_t>(s)];
    for (int64_t j = 0; j < right_.blocks(); j += kColumnBlocks) {
      Strip strip;
      strip.panel = left_.panel();
      strip.steps = left_.steps();
      strip.blocks = std::min(kColumnBlocks, right_.blocks() - j);
      strip.right = right_.residues(s) + 2 * j * strip.panel;
      for (int64_t i = begin; i < end; ++i) {
        strip.left = left_.residues(s) + 2 * i * strip.panel;
        tiles_.multiply(strip, sums);
        int8_t* to = sums_.data() + s * modulus_stride_ + i * kBlock * row_stride_ + j * kBlock;
        for (int64_t q = 0; q < strip.blocks; ++q) {
          w.loops.reduce(sums + q * kBlockSums, p, weight, add, to + q * kBlock, row_stride_);
        }
      }
    }
  }
}

// An output (i, j), counted from the tile's first, that x and its bound leave open.
void Backend::settle(const Work& w, int64_t i, int64_t j, double x, float& out, std::vector<Undecided>& hard,
                     Statistics& statistics) {
  const int64_t row = w.tile.i0 + i, column = w.tile.j0 + j;
  const bool finite = std::isfinite(left_.rest_norms()[i]) && std::isfinite(right_.rest_norms()[j]) &&
                      std::isfinite(w.problem.bias(row, column));
  if (finite && w.ctx.instruments.mutation == Mutation::kNoExactStep) {
    out = static_cast<float>(x + 0.0);
    return;
  }
  if (!finite || !left_.has_all_rests(i) || !right_.has_all_rests(j)) {
    hard.push_back({row, column, x});
    return;
  }
  const Int128 product = combined(w.moduli, sums_.data() + i * row_stride_ + j, modulus_stride_);
  out = exact_output(left_, right_, w.problem, row, column, product);
  ++statistics.repaired;
  ++statistics.combined;
}

// Rows [begin, end) of the tile: what is certain is written, the rest is settled or goes to `hard`.
void Backend::filter_rows(const Work& w, int64_t begin, int64_t end, std::vector<Undecided>& hard,
                          Statistics& statistics) {
  const Matrices& p = w.problem;
  double x[kSumColumns], d[kSumColumns];
  uint32_t undecided[kSumColumns];
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t j = 0, count; j < w.tile.columns(); j += count) {
      const int64_t run = p.place.columns - (w.tile.j0 + j) % p.place.columns;
      count = std::min({w.tile.columns() - j, run, kSumColumns});
      float* out = p.out + p.at(w.tile.i0 + i, w.tile.j0 + j);
      const bool some = w.loops.filter(count, w.row(*this, i, j), out, x, d, undecided);
      for (int64_t q = 0; w.ctx.instruments.bounds != nullptr && q < count; ++q) {
        w.ctx.instruments.bounds->on_bound(w.tile.i0 + i, w.tile.j0 + j + q, x[q], d[q]);
      }
      for (int64_t q = 0; some && q < count; ++q) {
        if (undecided[q] != 0) settle(w, i, j + q, x[q], out[q], hard, statistics);
      }
    }
  }
}

// The outputs of the tile that are looked at, however they were decided.
void Backend::check(const Work& w, Breaches& breaches, Statistics& statistics) {
  std::vector<BoundedItem> sample;
  for (const int64_t place : w.ctx.watch->draw(w.tile.rows() * w.tile.columns())) {
    const int64_t i = place / w.tile.columns(), j = place % w.tile.columns();
    float unused;
    double x, d;
    uint32_t undecided;
    w.loops.filter(1, w.row(*this, i, j), &unused, &x, &d, &undecided);
    sample.push_back({{w.tile.i0 + i, w.tile.j0 + j, x}, d});
  }
  check_bounded_sample(w.ctx, w.problem, left_.laid(), right_.laid(), sample, breaches, statistics);
}

// One tile, whose lines both sides have taken.
Status Backend::compute(const CorrectContext& ctx, const Matrices& p, const Tile& tile, const Moduli& moduli,
                        Statistics& statistics) {
  const Mutation mutation = ctx.instruments.mutation;
  const Moduli& scaling = mutation == Mutation::kFewModuli ? moduli_of(moduli.count + 1) : moduli;
  const Moduli converting = mutation == Mutation::kWrongModulus ? with_a_wrong_modulus(moduli) : moduli;
  const Work w{ctx, table_of(ctx.kernel.isa), p, tile, moduli};
  ThreadPool& pool = *ctx.kernel.pool;
  left_.scale(scaling);
  right_.scale(scaling);
  row_stride_ = right_.blocks() * kBlock;
  modulus_stride_ = left_.blocks() * kBlock * row_stride_;
  sums_.resize(std::max(sums_.size(), static_cast<size_t>(moduli.count * modulus_stride_)));
  for (int64_t l0 = 0; l0 < p.k; l0 += kTerms) {
    const int64_t l1 = std::min(l0 + kTerms, p.k);
    left_.convert(ctx, w.loops, converting, l0, l1);
    right_.convert(ctx, w.loops, moduli, l0, l1);
    pool.parallel_for(left_.blocks(), 1, [&](int64_t begin, int64_t end) { multiply(w, begin, end, l0 > 0); });
  }
  left_.finish(pool);
  right_.finish(pool);
  std::vector<Undecided> hard;
  std::mutex merging;
  pool.parallel_for(tile.rows(), 16384 / tile.columns() + 1, [&](int64_t begin, int64_t end) {
    Statistics own;
    std::vector<Undecided> own_hard;
    filter_rows(w, begin, end, own_hard, own);
    const std::lock_guard<std::mutex> lock(merging);
    statistics += own;
    hard.insert(hard.end(), own_hard.begin(), own_hard.end());
  });
  repair(ctx, p, left_.laid(), right_.laid(), hard, Backing::kBounded, 0, nullptr, statistics);
  Breaches breaches;
  if (mutation == Mutation::kNone && ctx.watch != nullptr) check(w, breaches, statistics);
  return breaches.status(p, text_of("integer@", tiles_.name), Backing::kBounded);
}

Expected<bool> Backend::run(const CorrectContext& ctx, const Matrices& p, Statistics& statistics) {
  const bool small = p.m < options_.least_m || p.n < options_.least_n || p.k < options_.least_k;
  if (ctx.instruments.mutation == Mutation::kUnfiltered || (small && options_.moduli == 0)) return false;
  Workspace own;
  Workspace& workspace = ctx.workspace != nullptr ? *ctx.workspace : own;
  const int64_t terms = std::min(p.k, kTerms);
  const int64_t rows = std::min(p.m, tile_rows(terms)), columns = std::min(p.n, kTileColumns);
  const Source left(ctx, p.left), right(ctx, p.right);
  left_.start(left, p.k, workspace.doubles(0, static_cast<size_t>(rows * terms)), terms);
  right_.start(right, p.k, workspace.doubles(1, static_cast<size_t>(columns * terms)), terms);
  int count = 0;
  for (int64_t i = 0; i < p.m; i += rows) {
    left_.take(ctx, i, std::min(i + rows, p.m));
    for (int64_t j = 0; j < p.n; j += columns) {
      right_.take(ctx, j, std::min(j + columns, p.n));
      if (count == 0) count = choose(p);
      if (count == 0) return false;
      const Tile tile{i, std::min(i + rows, p.m), j, std::min(j + columns, p.n)};
      ISOBIT_RETURN_IF_ERROR(compute(ctx, p, tile, moduli_of(count), statistics));
    }
  }
  ++products_;
  return true;
}

}  // namespace isobit::kernels::correct::integer
