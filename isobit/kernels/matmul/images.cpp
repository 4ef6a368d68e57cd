#include "isobit/kernels/matmul/images.h"

#include <algorithm>
#include <limits>

#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/matmul/tiling.h"

namespace isobit::kernels::gemm {
namespace {

// Of a block's copies of planes and of its running totals, so that both stay in a second-level cache. Found by
// measurement, free to change.
constexpr int64_t kCopyBytes = 640 << 10, kTotalBytes = 1 << 20, kMostLaidOut = 2 << 20;

// How the images and the rows of outputs are cut.
template <class T>
struct ImageLayout {
  int64_t lanes, vectors;          // vectors: most of a tile
  int64_t images, blocks, groups;  // blocks: vectors of images; groups: of blocks, one tile wide
  int64_t panels;                  // of rows
  int64_t channels;                // of a chunk, but the last
  int64_t bands, band_rows;        // of the grid
  int64_t ranges;                  // of panels
  int64_t total_bytes;             // of a block, at most

  // Of few images the rows are cut, too, so that every thread has some.
  ImageLayout(const Table<T>& kernels, const Problem<T>& p, int64_t threads) : lanes(kernels.lanes) {
    const product::WindowGrid& grid = p.right.grid;
    images = p.n / (grid.grid_h * grid.grid_w);
    blocks = ceil_div(images, lanes);
    vectors = best_width(kernels, p.m, blocks * lanes).vectors;
    groups = ceil_div(blocks, vectors);
    panels = ceil_div(p.m, kernels.max_rows[vectors - 1]);
    channels = std::min(grid.channels, p.order.chunk / grid.tap_count);
    const int64_t room = kCopyBytes / place_bytes() / grid.plane_w, reach = reach_of(grid);
    band_rows = std::clamp<int64_t>((room - reach) / grid.step_h, 1, grid.grid_h);
    // Not so many positions that a few rows of outputs would fill the totals.
    const int64_t total_places = kTotalBytes / (vectors * lanes * static_cast<int64_t>(sizeof(T)));
    const int64_t fewest = std::min<int64_t>(p.m, 64);
    band_rows = std::clamp<int64_t>(total_places / fewest / grid.grid_w, 1, band_rows);
    bands = ceil_div(grid.grid_h, band_rows);
    const int64_t positions = ceil_div(grid.grid_h, bands) * grid.grid_w;
    const int64_t wanted = ceil_div(threads, p.batch * groups * bands);
    ranges = std::clamp(std::max(wanted, ceil_div(p.m * positions, total_places)), int64_t{1}, panels);
    const int64_t rows = std::min(p.m, ceil_div(panels, ranges) * kernels.max_rows[vectors - 1]);
    total_bytes = rows * positions * vectors * lanes * static_cast<int64_t>(sizeof(T));
  }

  // Of one place of the plane in a chunk.
  int64_t place_bytes() const { return channels * vectors * lanes * static_cast<int64_t>(sizeof(T)); }
  // Rows of the plane that taps add to those of a band.
  static int64_t reach_of(const product::WindowGrid& grid) {
    int64_t least = 0, most = 0;
    for (int64_t t = 0; t < grid.tap_count; ++t) {
      least = std::min(least, grid.taps[t].y), most = std::max(most, grid.taps[t].y);
    }
    return most - least;
  }
};

// A group of images, a band of positions and a range of rows, through all chunks.
template <class T>
class Block {
 public:
  struct Extent {
    int64_t batch, first_block, blocks, top, bottom, first_panel, last_panel;
  };

  Block(const Table<T>& kernels, const Problem<T>& p, const ImageLayout<T>& layout, const T* weights, const Extent& e)
      : kernels_(kernels), p_(p), grid_(p.right.grid), layout_(layout), extent_(e), wide_(e.blocks * kernels.lanes) {
    row_ = first_of(p.m, e.first_panel, layout.panels);
    rows_ = first_of(p.m, e.last_panel, layout.panels) - row_;
    positions_ = (e.bottom - e.top) * grid_.grid_w;
    weights_ = weights + e.batch * p.m * terms();
    images_ = std::min(layout.images - e.first_block * layout.lanes, wide_);
    chunk_count_ = std::max<int64_t>(1, ceil_div(p.order.period, p.order.chunk));
    find_rows();
    // Not a whole number of pages, or all places would crowd into one set of the cache.
    place_stride_ = layout.channels * wide_ + 64 / static_cast<int64_t>(sizeof(T));
    const int64_t copy = (last_row_ - first_row_) * grid_.plane_w * place_stride_, totals = rows_ * positions_ * wide_;
    turned_stride_ = ceil_div(positions_, layout.lanes) * layout.lanes + layout.lanes;
    const int64_t all = copy + totals * (chunk_count_ > kChunksPerBlock ? 2 : 1) + (layout.lanes + 1) * turned_stride_;
    copy_ = static_cast<T*>(scratch(Slot::kPanels, static_cast<size_t>(all) * sizeof(T)));
    turned_ = copy_ + copy;
    totals_ = turned_ + (layout.lanes + 1) * turned_stride_;
    results_ = totals_ + totals;
  }

