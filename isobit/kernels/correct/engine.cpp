#include "isobit/kernels/correct/engine.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/base/text.h"
#include "isobit/kernels/correct/closer_look.h"
#include "isobit/kernels/correct/integer/backend.h"
#include "isobit/kernels/correct/reference.h"
#include "isobit/kernels/correct/repair.h"
#include "isobit/kernels/correct/watch.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels::correct {
namespace {

constexpr int64_t kTileRows = 1024;
constexpr int64_t kTileColumns = 4096;
constexpr int64_t kTileElements = int64_t{1} << 20;   // of the output
constexpr int64_t kBlockElements = int64_t{1} << 20;  // of one operand in float64

struct Tile {
  int64_t i0, i1, j0, j1;
  int64_t rows() const { return i1 - i0; }
  int64_t columns() const { return j1 - j0; }
};

// How a problem is cut up. Affects speed only.
struct Tiling {
  int64_t rows, columns, block, slice;  // block: terms held in float64 at a time, a multiple of slice or k
  int64_t slices;
};

Tiling tiling_of(const Matrices& p, Mutation mutation) {
  Tiling tiling;
  tiling.rows = std::min(p.m, kTileRows);
  tiling.columns = std::min(p.n, std::clamp(kTileElements / tiling.rows, kTileRows, kTileColumns));
  if (p.k <= kSingleSlice) {
    tiling.block = tiling.slice = p.k;
    tiling.slices = 1;
    return tiling;
  }
  tiling.slice = kSlice;
  tiling.block = std::max<int64_t>(1, kBlockElements / std::max(tiling.rows, tiling.columns) / kSlice) * kSlice;
  tiling.block = std::min(tiling.block, p.k);
  if (mutation == Mutation::kUnfiltered) tiling.slice = tiling.block;
  tiling.slices = (p.k + tiling.slice - 1) / tiling.slice;
  return tiling;
}

double bound_per_magnitude(const Tiling& tiling, Mutation mutation) {
  const double bound = gamma(tiling.slice + tiling.slices + 1);
  if (mutation == Mutation::kNoBound) return 0;
  return mutation == Mutation::kSmallBound ? bound / 1024 : bound;
}

struct Buffers {
  LaidOut left, right;
  int64_t ld;  // from row to row of both
  double* total;
  double* slice;
};

// Rows that are a multiple of 4 KiB apart take the same few places of a cache: 1.05 times the time of a product.
int64_t apart(int64_t columns) { return columns % 64 == 0 ? columns + 8 : columns; }

// The float64 product of a tile: its last slice in `slice`, the sum of the others in `total`; a single one in `total`.
Status approximate(const CorrectContext& ctx, const Matrices& p, const Tiling& tiling, const Tile& tile,
                   Buffers& buffers) {
  const Table& loops = table_of(ctx.kernel.isa);
  const int64_t m = tile.rows(), n = tile.columns();
  for (int64_t l0 = 0; l0 < p.k; l0 += tiling.block) {
    const int64_t l1 = std::min(l0 + tiling.block, p.k);
    load(ctx, buffers.left, tile.i0, tile.i1, l0, l1, l1 == p.k);
    load(ctx, buffers.right, tile.j0, tile.j1, l0, l1, l1 == p.k);
    for (int64_t l = l0; l < l1; l += tiling.slice) {
      const int64_t count = std::min(tiling.slice, l1 - l);
      GemmArgs<double> g;
      g.transpose_a = !buffers.left.source->k_contiguous();
      g.transpose_b = buffers.right.source->k_contiguous();
      g.m = m, g.n = n, g.k = count;
      g.a = buffers.left.at(l), g.lda = buffers.left.ld();
      g.b = buffers.right.at(l), g.ldb = buffers.right.ld();
      g.c = l == 0 ? buffers.total : buffers.slice, g.ldc = buffers.ld;
      ISOBIT_RETURN_IF_ERROR(ctx.product->multiply(g));
      if (l == 0 || l + count == p.k) continue;
      ctx.kernel.pool->parallel_for(m, 16384 / n + 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          loops.add(n, buffers.slice + i * buffers.ld, buffers.total + i * buffers.ld);
      });
    }
  }
  return {};
}

double bias_of(const FilterRow& r, int64_t q) {
  return r.row_bias + (r.column_bias != nullptr ? static_cast<double>(r.column_bias[q]) : 0.0);
}

