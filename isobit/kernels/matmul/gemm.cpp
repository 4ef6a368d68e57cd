#include "isobit/kernels/matmul/gemm.h"

#include <algorithm>

#include "isobit/base/scratch_shelf.h"
#include "isobit/base/status.h"
#include "isobit/kernels/matmul/block_sizes.h"
#include "isobit/kernels/matmul/images.h"
#include "isobit/kernels/matmul/kept_operand.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/matmul/problem.h"
#include "isobit/kernels/matmul/spots.h"
#include "isobit/kernels/matmul/taps.h"
#include "isobit/kernels/matmul/tiling.h"

namespace isobit::kernels::gemm {
namespace {

using product::SideKind;

// Of the outputs of one batch entry, after the exchange, if there was one.
struct Rectangle {
  int64_t row, rows, column, columns;
};

// The share of one thread: a rectangle.
template <class T>
class Part {
 public:
  Part(const Table<T>& kernels, const Problem<T>& p, const Tiling<T>& tiling, int64_t batch, const Kept<T>& kept)
      : kernels_(kernels),
        p_(p),
        tiling_(tiling),
        kept_(kept),
        adds_(p.ending != nullptr && p.ending->addend != nullptr),
        left_(tiling.swapped ? p.right : p.left),
        right_(tiling.swapped ? p.left : p.right) {
    begin_at(batch, left_);
    begin_at(batch, right_);
    out_ = p.c + p.out.first + batch * p.out.batch_stride;
    const T* bias = p.bias ? p.bias + batch * p.bias_batch_stride : nullptr;
    (p.bias_per_row == tiling.swapped ? column_bias_ : row_bias_) = bias;
    chunk_count_ = std::max<int64_t>(1, p.order.periods * ceil_div(p.order.period, p.order.chunk));
    longest_ = std::min(p.order.period, p.order.chunk);
  }

  void run(const Rectangle& share) {
    const int64_t nr = tiling_.vectors * kernels_.lanes, size = static_cast<int64_t>(sizeof(T));
    const int64_t kc = std::max<int64_t>(1, longest_);
    const int64_t nc = p_.padded ? padded_columns(kc, std::min(kTotalRows, share.rows), nr)
                                 : std::max(nr, right_columns(share.rows, kc) / nr * nr);
    mc_ = std::max(tiling_.mr, kLeftBytes / (kc * size) / tiling_.mr * tiling_.mr);
    const int64_t most_columns = std::min(nc, ceil_div(share.columns, kernels_.lanes) * kernels_.lanes);
    const int64_t most_rows = std::min(reads_left_rows(most_columns) ? kDirectRows : kTotalRows, share.rows);
    reserve(most_rows, most_columns, kc);
    for (int64_t j = 0; j < share.columns; j += nc) {
      for (int64_t i = 0; i < share.rows; i += most_rows) {
        block({.row = share.row + i,
               .rows = std::min(most_rows, share.rows - i),
               .column = share.column + j,
               .columns = std::min(nc, share.columns - j)});
      }
    }
  }

 private:
  // Weights that are kept are not written out again: there are none.
  static void begin_at(int64_t batch, Operand<T>& operand) {
    if (operand.data != nullptr) operand.data += batch * operand.batch_stride;
  }

  // Where the rows of a chunk are few, smaller blocks on the right leave both sides in a second-level cache. Not of
  // kept right panels: where they lie follows from the columns of a block, and they serve any number of rows
  // (kept_panels.h).
  int64_t right_columns(int64_t rows, int64_t terms) const {
    const int64_t column = terms * static_cast<int64_t>(sizeof(T)), most = kRightBytes / column;
    if (rows * column > kFewLeftBytes || (kept_.panels != nullptr && kept_.right)) return most;
    return std::min(most, std::max(kFewColumns, kFewRightBytes / column));
  }

