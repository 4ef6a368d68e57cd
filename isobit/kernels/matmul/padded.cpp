#include "isobit/kernels/matmul/padded.h"

#include <algorithm>
#include <limits>

#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/matmul/tiling.h"

namespace isobit::kernels::gemm {
namespace {

// Of an image, for a chunk: it has to stay in a cache from one tap to the next.
constexpr int64_t kMostPadded = 4 << 20;
constexpr int64_t kMostStep = 4;

// Which phase a tap meets along one axis, and its displacement there.
struct AxisTap {
  int64_t phase, place;
  AxisTap(int64_t tap, int64_t step) : phase((tap % step + step) % step), place((tap - phase) / step) {}
};

// Where taps lie, from the least to the greatest displacement, and how many phases they meet.
struct Span {
  int64_t least_y = 0, least_x = 0, height = 0, width = 0, phases = 0;

  explicit Span(const product::WindowGrid& grid) {
    int64_t most_y = INT64_MIN, most_x = INT64_MIN;
    least_y = least_x = INT64_MAX;
    bool is_met[kMostStep * kMostStep] = {};
    for (int64_t t = 0; t < grid.tap_count; ++t) {
      const AxisTap y(grid.taps[t].y, grid.step_h), x(grid.taps[t].x, grid.step_w);
      least_y = std::min(least_y, y.place), most_y = std::max(most_y, y.place);
      least_x = std::min(least_x, x.place), most_x = std::max(most_x, x.place);
      bool& met = is_met[y.phase * kMostStep + x.phase];
      phases += met ? 0 : 1;
      met = true;
    }
    height = most_y - least_y, width = most_x - least_x;
  }
};

// Vectors of an image: by rows, and from end to end of a plane whose rows are `width` apart.
struct Count {
  int64_t by_rows, end_to_end, terms;

  Count(const product::WindowGrid& grid, int64_t width, int64_t lanes)
      : by_rows(grid.grid_h * ceil_div(grid.grid_w, lanes)),
        end_to_end(ceil_div((grid.grid_h - 1) * width + grid.grid_w, lanes)),
        terms(grid.tap_count * grid.channels) {}

  // From end to end outputs go through a copy.
  bool rows_are_better() const { return by_rows * (terms + 8) <= end_to_end * (terms + 16); }
  int64_t vectors() const { return rows_are_better() ? by_rows : end_to_end; }
};

}  // namespace

// Half cycles of one element of a vector of positions, by measurement, free to change. Packing costs some for the
// element, more where it has to gather them, and some for the tap, which its channels share; outputs that are no
// neighbours are stored one by one. Without packing vectors cross cache lines, some lanes are no positions, and outputs
// that are not neighbours are copied once more.
template <class T>
double Padded<T>::cost_of_packing(const Operand<T>& op, int64_t rows, bool dense_outputs) {
  const auto fmas = static_cast<double>(rows), channels = std::max(1.0, static_cast<double>(op.grid.channels));
  const double taps = std::max(1.0, static_cast<double>(op.grid.tap_count));
  return 1.05 * fmas + 12 + 40 / std::min(channels, 16.0) + (op.grid.step_w > 1 ? 25 : 0) +
         (dense_outputs ? 0 : 96 * fmas / (taps * channels));
}

template <class T>
double Padded<T>::cost(const Operand<T>& op, int64_t lanes, int64_t rows) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const product::WindowGrid& grid = op.grid;
  if (op.kind != product::SideKind::kPositions || grid.tap_count < 2) return kNever;
  if (grid.step_h > kMostStep || grid.step_w > kMostStep) return kNever;
  if (grid.channels > kChannelBlock && grid.channels % kChannelBlock != 0) return kNever;
  const int64_t positions = grid.grid_h * grid.grid_w;
  const Span span(grid);
  if (positions == 0 || grid.channels == 0 || span.height > 2 * grid.grid_h + 16 || span.width > 2 * grid.grid_w + 16)
    return kNever;
  const Count count(grid, grid.grid_w + span.width, lanes);
  const int64_t of_chunk = std::min(grid.channels, channel_blocks_per_chunk(grid.tap_count) * kChannelBlock);
  const int64_t copied = of_chunk * span.phases * (grid.grid_h + span.height) * (grid.grid_w + span.width);
  if (copied > kMostPadded / static_cast<int64_t>(sizeof(T))) return kNever;
  const auto fmas = static_cast<double>(rows), channels = static_cast<double>(grid.channels);
  const double wide = static_cast<double>(count.vectors() * lanes) / static_cast<double>(positions);
  const double pieces = count.rows_are_better() ? 0 : 1 + static_cast<double>(lanes) / static_cast<double>(grid.grid_w);
  // An element of a phase is copied for fewer taps, and from places that are no neighbours.
  const bool has_step = grid.step_h != 1 || grid.step_w != 1;
  const double copies = has_step ? 4 + 120 * static_cast<double>(span.phases) / static_cast<double>(grid.tap_count) : 4;
  return copies + 1.09 * fmas * wide + 6 * fmas * pieces / (static_cast<double>(grid.tap_count) * channels);
}