  void run() {
    for (int64_t chunk = 0; chunk < chunk_count_; ++chunk) {
      const int64_t k0 = chunk * p_.order.chunk, terms = std::min(p_.order.chunk, p_.order.period - k0);
      const int64_t channels = terms / grid_.tap_count;
      fill(k0 / grid_.tap_count, channels);
      begin_chunk(step_, chunk, chunk_count_);
      for (int64_t y = extent_.top; y < extent_.bottom; ++y) {
        for (int64_t x = 0; x < grid_.grid_w; ++x) position(y, x, k0, channels);
      }
    }
    for (int64_t panel = extent_.first_panel; panel < extent_.last_panel; ++panel) store(panel);
  }

 private:
  int64_t terms() const { return p_.order.period; }

  // Rows of the plane under the band.
  void find_rows() {
    first_row_ = grid_.plane_h, last_row_ = 0;
    for (int64_t t = 0; t < grid_.tap_count; ++t) {
      first_row_ = std::min(first_row_, extent_.top * grid_.step_h + grid_.taps[t].y);
      last_row_ = std::max(last_row_, (extent_.bottom - 1) * grid_.step_h + grid_.taps[t].y + 1);
    }
    first_row_ = std::max<int64_t>(first_row_, 0);
    last_row_ = std::max(first_row_, std::min(last_row_, grid_.plane_h));
  }

  void fill(int64_t first_channel, int64_t channels) {
    const int64_t places = (last_row_ - first_row_) * grid_.plane_w;
    const T* from = p_.right.data + extent_.batch * p_.right.batch_stride +
                    extent_.first_block * kernels_.lanes * grid_.image_stride + first_channel * grid_.channel_stride +
                    first_row_ * grid_.plane_w;
    for (int64_t b = 0; b < extent_.blocks; ++b) {
      const int64_t count = std::min<int64_t>(kernels_.lanes, images_ - b * kernels_.lanes);
      for (int64_t c = 0; c < channels; ++c) {
        const T* channel = from + b * kernels_.lanes * grid_.image_stride + c * grid_.channel_stride;
        kernels_.transpose(copy_ + c * wide_ + b * kernels_.lanes, place_stride_, kernels_.lanes, channel,
                           grid_.image_stride, count, places);
      }
    }
    run_terms_ = std::min(channels, kChannelBlock);
    step_.right_k_stride = wide_;
  }

  // One chunk of all rows, at one position.
  void position(int64_t y, int64_t x, int64_t k0, int64_t channels) {
    runs_.clear();
    const int64_t block_terms = run_terms_ * grid_.tap_count;
    for (int64_t first = 0, left = 0; first < channels; first += kChannelBlock, left += block_terms) {
      for (int64_t t = 0; t < grid_.tap_count; ++t) {
        const int64_t v = y * grid_.step_h + grid_.taps[t].y, h = x * grid_.step_w + grid_.taps[t].x;
        if (v < 0 || v >= grid_.plane_h || h < 0 || h >= grid_.plane_w) continue;
        const int64_t place = (v - first_row_) * grid_.plane_w + h;
        runs_.push_back({left + t * run_terms_, place * place_stride_ + first * wide_, run_terms_});
      }
    }
    step_.runs = runs_.data();
    step_.run_count = static_cast<int64_t>(runs_.size());
    for (int64_t b = 0; b < extent_.blocks; ++b) step_.windows[b] = copy_ + b * kernels_.lanes;
    const T* bias = p_.bias ? p_.bias + extent_.batch * p_.bias_batch_stride : nullptr;
    const int64_t at = (y - extent_.top) * grid_.grid_w + x;
    for (int64_t panel = extent_.first_panel; panel < extent_.last_panel; ++panel) {
      const Tile tile = tile_of(panel);
      step_.left = weights_ + tile.row * terms() + k0 * tile.rows;
      step_.block = totals_ + tile.offset + at * tile.rows * wide_;
      step_.result = results_ + tile.offset + at * tile.rows * wide_;
      step_.row_bias = bias ? bias + tile.row : nullptr;
      step_.c = step_.block;  // read before it is written
      step_.c_row_stride = wide_;
      step_.columns = wide_;
      kernels_.windows[extent_.blocks - 1][tile.rows - 1](step_);
    }
  }