  void reserve(int64_t rows, int64_t columns, int64_t terms) {
    const int64_t lines = 64 / static_cast<int64_t>(sizeof(T));
    auto round = [&](int64_t elements) { return ceil_div(elements, lines) * lines; };
    const int64_t right = round(p_.padded ? padded_elements(columns, terms) : columns * terms),
                  left = round(std::min(rows, mc_) * row_stride(terms));
    const int64_t totals = chunk_count_ > 1 ? round(rows * columns) : 0;
    const int64_t results = chunk_count_ > kChunksPerBlock ? totals : 0;
    const int64_t staging = round(kMaxWidth * (terms + kMaxWidth));
    const int64_t all = right + left + totals + results + staging;
    packed_right_ = static_cast<T*>(scratch(Slot::kPanels, static_cast<size_t>(all) * sizeof(T)));
    packed_left_ = packed_right_ + right;
    block_totals_ = packed_left_ + left;
    results_ = block_totals_ + totals;
    staging_ = results_ + results;
  }

  // Columns whose planes, and whose running totals in so many rows, fit a block each; and what planes take: an image at
  // either end has some of the columns.
  int64_t padded_columns(int64_t terms, int64_t rows, int64_t nr) const {
    const int64_t channels = terms / right_.grid.tap_count, lanes = kernels_.lanes;
    const int64_t room = kRightBytes / static_cast<int64_t>(sizeof(T)) / (channels * p_.padded->plane());
    const int64_t images = std::max<int64_t>(1, room) * p_.padded->vectors() * lanes;
    if (chunk_count_ == 1) return images;
    return std::max(nr, std::min(images, kRightBytes / static_cast<int64_t>(sizeof(T)) / rows / nr * nr));
  }
  int64_t padded_elements(int64_t columns, int64_t terms) const {
    const int64_t vectors = ceil_div(columns, kernels_.lanes), all = p_.n / kernels_.lanes / p_.padded->vectors();
    const int64_t images = std::min(all, vectors / p_.padded->vectors() + 2);
    return images * terms / right_.grid.tap_count * p_.padded->plane();
  }

  // Of a left block packed as rows; a power of two would crowd the rows into few sets of the cache.
  static int64_t row_stride(int64_t terms) { return terms + 64 / static_cast<int64_t>(sizeof(T)); }

  // A rectangle whose running totals fit the buffers, through all chunks.
  void block(const Rectangle& whole) {
    const int64_t per_period = std::max<int64_t>(1, ceil_div(p_.order.period, p_.order.chunk));
    for (int64_t chunk = 0; chunk < chunk_count_; ++chunk) {
      const int64_t begin = chunk % per_period * p_.order.chunk;
      const int64_t k0 = chunk / per_period * p_.order.period + begin;
      const int64_t terms = p_.order.periods ? std::min(p_.order.chunk, p_.order.period - begin) : 0;
      step_.terms = terms;
      lay_out_right(whole, k0, terms);
      begin_chunk(step_, chunk, chunk_count_);
      for (int64_t i = 0; i < whole.rows; i += mc_) sweep(whole, i, std::min(mc_, whole.rows - i), k0);
    }
  }

  void lay_out_right(const Rectangle& whole, int64_t k0, int64_t terms) {
    const bool kept = kept_.panels != nullptr && kept_.right;
    const int64_t most = right_.strides.inner < kPage<T> || terms <= kFewPages ? kDirectPanels : 1;
    direct_right_ = !p_.padded && !kept && ceil_div(whole.rows, tiling_.mr) <= most && readable_columns(right_, k0);
    if (kept) {
      const int64_t lanes = ceil_div(whole.columns, kernels_.lanes) * kernels_.lanes;
      packed_right_ = kept_.panels + whole.column * p_.order.terms() + k0 * lanes;
      if (!kept_.fill) return;
    }
    p_.padded ? pad_right(whole.column, whole.columns, k0, terms) : pack_right(whole.column, whole.columns, k0, terms);
  }

  Panels column_panels(int64_t columns) const {
    const int64_t vectors = ceil_div(columns, kernels_.lanes);
    return {.units = vectors, .unit = kernels_.lanes, .count = ceil_div(vectors, tiling_.vectors)};
  }

