#include "isobit/kernels/matmul/taps.h"

#include <algorithm>
#include <limits>

#include "isobit/kernels/conv/missing_taps.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/matmul/tiling.h"

namespace isobit::kernels::gemm {
namespace {

// Of a unit's running totals, so that they stay in a second-level cache. Found by measurement, free to change.
constexpr int64_t kUnitTotalsBytes = 640 << 10;
// Of a chunk, which is a whole line at least, and of all its runs: what is larger goes another way.
constexpr int64_t kMostTerms = 4096, kRunBytes = 640 << 10;

// How channels and columns, which are the output channels, are cut.
template <class T>
struct Layout {
  Width width;             // of a tile; its cost is of a term of all, under one tap
  int64_t groups, panels;  // of columns, a tile wide; of channels
  int64_t ranges;          // of panels
  int64_t total_bytes;     // of a unit, at most

  Layout(const Table<T>& kernels, const Problem<T>& p, int64_t threads) {
    const product::WindowGrid& grid = p.right.grid;
    width = best_width(kernels, grid.channels, p.m);
    groups = ceil_div(ceil_div(p.m, kernels.lanes), width.vectors);
    const int64_t most_rows = kernels.max_rows[width.vectors - 1];
    panels = ceil_div(grid.channels, most_rows);
    const int64_t row_bytes = grid.tap_count * width.vectors * kernels.lanes * static_cast<int64_t>(sizeof(T));
    const int64_t wanted =
        std::max(ceil_div(grid.channels * row_bytes, kUnitTotalsBytes), ceil_div(2 * threads, p.batch * groups));
    ranges = std::clamp<int64_t>(wanted, 1, panels);
    total_bytes = std::min(grid.channels, ceil_div(panels, ranges) * most_rows) * row_bytes;
  }
};

// Some output channels and some channels, through all chunks.
template <class T>
class Unit {
 public:
  struct Extent {
    int64_t batch, column, columns, first_panel, last_panel;
  };

  Unit(const Table<T>& kernels, const Problem<T>& p, const Layout<T>& layout, const Extent& e)
      : kernels_(kernels), p_(p), grid_(p.right.grid), layout_(layout), extent_(e) {
    vectors_ = ceil_div(e.columns, kernels.lanes);
    wide_ = vectors_ * kernels.lanes;
    channel_ = first_of(grid_.channels, e.first_panel, layout.panels);
    channels_ = first_of(grid_.channels, e.last_panel, layout.panels) - channel_;
    chunk_count_ = p.order.periods * p.order.chunks_of_period();
    const int64_t terms = std::min(p.order.period, p.order.chunk), totals = channels_ * grid_.tap_count * wide_;
    const int64_t all = terms * wide_ + kMaxRows * terms + totals * (chunk_count_ > kChunksPerBlock ? 2 : 1);
    panel_ = static_cast<T*>(scratch(Slot::kPanels, static_cast<size_t>(all) * sizeof(T)));
    totals_ = panel_ + terms * wide_;
    results_ = totals_ + totals;
    zeroed_ = panel_ + all - kMaxRows * terms;
    right_ = p.right;
    right_.data += e.batch * p.right.batch_stride;
    left_ = p.left;
    left_.data += e.batch * p.left.batch_stride;
  }

  void run() {
    const int64_t per_period = p_.order.chunks_of_period();
    for (int64_t chunk = 0; chunk < chunk_count_; ++chunk) {
      const int64_t begin = chunk % per_period * p_.order.chunk;
      const int64_t k0 = chunk / per_period * p_.order.period + begin;
      const int64_t terms = std::min(p_.order.chunk, p_.order.period - begin);
      kernels_.pack(left_, panel_, nullptr, wide_, extent_.column, extent_.columns, k0, terms);
      const bool skips = may_skip_missing_taps(panel_, terms * wide_);
      begin_chunk(step_, chunk, chunk_count_);
      step_.right_k_stride = wide_;
      step_.columns = wide_;
      for (int64_t v = 0; v < vectors_; ++v) step_.windows[v] = panel_ + v * kernels_.lanes;
      runs_.clear();
      first_run_.assign(1, 0);
      for (int64_t t = 0; t < grid_.tap_count; ++t) add_runs(grid_.taps[t], k0, terms, skips);
      for (int64_t panel = extent_.first_panel; panel < extent_.last_panel; ++panel) {
        for (int64_t t = 0; t < grid_.tap_count; ++t) tile(panel, t, k0, terms, skips);
      }
    }
  }