  // The tiles of a panel lie one after another by position.
  struct Tile {
    int64_t row, rows, offset;
  };
  Tile tile_of(int64_t panel) const {
    const int64_t row = first_of(p_.m, panel, layout_.panels);
    return {row, first_of(p_.m, panel + 1, layout_.panels) - row, (row - row_) * positions_ * wide_};
  }

  // An image at a time: neighbouring places of many images lie in few sets of a cache.
  void store(int64_t panel) {
    const Tile tile = tile_of(panel);
    const int64_t lanes = kernels_.lanes;
    for (int64_t r = 0; r < tile.rows; ++r) {
      for (int64_t b = 0; b < extent_.blocks; ++b) {
        const int64_t images = std::min(lanes, images_ - b * lanes);
        const T* const tiles = totals_ + tile.offset + r * wide_ + b * lanes;
        for (int64_t at = 0; at < positions_; at += lanes) {
          const int64_t count = std::min(lanes, positions_ - at);
          kernels_.transpose(turned_ + at, turned_stride_, count, tiles + at * tile.rows * wide_, tile.rows * wide_,
                             count, images);
        }
        for (int64_t i = 0; i < images; ++i) store_image(tile.row + r, b * lanes + i, turned_ + i * turned_stride_);
      }
    }
  }

  void store_image(int64_t row, int64_t image, const T* from) {
    const product::Placement& o = p_.out;
    T* const to = p_.c + o.first + extent_.batch * o.batch_stride +
                  (extent_.first_block * kernels_.lanes + image) * o.image_stride + row * o.row_stride;
    if (o.lines == 1 && o.column_stride == 1) {
      std::copy_n(from, positions_, to + extent_.top * grid_.grid_w);
      return;
    }
    const int64_t line = o.lines == 1 ? grid_.grid_w * o.column_stride : o.line_stride;
    for (int64_t x = 0; x < grid_.grid_w; x += kernels_.lanes) {
      kernels_.copy_rows(from + x, grid_.grid_w, to + extent_.top * line + x * o.column_stride, line, o.column_stride,
                         extent_.bottom - extent_.top, std::min<int64_t>(kernels_.lanes, grid_.grid_w - x));
    }
  }

  const Table<T>& kernels_;
  const Problem<T>& p_;
  const product::WindowGrid& grid_;
  const ImageLayout<T>& layout_;
  const Extent extent_;
  const int64_t wide_;  // elements of a vector of images, all blocks
  int64_t row_, rows_, positions_, images_, chunk_count_, first_row_, last_row_, place_stride_, turned_stride_;
  const T* weights_;
  T *copy_, *turned_, *totals_, *results_;
  int64_t run_terms_ = 0;
  ScratchVector<TermRun> runs_;
  TileStep<T> step_{};
};

// All terms of a panel of rows one after another, a column of the panel for each.
template <class T>
const T* weight_panels(const KernelContext& ctx, const Table<T>& kernels, const Problem<T>& p, int64_t panels) {
  const int64_t terms = p.order.period, block_terms = kChannelBlock * p.right.grid.tap_count;
  T* const all =
      static_cast<T*>(scratch(Slot::kWeightPanels, static_cast<size_t>(p.batch * p.m * terms + 1) * sizeof(T)));
  const int64_t grain = 1 + (1 << 14) / std::max<int64_t>(1, terms * ceil_div(p.m, panels));
  ctx.pool->parallel_for(p.batch * panels, grain, [&](int64_t begin, int64_t end) {
    T* const block = static_cast<T*>(scratch(Slot::kPanels, static_cast<size_t>(kMaxRows * block_terms) * sizeof(T)));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / panels * p.m + first_of(p.m, i % panels, panels),
                    rows = i / panels * p.m + first_of(p.m, i % panels + 1, panels) - first;
      T* to = all + first * terms;
      for (int64_t channel = 0; channel < p.right.grid.channels; channel += kChannelBlock) {
        int64_t written = 0;
        for (int64_t r = 0; r < rows; ++r) {
          written = p.weights->write_block(kernels, first + r, channel, block + r * block_terms);
        }
        kernels.transpose(to, rows, rows, block, block_terms, rows, written);
        to += written * rows;
      }
    }
  });
  return all;
}

}  // namespace