  void pack_right(int64_t j0, int64_t columns, int64_t k0, int64_t terms) {
    const Panels panels = column_panels(columns);
    int64_t packed = 0;
    if (!direct_right_ && lie_across(right_)) {
      packed = panels.count - (columns % kernels_.lanes != 0);  // a short panel must be padded
      kernels_.pack_across(right_, packed_right_, panels, packed, j0, k0, terms);
    }
    for (int64_t panel = packed; panel < panels.count; ++panel) {
      const int64_t first = panels.first(panel), last = panels.first(panel + 1);
      if (direct_right_ && last <= columns) continue;
      kernels_.pack(right_, packed_right_ + first * terms, staging_, last - first, j0 + first,
                    std::min(last, columns) - first, k0, terms);
    }
  }

  void pad_right(int64_t j0, int64_t columns, int64_t k0, int64_t terms) {
    const int64_t taps = right_.grid.tap_count, first = j0 / kernels_.lanes;
    channels_ = terms / taps;
    first_image_ = p_.padded->image_of(first);
    p_.padded->fill(kernels_, right_, first, first + ceil_div(columns, kernels_.lanes), k0 / taps, channels_,
                    packed_right_);
    p_.padded->runs(channels_, runs_);
    step_.runs = runs_.data();
    step_.run_count = static_cast<int64_t>(runs_.size());
    step_.right_k_stride = p_.padded->plane();
  }

  static bool lie_across(const Operand<T>& op) { return op.kind == SideKind::kStrided && op.strides.line == 1; }

  // Whether the left side is read in place for so many columns, where the elements of a chunk are contiguous along k.
  bool reads_left_rows(int64_t columns) const {
    return !p_.padded && (kept_.panels == nullptr || kept_.right) &&
           ceil_div(columns, kernels_.lanes * tiling_.vectors) <= kDirectPanels && left_.kind == SideKind::kStrided &&
           left_.strides.inner == 1;
  }
  bool readable_rows(const Operand<T>& op, int64_t k0) const {
    return k0 % op.strides.period + step_.terms <= op.strides.period;
  }

  // Whether they are contiguous along i and equally spaced along k.
  bool readable_columns(const Operand<T>& op, int64_t k0) const {
    return op.kind == SideKind::kStrided && op.strides.line == 1 &&
           k0 % op.strides.period + step_.terms <= op.strides.period;
  }

  void pack_left(T* to, const Panels& panels, int64_t i0, int64_t k0, int64_t terms) const {
    if (left_.kind == SideKind::kTaps) {
      kernels_.pack_rows(left_, to, row_stride(terms), i0, panels.units, k0, terms);
    } else if (lie_across(left_)) {
      kernels_.pack_across(left_, to, panels, panels.count, i0, k0, terms);
    } else {
      for (int64_t panel = 0; panel < panels.count; ++panel) {
        const int64_t first = panels.first(panel), count = panels.first(panel + 1) - first;
        kernels_.pack(left_, to + first * terms, staging_, count, i0 + first, count, k0, terms);
      }
    }
  }

