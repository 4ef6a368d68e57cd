#include "isobit/kernels/correct/windows.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace isobit::kernels::correct {

Axis Axis::windows(int64_t taps, int64_t positions, int64_t extent, int64_t stride, int64_t pad, int64_t dilation) {
  Axis axis{taps, positions, {}};
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t y = 0; y < positions; ++y) {
      const int64_t at = y * stride - pad + t * dilation;
      axis.source.push_back(at >= 0 && at < extent ? static_cast<int32_t>(at) : -1);
    }
  }
  return axis;
}

Axis Axis::adjoint(int64_t taps, int64_t positions, int64_t extent, int64_t stride, int64_t pad, int64_t dilation) {
  Axis axis{taps, positions, {}};
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t y = 0; y < positions; ++y) {
      const int64_t at = y + pad - t * dilation;
      const bool meets = at >= 0 && at % stride == 0 && at / stride < extent;
      axis.source.push_back(meets ? static_cast<int32_t>(at / stride) : -1);
    }
  }
  return axis;
}

WindowMatrix::WindowMatrix(const float* data, int64_t images, int64_t channels, int64_t all_channels, int64_t height,
                           int64_t width, Axis rows, Axis columns)
    : data_(data),
      images_(images),
      channels_(channels),
      image_stride_(all_channels * height * width),
      height_(height),
      width_(width),
      rows_(std::move(rows)),
      columns_(std::move(columns)),
      unit_step_(true) {
  for (int64_t t = 0; t < columns_.taps; ++t) {
    const int32_t* at = columns_.source.data() + t * columns_.positions;
    int64_t previous = -1;
    for (int64_t x = 0; x < columns_.positions; ++x) {
      if (at[x] < 0) continue;
      if (previous >= 0 && (previous != x - 1 || at[x] != at[previous] + 1)) unit_step_ = false;
      previous = x;
    }
  }
}

void WindowMatrix::column(int64_t position, float* out) const {
  const int64_t area = rows_.positions * columns_.positions;
  const int64_t y = position % area / columns_.positions, x = position % columns_.positions;
  const float* plane = data_ + position / area * image_stride_;
  for (int64_t channel = 0; channel < channels_; ++channel, plane += height_ * width_) {
    for (int64_t kh = 0; kh < rows_.taps; ++kh) {
      const int64_t row = rows_.source[static_cast<size_t>(kh * rows_.positions + y)];
      for (int64_t kw = 0; kw < columns_.taps; ++kw) {
        const int64_t at = columns_.source[static_cast<size_t>(kw * columns_.positions + x)];
        *out++ = row >= 0 && at >= 0 ? plane[row * width_ + at] : 0.0f;
      }
    }
  }
}

void WindowMatrix::square_positions(const Steps& steps, ThreadPool& pool) {
  const int64_t area = height_ * width_;
  squares_.assign(static_cast<size_t>(images_ * area), 0.0);
  pool.parallel_for(images_, 16384 / (channels_ * area + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      steps.column_squares_f32(channels_, area, data_ + image * image_stride_, area, squares_.data() + image * area);
    }
  });
}

bool WindowMatrix::square_taps(const Steps& steps, ThreadPool& pool) {
  const int64_t area = height_ * width_;
  if (rows_.positions * columns_.positions < area / 2) return false;
  squares_.assign(static_cast<size_t>(channels_), 0.0);
  pool.parallel_for(channels_, 16384 / (images_ * area + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t image = 0; image < images_; ++image) {
      const float* channels = data_ + image * image_stride_;
      for (int64_t c = begin; c < end; ++c) {
        squares_[static_cast<size_t>(c)] += steps.squares_f32(area, channels + c * area);
      }
    }
  });
  return std::all_of(squares_.begin(), squares_.end(), [](double x) { return std::isfinite(x); });
}