// x as the filter computes it.
double approximation(const FilterRow& r, int64_t q) {
  const double sum = r.slice != nullptr ? r.total[q] + r.slice[q] : r.total[q];
  return r.biased ? sum + bias_of(r, q) : sum;
}

void show_bounds(const FilterRow& r, int64_t i, int64_t j, int64_t count, BoundObserver& observer) {
  for (int64_t q = 0; q < count; ++q) {
    const double d = r.row_scale * r.column_norms[q] + (r.biased ? r.gamma * std::fabs(bias_of(r, q)) : 0.0);
    observer.on_bound(i, j + q, approximation(r, q), d);
  }
}

// Rounds row i of a tile where the rounding is certain, and lists the rest.
void filter_row(const Table& loops, const Matrices& p, const Tiling& tiling, const Tile& tile, const Buffers& buffers,
                double gamma, const Instruments& instruments, int64_t i, std::vector<Undecided>& undecided) {
  const int64_t row = (i - tile.i0) * buffers.ld;
  uint32_t flags[kFilterColumns];
  for (int64_t j = tile.j0; j < tile.j1;) {
    const int64_t same_run = p.place.columns - j % p.place.columns;
    const int64_t count = std::min({tile.j1 - j, same_run, kFilterColumns});
    const int64_t at = row + j - tile.j0;
    FilterRow r;
    r.total = buffers.total + at;
    r.slice = tiling.slices > 1 ? buffers.slice + at : nullptr;
    r.column_norms = buffers.right.norms.data() + (j - tile.j0);
    r.column_bias = p.column_bias != nullptr ? p.column_bias + j : nullptr;
    r.row_bias = p.row_bias != nullptr ? static_cast<double>(p.row_bias[i]) : 0.0;
    r.row_scale = gamma * buffers.left.norms[static_cast<size_t>(i - tile.i0)];
    r.gamma = gamma;
    r.biased = p.row_bias != nullptr || p.column_bias != nullptr;
    if (instruments.bounds != nullptr) show_bounds(r, i, j, count, *instruments.bounds);
    if (instruments.mutation == Mutation::kUnfiltered) {
      loops.round(count, r, p.out + p.at(i, j));
    } else if (loops.filter(count, r, p.out + p.at(i, j), flags)) {
      for (int64_t q = 0; q < count; ++q) {
        if (flags[q] != 0) undecided.push_back({i, j + q, approximation(r, q)});
      }
    }
    j += count;
  }
}

std::vector<Undecided> filter(const CorrectContext& ctx, const Matrices& p, const Tiling& tiling, const Tile& tile,
                              const Buffers& buffers) {
  const Table& loops = table_of(ctx.kernel.isa);
  const double gamma = bound_per_magnitude(tiling, ctx.instruments.mutation);
  std::vector<Undecided> all;
  std::mutex merging;
  ctx.kernel.pool->parallel_for(tile.rows(), 16384 / tile.columns() + 1, [&](int64_t begin, int64_t end) {
    std::vector<Undecided> own;
    for (int64_t i = begin; i < end; ++i) {
      filter_row(loops, p, tiling, tile, buffers, gamma, ctx.instruments, tile.i0 + i, own);
    }
    const std::lock_guard<std::mutex> lock(merging);
    all.insert(all.end(), own.begin(), own.end());
  });
  return all;
}

// The outputs of the tile that are looked at, however they were decided.
std::vector<Undecided> draw_sample(Watch& watch, const Matrices& p, const Tiling& tiling, const Tile& tile,
                                   const Buffers& buffers) {
  std::vector<Undecided> sample;
  for (const int64_t place : watch.draw(tile.rows() * tile.columns())) {
    const int64_t i = tile.i0 + place / tile.columns(), j = tile.j0 + place % tile.columns();
    const int64_t at = (i - tile.i0) * buffers.ld + (j - tile.j0);
    double x = buffers.total[at];
    if (tiling.slices > 1) x += buffers.slice[at];
    if (p.row_bias != nullptr) x += static_cast<double>(p.row_bias[i]);
    if (p.column_bias != nullptr) x += static_cast<double>(p.column_bias[j]);
    sample.push_back({i, j, x});
  }
  return sample;
}

// k = 0: the bias alone.
void fill_with_bias(const Matrices& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      const float bias = p.row_bias != nullptr ? p.row_bias[i] : p.column_bias != nullptr ? p.column_bias[j] : 0.0f;
      p.out[p.at(i, j)] = numerics::canonical(bias + 0.0f);
    }
  }
}