  // All tiles of the rows i .. i + rows of `whole`, counted from its first, for one chunk.
  void sweep(const Rectangle& whole, int64_t i, int64_t rows, int64_t k0) {
    const int64_t i0 = whole.row, j0 = whole.column, columns = whole.columns;
    const int64_t terms = step_.terms, lanes = kernels_.lanes;
    const bool kept = kept_.panels != nullptr && !kept_.right;
    const bool direct = reads_left_rows(columns) && readable_rows(left_, k0);
    const Panels row_panels{.units = rows, .unit = 1, .count = ceil_div(rows, tiling_.mr)};
    const bool as_rows = left_.kind == SideKind::kTaps;
    T* const packed_left = kept ? kept_.panels + (i0 + i) * p_.order.terms() + k0 * rows : packed_left_;
    if (!direct && (!kept || kept_.fill)) pack_left(packed_left, row_panels, i0 + i, k0, terms);
    const Panels panels = column_panels(columns);
    const int64_t together = panels_together(terms);
    const auto& kernel = p_.padded ? kernels_.windows : direct || as_rows ? kernels_.rows : kernels_.tile;
    const auto tile = [&](const PanelColumns& c, int64_t row, int64_t count) {
      const int64_t totals = c.first * whole.rows + (i + row) * c.width;
      step_.block = block_totals_ + totals;
      step_.result = results_ + totals;
      if (direct) {
        step_.left = left_.data + (i0 + i + row) * left_.strides.line + left_.strides.offset(k0);
        step_.left_row_stride = left_.strides.line;
      } else if (as_rows) {
        step_.left = packed_left + row * row_stride(terms);
        step_.left_row_stride = row_stride(terms);
      } else {
        step_.left = packed_left + row * terms;
      }
      call(kernel[c.width / lanes - 1][count - 1], i0 + i + row, count, j0 + c.first);
    };
    // What is kept may be in memory only: while one panel meets the panels of rows, the next one of the chunk comes. Of
    // several together each is met too soon.
    const bool is_far = kept_.panels != nullptr && kept_.right && !kept_.fill && together == 1;
    for (int64_t begin = 0; begin < panels.count; begin += together) {
      const int64_t end = std::min(panels.count, begin + together);
      describe(whole, panels, begin, end, k0);
      const T* const next = is_far && end < panels.count ? packed_right_ + panels.first(end) * terms : nullptr;
      const int64_t next_size = (panels.first(end + 1) - panels.first(end)) * terms;
      for (int64_t r = 0, row = 0, below = 0; r < row_panels.count; ++r, row = below) {
        below = row_panels.first(r + 1);
        if (next != nullptr) prefetch_part(next, next_size, r, row_panels.count);
        for (const PanelColumns *c = described_, *last = c + (end - begin); c < last; ++c) {
          take(*c);
          tile(*c, row, below - row);
        }
      }
    }
  }

  // Panels of columns that a panel of rows meets before the next one. Of a single chunk there are some: a tile is done
  // as soon as it is begun, and outputs of neighbouring ones lie in one page.
  int64_t panels_together(int64_t terms) const {
    if (tiling_.swapped || chunk_count_ > 1 || 2 * p_.out.row_stride < kPage<T>) return 1;
    const int64_t bytes = terms * tiling_.vectors * kernels_.lanes * static_cast<int64_t>(sizeof(T));
    return std::max<int64_t>(1, kTogetherBytes / std::max<int64_t>(1, bytes));
  }

  // What the tiles of a panel of columns have in common.
  struct PanelColumns {
    int64_t first, width;  // of the lanes that the block has
    const T* right;        // if it is not padded
    int64_t right_k_stride;
    const T* windows[kMaxVectors];
    int64_t columns, spots, spot_count;  // spots: the first one's number
  };

  void describe(const Rectangle& whole, const Panels& panels, int64_t begin, int64_t end, int64_t k0) {
    if (end - begin > 1) columns_of_.resize(static_cast<size_t>(end - begin));
    described_ = end - begin > 1 ? columns_of_.data() : &one_;
    spots_.clear();
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panels.first(panel), width = panels.first(panel + 1) - first;
      PanelColumns& c = described_[panel - begin];
      c.first = first;
      c.width = width;
      c.right_k_stride = step_.right_k_stride;
      if (p_.padded) {
        for (int64_t v = 0; v < width / kernels_.lanes; ++v) {
          const int64_t vector = (whole.column + first) / kernels_.lanes + v,
                        image = p_.padded->image_of(vector) - first_image_;
          c.windows[v] = packed_right_ + image * channels_ * p_.padded->plane() + p_.padded->offset_of(vector);
        }
      } else if (direct_right_ && first + width <= whole.columns) {
        c.right = right_.data + whole.column + first + right_.strides.offset(k0);
        c.right_k_stride = right_.strides.inner;
      } else {
        c.right = packed_right_ + first * step_.terms;
        c.right_k_stride = width;
      }
      c.columns = std::min(width, whole.columns - first);
      c.spots = spots_.count();
      if (step_.last && !tiling_.swapped) spots_.add_panel(p_, kernels_.lanes, whole.column + first, c.columns);
      c.spot_count = spots_.count() - c.spots;
    }
  }