template <class T>
Padded<T>::Padded(const Operand<T>& op, int64_t lanes)
    : lanes_(lanes), grid_h_(op.grid.grid_h), grid_w_(op.grid.grid_w) {
  const Span span(op.grid);
  first_y_ = span.least_y, first_x_ = span.least_x;
  height_ = grid_h_ + span.height, width_ = grid_w_ + span.width;
  reach_ = span.height * width_ + span.width;
  // The last vector reads beyond the plane.
  phase_size_ = ceil_div(height_ * width_ + lanes, lanes) * lanes;
  const Count count(op.grid, width_, lanes);
  if (count.rows_are_better()) row_vectors_ = ceil_div(grid_w_, lanes);
  vectors_ = count.vectors();
  for (int64_t t = 0; t < op.grid.tap_count; ++t) {
    const AxisTap y(op.grid.taps[t].y, op.grid.step_h), x(op.grid.taps[t].x, op.grid.step_w);
    const auto same = [&](const Phase& p) { return p.y == y.phase && p.x == x.phase; };
    const auto phase = std::find_if(phases_.begin(), phases_.end(), same) - phases_.begin();
    if (phase == static_cast<int64_t>(phases_.size())) phases_.push_back({y.phase, x.phase});
    displacements_.push_back(phase * phase_size_ + (y.place - first_y_) * width_ + x.place - first_x_);
  }
  plane_ = static_cast<int64_t>(phases_.size()) * phase_size_;
}

template <class T>
void Padded<T>::runs(int64_t channels, ScratchVector<TermRun>& runs) const {
  runs.clear();
  const int64_t terms = std::min(channels, kChannelBlock);
  for (int64_t block = 0; block < channels; block += kChannelBlock) {
    for (const int64_t d : displacements_) {
      runs.push_back({static_cast<int64_t>(runs.size()) * terms, block * plane_ + d, terms});
    }
  }
}

template <class T>
int64_t Padded<T>::offset_of(int64_t vector) const {
  const int64_t v = vector % vectors_;
  return row_vectors_ > 0 ? v / row_vectors_ * width_ + v % row_vectors_ * lanes_ : v * lanes_;
}

template <class T>
void Padded<T>::fill(const Table<T>& kernels, const Operand<T>& op, int64_t first, int64_t last, int64_t channel,
                     int64_t channels, T* to) const {
  const product::WindowGrid& grid = op.grid;
  for (int64_t image = image_of(first); image <= image_of(last - 1); ++image, to += channels * plane_) {
    const int64_t begin = std::max(first, image * vectors_), end = std::min(last, (image + 1) * vectors_) - 1;
    const int64_t top = offset_of(begin) / width_, bottom = (offset_of(end) + lanes_ - 1 + reach_) / width_ + 1;
    for (int64_t c = 0; c < channels; ++c) {
      const T* plane = op.data + image * grid.image_stride + (channel + c) * grid.channel_stride;
      T* copy = to + c * plane_;
      for (const Phase& phase : phases_) {
        fill_phase(kernels, grid, phase, plane, top, bottom, copy);
        copy += phase_size_;
      }
    }
  }
}

// The rows [top, bottom) of a copy, and what is behind the last one if that is among them.
template <class T>
void Padded<T>::fill_phase(const Table<T>& kernels, const product::WindowGrid& grid, const Phase& phase, const T* plane,
                           int64_t top, int64_t bottom, T* copy) const {
  const int64_t height = ceil_div(std::max<int64_t>(0, grid.plane_h - phase.y), grid.step_h),
                width = ceil_div(std::max<int64_t>(0, grid.plane_w - phase.x), grid.step_w);
  const int64_t before = std::min(width_, std::max<int64_t>(0, -first_x_));
  const int64_t from_x = first_x_ + before;  // the element of the phase behind the border
  const int64_t inside = std::max<int64_t>(0, std::min(width_ - before, width - from_x));
  const int64_t end_row = std::min(bottom, height_);
  // Rows of the copy that lie on rows of the phase: [in, out).
  const int64_t in = std::clamp<int64_t>(-first_y_, top, end_row), out = std::clamp(height - first_y_, in, end_row);
  std::fill(copy + top * width_, copy + in * width_, T(0));
  kernels.pad_rows(plane + ((in + first_y_) * grid.step_h + phase.y) * grid.plane_w + from_x * grid.step_w + phase.x,
                   grid.step_h * grid.plane_w, grid.step_w, before, inside, copy + in * width_, width_, out - in);
  std::fill(copy + out * width_, bottom > height_ ? copy + phase_size_ : copy + end_row * width_, T(0));
}

template <class T>
int64_t Padded<T>::pieces(int64_t vector, Piece* pieces) const {
  const int64_t start = image_of(vector) * grid_h_ * grid_w_, v = vector % vectors_;
  if (row_vectors_ > 0) {
    const int64_t y = v / row_vectors_, x = v % row_vectors_ * lanes_;
    pieces[0] = {0, std::min(lanes_, grid_w_ - x), start + y * grid_w_ + x};
    return 1;
  }
  int64_t count = 0, y = v * lanes_ / width_, x = v * lanes_ % width_;
  for (int64_t lane = 0; lane < lanes_ && y < grid_h_; ++y, x = 0) {
    const int64_t wide = std::min(lanes_ - lane, width_ - x);
    if (x < grid_w_) pieces[count++] = {lane, std::min(wide, grid_w_ - x), start + y * grid_w_ + x};
    lane += wide;
  }
  return count;
}

template class Padded<float>;
template class Padded<double>;

}  // namespace isobit::kernels::gemm