void WindowMatrix::position_squares(int64_t first, int64_t last, double* out) const {
  int64_t x = first % columns_.positions, y = first / columns_.positions % rows_.positions;
  int64_t image = first / (columns_.positions * rows_.positions);
  for (int64_t count; first < last; first += count, out += count, x = 0, ++y) {
    if (y == rows_.positions) {
      y = 0;
      ++image;
    }
    count = std::min(last - first, columns_.positions - x);
    std::fill(out, out + count, 0.0);
    for (int64_t kh = 0; kh < rows_.taps; ++kh) {
      const int64_t source = rows_.source[static_cast<size_t>(kh * rows_.positions + y)];
      if (source < 0) continue;
      const double* line = squares_.data() + (image * height_ + source) * width_;
      for (int64_t kw = 0; kw < columns_.taps; ++kw) {
        const int32_t* at = columns_.source.data() + kw * columns_.positions + x;
        int64_t begin = 0, end = count;
        while (begin < end && at[begin] < 0) ++begin;
        while (end > begin && at[end - 1] < 0) --end;
        if (unit_step_) {
          const double* from = line + (begin < end ? at[begin] : 0) - begin;
          for (int64_t q = begin; q < end; ++q) out[q] += from[q];
        } else {
          for (int64_t q = begin; q < end; ++q) out[q] += at[q] >= 0 ? line[at[q]] : 0.0;
        }
      }
    }
  }
}

// Positions [x, x + count) of one line of the tensor.
template <class T, class Copy>
void WindowMatrix::run(const float* line, int64_t kw, int64_t x, int64_t count, T* out, const Copy& copy) const {
  const int32_t* at = columns_.source.data() + kw * columns_.positions + x;
  if (!unit_step_) {
    for (int64_t q = 0; q < count; ++q) out[q] = at[q] >= 0 ? static_cast<T>(line[at[q]]) : T{0};
    return;
  }
  int64_t begin = 0, end = count;
  while (begin < end && at[begin] < 0) out[begin++] = 0;
  while (end > begin && at[end - 1] < 0) out[--end] = 0;
  if (begin < end) copy(end - begin, line + at[begin], out + begin);
}

template <class T, class Copy>
void WindowMatrix::row(int64_t tap, int64_t first, int64_t last, T* out, const Copy& copy) const {
  const int64_t kw = tap % columns_.taps, kh = tap / columns_.taps % rows_.taps;
  const int64_t channel = tap / (columns_.taps * rows_.taps);
  int64_t x = first % columns_.positions, y = first / columns_.positions % rows_.positions;
  int64_t image = first / (columns_.positions * rows_.positions);
  while (first < last) {
    const int64_t count = std::min(last - first, columns_.positions - x);
    const int64_t source = rows_.source[static_cast<size_t>(kh * rows_.positions + y)];
    if (source < 0) {
      std::fill(out, out + count, T{0});
    } else {
      const float* line = data_ + image * image_stride_ + (channel * height_ + source) * width_;
      run(line, kw, x, count, out, copy);
    }
    first += count;
    out += count;
    x = 0;
    if (++y == rows_.positions) {
      y = 0;
      ++image;
    }
  }
}

// With few taps a channel or few channels, adding up what is laid out anyway is as fast.
PositionsOperand::PositionsOperand(const CorrectContext& ctx, WindowMatrix& matrix, int64_t taps)
    : matrix_(matrix),
      taps_(taps),
      knows_squares_(matrix.taps_per_channel() >= 4 && taps >= 4 * matrix.taps_per_channel()) {
  if (knows_squares_) matrix.square_positions(steps_of(ctx.kernel.isa), *ctx.kernel.pool);
}

TapsOperand::TapsOperand(const CorrectContext& ctx, WindowMatrix& matrix)
    : matrix_(matrix),
      knows_squares_(matrix.taps_per_channel() >= 4 && matrix.square_taps(steps_of(ctx.kernel.isa), *ctx.kernel.pool)) {
}

void PositionsOperand::fill(const Steps& steps, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
                            int64_t ld) const {
  for (int64_t l = l0; l < l1; ++l) matrix_.row(l, first, last, out + (l - l0) * ld, steps.widen);
}

void PositionsOperand::pack(std::span<const int64_t> lines, float* out) const {
  for (const int64_t line : lines) {
    matrix_.column(line, out);
    out += taps_;
  }
}

void TapsOperand::fill(const Steps& steps, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
                       int64_t ld) const {
  for (int64_t line = first; line < last; ++line) matrix_.row(line, l0, l1, out + (line - first) * ld, steps.widen);
}

void TapsOperand::pack(std::span<const int64_t> lines, float* out) const {
  const auto copy = [](int64_t n, const float* from, float* to) { std::copy(from, from + n, to); };
  for (const int64_t line : lines) {
    matrix_.row(line, 0, matrix_.positions(), out, copy);
    out += matrix_.positions();
  }
}

}  // namespace isobit::kernels::correct