 private:
  // The places that the next tap meets in a chunk, which is some lines of an image or some images.
  void add_runs(const product::Tap& tap, int64_t k0, int64_t terms, bool skips) {
    const auto first = static_cast<size_t>(first_run_.back());
    skips ? add_runs_met(tap, k0, terms, first) : runs_.push_back({0, 0, terms});
    first_run_.push_back(static_cast<int64_t>(runs_.size()));
  }

  void add_runs_met(const product::Tap& tap, int64_t k0, int64_t terms, size_t first) {
    const int64_t area = grid_.grid_h * grid_.grid_w;
    const Met x(0, grid_.grid_w, 1, tap.x, grid_.plane_w);
    for (int64_t k = k0; k < k0 + terms;) {
      const int64_t image = k / area, top = k % area / grid_.grid_w;
      const int64_t bottom = std::min(grid_.grid_h, top + (k0 + terms - k) / grid_.grid_w);
      const Met y(top, bottom, grid_.step_h, tap.y, grid_.plane_h);
      for (int64_t v = y.begin; v < y.end && x.count() > 0; ++v) {
        const int64_t place = (v * grid_.step_h + tap.y) * grid_.plane_w + x.begin + tap.x;
        const TermRun run = {image * grid_.image_stride + place, (k - k0 + (v - top) * grid_.grid_w + x.begin) * wide_,
                             x.count()};
        // Whole lines of the plane are one run.
        TermRun* const last = first < runs_.size() ? &runs_.back() : nullptr;
        if (last && last->left + last->terms == run.left && last->right + last->terms * wide_ == run.right) {
          last->terms += run.terms;
        } else {
          runs_.push_back(run);
        }
      }
      k += (bottom - top) * grid_.grid_w;
    }
  }

  void tile(int64_t panel, int64_t t, int64_t k0, int64_t terms, bool skips) {
    const int64_t first = first_of(grid_.channels, panel, layout_.panels),
                  rows = first_of(grid_.channels, panel + 1, layout_.panels) - first;
    const int64_t* const run = first_run_.data() + t;
    step_.runs = runs_.data() + run[0];
    step_.run_count = run[1] - run[0];
    step_.left = right_.data + first * grid_.channel_stride;
    step_.left_row_stride = grid_.channel_stride;
    if (!skips) put_zeros(first, rows, t, k0, terms);
    const int64_t totals = ((first - channel_) * grid_.tap_count + t * rows) * wide_;
    step_.block = totals_ + totals;
    step_.result = results_ + totals;
    alignas(64) T made[kMaxRows * kMaxWidth];
    step_.c = made;
    step_.c_row_stride = kMaxWidth;
    kernels_.taps[vectors_ - 1][rows - 1](step_);
    if (!step_.last) return;
    T* const out = p_.c + p_.out.first + extent_.batch * p_.out.batch_stride;
    for (int64_t r = 0; r < rows; ++r) {
      T* const to = out + p_.out.column((first + r) * grid_.tap_count + t);
      for (int64_t j = 0; j < extent_.columns; ++j)
        to[(extent_.column + j) * p_.out.row_stride] = made[r * kMaxWidth + j];
    }
  }

  // The rows of a tile with +0 where the tap meets no place.
  void put_zeros(int64_t channel, int64_t rows, int64_t t, int64_t k0, int64_t terms) {
    const product::Tap& tap = grid_.taps[t];
    for (int64_t k = 0; k < terms; ++k) {
      const int64_t line = (k0 + k) / grid_.grid_w, image = line / grid_.grid_h;
      const int64_t y = line % grid_.grid_h * grid_.step_h + tap.y, x = (k0 + k) % grid_.grid_w + tap.x;
      const bool is_met = y >= 0 && y < grid_.plane_h && x >= 0 && x < grid_.plane_w;
      const int64_t at = image * grid_.image_stride + channel * grid_.channel_stride + y * grid_.plane_w + x;
      for (int64_t r = 0; r < rows; ++r) {
        zeroed_[r * terms + k] = is_met ? right_.data[at + r * grid_.channel_stride] : T(0);
      }
    }
    step_.left = zeroed_;
    step_.left_row_stride = terms;
  }