  void take(const PanelColumns& c) {
    step_.right = c.right;
    step_.right_k_stride = c.right_k_stride;
    std::copy_n(c.windows, kMaxVectors, step_.windows);
    step_.columns = c.columns;
    spot_ = spots_.data() + c.spots;
    spot_count_ = c.spot_count;
  }

  void call(TileKernel<T> kernel, int64_t i, int64_t rows, int64_t j) {
    if (!step_.last) {
      kernel(step_);
      return;
    }
    step_.row_bias = row_bias_ ? row_bias_ + i : nullptr;
    step_.column_bias = column_bias_ ? column_bias_ + j : nullptr;
    const bool straight = is_straight();
    step_.relu = p_.ending != nullptr && p_.ending->relu && (straight || !adds_);
    if (straight) {
      step_.c = out_ + i * p_.out.row_stride + spot_->offset;
      step_.c_row_stride = p_.out.row_stride;
      step_.columns = spot_->count;
      step_.addend = adds_ ? p_.addend_at(step_.c) : nullptr;
      kernel(step_);
      return;
    }
    step_.addend = nullptr;
    alignas(64) T tile[kMaxRows * kMaxWidth];
    step_.c = tile;
    step_.c_row_stride = kMaxWidth;
    kernel(step_);
    tiling_.swapped ? scatter_exchanged(tile, i, rows, j) : scatter(tile, i, rows);
  }

  // Whether the panel's outputs are neighbours, as those of the tile.
  bool is_straight() const { return spot_count_ == 1 && spot_->lane == 0 && p_.out.column_stride == 1; }

  void scatter(const T* tile, int64_t i, int64_t rows) {
    const product::Placement& o = p_.out;
    for (int64_t s = 0; s < spot_count_; ++s) {
      const T* from = tile + spot_[s].lane;
      T* to = out_ + i * o.row_stride + spot_[s].offset;
      if (adds_)
        kernels_.end_rows(from, kMaxWidth, p_.addend_at(to), p_.ending->relu, to, o.row_stride, rows, spot_[s].count);
      else
        kernels_.copy_rows(from, kMaxWidth, to, o.row_stride, o.column_stride, rows, spot_[s].count);
    }
  }

  void scatter_exchanged(const T* tile, int64_t i, int64_t rows, int64_t j) {
    const int64_t row_stride = p_.out.row_stride;
    for (int64_t r = 0; r < rows; ++r) {
      T* c = out_ + p_.out.column(i + r) + j * row_stride;
      for (int64_t l = 0; l < step_.columns; ++l) {
        T* to = c + l * row_stride;
        *to = adds_ ? p_.ending->of(tile[r * kMaxWidth + l], to - p_.c) : tile[r * kMaxWidth + l];
      }
    }
  }