template <class T>
double cost_by_images(const Table<T>& kernels, const Problem<T>& p) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const product::WindowGrid& grid = p.right.grid;
  if (p.right.kind != product::SideKind::kPositions || grid.tap_count < 2 || grid.channels == 0) return kNever;
  if (grid.channels > kChannelBlock && grid.channels % kChannelBlock != 0) return kNever;
  if (p.bias && !p.bias_per_row) return kNever;
  const ImageLayout<T> layout(kernels, p, 1);
  const int64_t rows = std::min(grid.plane_h, (layout.band_rows - 1) * grid.step_h + 1 + layout.reach_of(grid));
  if (rows * grid.plane_w * layout.place_bytes() > kMostLaidOut) return kNever;
  if (layout.total_bytes > 4 * kTotalBytes) return kNever;  // of lines that are long by padding alone
  int64_t met = 0;
  for (int64_t t = 0; t < grid.tap_count; ++t) {
    met += Met(0, grid.grid_h, grid.step_h, grid.taps[t].y, grid.plane_h).count() *
           Met(0, grid.grid_w, grid.step_w, grid.taps[t].x, grid.plane_w).count();
  }
  const auto area = static_cast<double>(grid.grid_h * grid.grid_w), taps = static_cast<double>(grid.tap_count);
  const auto fmas = static_cast<double>(p.m), channels = static_cast<double>(grid.channels);
  const double full = static_cast<double>(layout.blocks * layout.lanes) / static_cast<double>(layout.images);
  // A copied place serves the taps, once for every range of rows; outputs go through the caches once more, and those of
  // large images miss them.
  const double copies = static_cast<double>(layout.ranges * rows * layout.bands * grid.plane_w) / area;
  const double output = (area > 64 ? 120 : 60) * fmas / (taps * channels);
  return full * (1.04 * fmas * static_cast<double>(met) / (area * taps) + 50 * copies / taps + output);
}

// Over the outputs as they lie, all of them.
template <class T>
void end_outputs(const KernelContext& ctx, const Table<T>& kernels, const Problem<T>& p) {
  ctx.pool->parallel_for(p.batch * p.m * p.n, 1 << 14, [&](int64_t begin, int64_t end) {
    T* out = p.c + begin;
    kernels.end_rows(out, 0, p.addend_at(out), p.ending->relu, out, 0, 1, end - begin);
  });
}

template <class T>
void compute_by_images(const KernelContext& ctx, const Problem<T>& p) {
  const Table<T>& kernels = table_of<T>(ctx.isa);
  const ImageLayout<T> layout(kernels, p, ctx.pool->threads());
  const T* weights = weight_panels(ctx, kernels, p, layout.panels);
  const int64_t units = p.batch * layout.groups * layout.bands * layout.ranges;
  ctx.pool->parallel_for(units, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t range = unit % layout.ranges, band = unit / layout.ranges % layout.bands,
                    group = unit / (layout.ranges * layout.bands) % layout.groups,
                    batch = unit / (layout.ranges * layout.bands * layout.groups);
      const int64_t first = first_of(layout.blocks, group, layout.groups);
      Block<T>(kernels, p, layout, weights,
               {.batch = batch,
                .first_block = first,
                .blocks = first_of(layout.blocks, group + 1, layout.groups) - first,
                .top = first_of(p.right.grid.grid_h, band, layout.bands),
                .bottom = first_of(p.right.grid.grid_h, band + 1, layout.bands),
                .first_panel = first_of(layout.panels, range, layout.ranges),
                .last_panel = first_of(layout.panels, range + 1, layout.ranges)})
          .run();
    }
  });
  if (p.ending != nullptr) end_outputs(ctx, kernels, p);
}

template double cost_by_images(const Table<float>&, const Problem<float>&);
template double cost_by_images(const Table<double>&, const Problem<double>&);
template void compute_by_images(const KernelContext&, const Problem<float>&);
template void compute_by_images(const KernelContext&, const Problem<double>&);

}  // namespace isobit::kernels::gemm
