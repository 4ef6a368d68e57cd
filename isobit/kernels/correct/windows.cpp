#include "isobit/kernels/correct/windows.h"

#include <algorithm>
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