  const Table<T>& kernels_;
  const Problem<T>& p_;
  const Tiling<T> tiling_;
  const Kept<T> kept_;
  const bool adds_;  // something to every output: by the tile where its outputs are neighbours, else afterwards
  Operand<T> left_, right_;
  T* out_;
  const T *row_bias_ = nullptr, *column_bias_ = nullptr;
  int64_t chunk_count_, longest_, mc_ = 0;
  T *packed_right_ = nullptr, *packed_left_ = nullptr, *block_totals_ = nullptr, *results_ = nullptr;
  T* staging_ = nullptr;
  bool direct_right_ = false;
  // Of the panels that are met together, and where their outputs lie; of one no memory is asked for.
  PanelColumns one_{}, *described_ = nullptr;
  ScratchVector<PanelColumns> columns_of_;
  Spots spots_;
  const Spot* spot_ = nullptr;  // of the panel whose turn it is
  int64_t spot_count_ = 0;
  ScratchVector<TermRun> runs_;  // of a padded right side, in this chunk
  int64_t channels_ = 0, first_image_ = 0;
  TileStep<T> step_{};
};

template <class T>
void execute(const KernelContext& ctx, Problem<T> p) {
  const Table<T>& kernels = table_of<T>(ctx.isa);
  const int64_t terms = std::max<int64_t>(1, p.order.terms());
  const double work = static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(terms);
  const int64_t threads = ctx.pool->threads();
  const int64_t parts = p.batch >= 4 * threads || work < kSerialWork ? 1 : threads;
  Grid grid = cut(p.m, p.n, parts, kernels.lanes);
  const Tiling<T> tiling = tiling_of(kernels, p, ceil_div(p.m, grid.rows), ceil_div(p.n, grid.columns));
  // Boundaries of the parts are multiples of the vector along whichever side the vectors lie; no part is empty.
  const int64_t row_unit = tiling.swapped ? kernels.lanes : 1, column_unit = tiling.swapped ? 1 : kernels.lanes;
  grid = {.rows = std::min(grid.rows, ceil_div(p.m, row_unit)),
          .columns = std::min(grid.columns, ceil_div(p.n, column_unit))};
  KeptOperand<T> kept(kernels, p, tiling, p.kept_is_right ? grid.columns : grid.rows);
  if (p.weights && !kept.is_there()) p.left.data = p.weights->written_rows(ctx, kernels);
  const int64_t per_batch = grid.rows * grid.columns;
  const int64_t grain = static_cast<int64_t>(std::max(1.0, kSerialWork * static_cast<double>(per_batch) / work));
  auto bound = [](int64_t size, int64_t part, int64_t count, int64_t unit) {
    return std::min(size, ceil_div(size, unit) * part / count * unit);
  };
  ctx.pool->parallel_for(p.batch * per_batch, grain, [&](int64_t begin, int64_t end) {
    Kept<T> shared;
    if (per_batch == 1 && end - begin > 1 && p.kept == nullptr) shared = shared_left(kernels, p, tiling);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t r = unit % per_batch / grid.columns, c = unit % grid.columns;
      const int64_t r0 = bound(p.m, r, grid.rows, row_unit), r1 = bound(p.m, r + 1, grid.rows, row_unit);
      const int64_t c0 = bound(p.n, c, grid.columns, column_unit), c1 = bound(p.n, c + 1, grid.columns, column_unit);
      Part<T> part(kernels, p, tiling, unit / per_batch, shared.panels ? shared : kept.of(unit / per_batch, r, c));
      shared.fill = false;
      if (tiling.swapped)
        part.run({.row = c0, .rows = c1 - c0, .column = r0, .columns = r1 - r0});
      else
        part.run({.row = r0, .rows = r1 - r0, .column = c0, .columns = c1 - c0});
    }
  });
  kept.say_filled();
}

template <class T>
void execute_as_fits(const KernelContext& ctx, const Problem<T>& p) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  const Table<T>& kernels = table_of<T>(ctx.isa);
  if (p.right.kind == SideKind::kTaps && cost_by_taps(kernels, p) < tiling_of(kernels, p, p.m, p.n).cost)
    return compute_by_taps(ctx, p);
  if (p.right.kind != SideKind::kPositions) return execute(ctx, p);
  const double padded_cost = Padded<T>::cost(p.right, kernels.lanes, p.m);
  const double least = std::min(padded_cost, Padded<T>::cost_of_packing(p.right, p.m, p.out.column_stride == 1));
  if (cost_by_images(kernels, p) < least && p.weights->are_finite()) return compute_by_images(ctx, p);
  Problem<T> with_weights = p;
  with_weights.left = p.weights->rows();
  if (padded_cost > least) return execute(ctx, with_weights);
  const Padded<T> padded(p.right, kernels.lanes);
  with_weights.padded = &padded;
  with_weights.n = p.n / (p.right.grid.grid_h * p.right.grid.grid_w) * padded.vectors() * kernels.lanes;
  execute(ctx, with_weights);
}

}  // namespace

void* scratch(Slot slot, size_t bytes) { return isobit::scratch::growing_block(static_cast<int>(slot), bytes); }

void compute(const KernelContext& ctx, const Problem<float>& problem) { execute_as_fits(ctx, problem); }
void compute(const KernelContext& ctx, const Problem<double>& problem) { execute_as_fits(ctx, problem); }

}  // namespace isobit::kernels::gemm