  const Table<T>& kernels_;
  const Problem<T>& p_;
  const product::WindowGrid& grid_;
  const Layout<T>& layout_;
  const Extent extent_;
  Operand<T> left_, right_;
  int64_t vectors_, wide_, channel_, channels_, chunk_count_;
  T *panel_, *totals_, *results_, *zeroed_;
  ScratchVector<TermRun> runs_;
  ScratchVector<int64_t> first_run_;  // by tap, and the end
  TileStep<T> step_{};
};

}  // namespace

template <class T>
double cost_by_taps(const Table<T>& kernels, const Problem<T>& p) {
  const product::WindowGrid& grid = p.right.grid;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (p.right.kind != product::SideKind::kTaps || p.bias || grid.tap_count < 2 || grid.step_w != 1 ||
      grid.channels == 0 || p.order.terms() == 0)
    return kNever;
  const int64_t longest = std::min(p.order.period, p.order.chunk);
  const int64_t runs = grid.tap_count * ceil_div(longest, grid.grid_w);
  if (longest > kMostTerms || runs > kRunBytes / static_cast<int64_t>(sizeof(TermRun))) return kNever;
  const Layout<T> layout(kernels, p, 1);
  if (layout.total_bytes > 4 * kUnitTotalsBytes) return kNever;
  double terms = 0, lines = 0;
  for (int64_t t = 0; t < grid.tap_count; ++t) {
    const Met y(0, grid.grid_h, grid.step_h, grid.taps[t].y, grid.plane_h),
        x(0, grid.grid_w, 1, grid.taps[t].x, grid.plane_w);
    if (y.count() == 0 || x.count() == 0) continue;
    const bool is_whole = grid.step_h == 1 && x.count() == grid.plane_w;
    lines += is_whole ? 1 : static_cast<double>(y.count());
    terms += static_cast<double>(y.count() * x.count());
  }
  const auto area = static_cast<double>(grid.grid_h * grid.grid_w);
  const auto tiles = static_cast<double>(layout.panels * layout.groups);
  const auto sums = static_cast<double>(p.m * grid.channels * grid.tap_count);
  // By measurement, free to change. A run begins anew, the panel is laid out for every range of channels, and sums are
  // stored one by one.
  return 1.04 * layout.width.cost * terms / area + 40 * tiles * lines / area +
         0.4 * static_cast<double>(p.m * layout.ranges) + 1.5 * sums / static_cast<double>(p.order.terms());
}

template <class T>
void compute_by_taps(const KernelContext& ctx, const Problem<T>& p) {
  const Table<T>& kernels = table_of<T>(ctx.isa);
  const Layout<T> layout(kernels, p, ctx.pool->threads());
  const int64_t blocks = ceil_div(p.m, kernels.lanes);
  ctx.pool->parallel_for(p.batch * layout.groups * layout.ranges, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t range = unit % layout.ranges, group = unit / layout.ranges % layout.groups;
      const int64_t first = first_of(blocks, group, layout.groups) * kernels.lanes,
                    last = std::min(p.m, first_of(blocks, group + 1, layout.groups) * kernels.lanes);
      Unit<T>(kernels, p, layout,
              {.batch = unit / (layout.ranges * layout.groups),
               .column = first,
               .columns = last - first,
               .first_panel = first_of(layout.panels, range, layout.ranges),
               .last_panel = first_of(layout.panels, range + 1, layout.ranges)})
          .run();
    }
  });
}

template double cost_by_taps(const Table<float>&, const Problem<float>&);
template double cost_by_taps(const Table<double>&, const Problem<double>&);
template void compute_by_taps(const KernelContext&, const Problem<float>&);
template void compute_by_taps(const KernelContext&, const Problem<double>&);

}  // namespace isobit::kernels::gemm