Status require_sizes(const Matrices& p) {
  for (const auto& [name, size] : {std::pair("m", p.m), std::pair("n", p.n), std::pair("k", p.k)}) {
    if (size <= kMostTerms) continue;
    return unreadable(text_of("a product of ", p.m, " x ", p.k, " times ", p.k, " x ", p.n, ": ", name, " is ", size,
                              ", the error bounds of correct-1 hold up to ", kMostTerms));
  }
  return {};
}

// One tile, from the operands to the outputs.
Status compute(const CorrectContext& ctx, const Matrices& p, const Tiling& tiling, const Tile& tile, Buffers& buffers,
               Statistics& statistics) {
  const Mutation mutation = ctx.instruments.mutation;
  ISOBIT_RETURN_IF_ERROR(approximate(ctx, p, tiling, tile, buffers));
  std::vector<Undecided> undecided = filter(ctx, p, tiling, tile, buffers);
  look_closer(ctx, p, buffers.left, buffers.right, undecided, statistics);
  // A deliberate mistake of ours is not the product's.
  const bool watched = mutation == Mutation::kNone;
  Breaches breaches;
  repair(ctx, p, buffers.left, buffers.right, undecided, Backing::kClassical, bound_per_magnitude(tiling, mutation),
         watched ? &breaches : nullptr, statistics);
  if (watched && ctx.watch != nullptr) {
    check_sample(ctx, p, buffers.left, buffers.right, draw_sample(*ctx.watch, p, tiling, tile, buffers),
                 tiling.slice + tiling.slices - 1, breaches, statistics);
  }
  return breaches.status(p, ctx.product->name(), Backing::kClassical);
}

}  // namespace

double* Workspace::doubles(int slot, size_t count) {
  if (size_[slot] < count) {
    memory_[slot].reset();
    memory_[slot].reset(new double[count]);
    size_[slot] = count;
  }
  return memory_[slot].get();
}

Status run(const CorrectContext& ctx, const Matrices& p) {
  ISOBIT_RETURN_IF_ERROR(require_sizes(p));
  Statistics statistics;
  statistics.elements = p.m * p.n;
  statistics.terms = static_cast<double>(statistics.elements) * static_cast<double>(p.k);
  bool done = false;
  if (p.m > 0 && p.n > 0 && p.k == 0) fill_with_bias(p);
  if (p.m > 0 && p.n > 0 && p.k > 0 && ctx.integer != nullptr) {
    ISOBIT_TRY(done, ctx.integer->run(ctx, p, statistics));
  }
  if (p.m > 0 && p.n > 0 && p.k > 0 && !done) {
    const Tiling tiling = tiling_of(p, ctx.instruments.mutation);
    Workspace own;
    Workspace& workspace = ctx.workspace != nullptr ? *ctx.workspace : own;
    const Source left(ctx, p.left), right(ctx, p.right);
    Buffers buffers;
    buffers.ld = apart(tiling.columns);
    const auto outputs = static_cast<size_t>(tiling.rows * buffers.ld);
    buffers.left.source = &left;
    buffers.left.block = workspace.doubles(0, static_cast<size_t>(tiling.rows * tiling.block));
    buffers.right.source = &right;
    buffers.right.block = workspace.doubles(1, static_cast<size_t>(tiling.columns * tiling.block));
    buffers.total = workspace.doubles(2, outputs);
    buffers.slice = tiling.slices > 1 ? workspace.doubles(3, outputs) : nullptr;
    for (int64_t i = 0; i < p.m; i += tiling.rows) {
      for (int64_t j = 0; j < p.n; j += tiling.columns) {
        const Tile tile{i, std::min(i + tiling.rows, p.m), j, std::min(j + tiling.columns, p.n)};
        ISOBIT_RETURN_IF_ERROR(compute(ctx, p, tiling, tile, buffers, statistics));
      }
    }
  }
  if (ctx.statistics != nullptr) *ctx.statistics += statistics;
  return {};
}

Status matmul(const CorrectContext& ctx, const MatmulArgs<float>& args) {
  if (ctx.kernel.isa == Isa::kReference) {
    reference::matmul(args);
    if (ctx.statistics != nullptr) ctx.statistics->elements += args.batch * args.m * args.n;
    return {};
  }
  const product::Product<float> product = product::product_of(args);
  for (int64_t t = 0; t < args.batch; ++t) ISOBIT_RETURN_IF_ERROR(run(ctx, batch_of(product, t)));
  return {};
}

}  // namespace isobit::kernels::correct
