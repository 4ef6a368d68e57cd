// The images of a convolution as one side of a matrix product (im2col, made a block at a time). Internal.
//
// Both kinds describe a matrix of taps (channel, kh, kw) by positions (n, y, x): its element is that of the tensor
// [n, channels, height, width] which the tap meets at the position, or +0 where it meets none.
#pragma once

#include <vector>

#include "isobit/kernels/correct/conv.h"
#include "isobit/kernels/correct/operand.h"

namespace isobit::kernels::correct {

// Which row (or column) of the tensor tap t meets at position y; -1 for none.
struct Axis {
  int64_t taps, positions;
  std::vector<int32_t> source;  // [t * positions + y]
  // Forward: y * stride - pad + t * dilation, if inside.
  static Axis windows(int64_t taps, int64_t positions, int64_t extent, int64_t stride, int64_t pad, int64_t dilation);
  // The position whose window puts tap t on y, if there is one: (y + pad - t * dilation) / stride.
  static Axis adjoint(int64_t taps, int64_t positions, int64_t extent, int64_t stride, int64_t pad, int64_t dilation);
};

class WindowMatrix {
 public:
  // data: the first channel of the group in the first image; channels: of the group; all_channels: of the tensor.
  WindowMatrix(const float* data, int64_t images, int64_t channels, int64_t all_channels, int64_t height, int64_t width,
               Axis rows, Axis columns);

  int64_t positions() const { return images_ * rows_.positions * columns_.positions; }
  // Elements [first, last) of the row of tap `tap`; copy(n, from, to) copies n neighbours of the tensor.
  template <class T, class Copy>
  void row(int64_t tap, int64_t first, int64_t last, T* out, const Copy& copy) const;
  // Prepares position_squares, or tap_squares. The second is not worth it, and then returns false, where the windows
  // leave out much of the tensor, nor can it be used where an element is no finite number.
  void square_positions(const Steps& steps, ThreadPool& pool);
  bool square_taps(const Steps& steps, ThreadPool& pool);
  // out[q] = sum of squares of the column of position first + q.
  void position_squares(int64_t first, int64_t last, double* out) const;
  // At least the sum of squares of the row of `tap`: that of its channel.
  double tap_squares(int64_t tap) const { return squares_[static_cast<size_t>(tap / (rows_.taps * columns_.taps))]; }
  int64_t taps_per_channel() const { return rows_.taps * columns_.taps; }

  // The elements of all taps at a position.
  void column(int64_t position, float* out) const;

 private:
  template <class T, class Copy>
  void run(const float* line, int64_t kw, int64_t x, int64_t count, T* out, const Copy& copy) const;

  const float* data_;
  int64_t images_, channels_, image_stride_, height_, width_;
  Axis rows_, columns_;
  bool unit_step_;               // neighbours along x meet neighbours
  std::vector<double> squares_;  // [images, height, width], summed over channels; or [channels]
};

// Lines are positions, terms are taps.
class PositionsOperand final : public Operand {
 public:
  PositionsOperand(const CorrectContext& ctx, WindowMatrix& matrix, int64_t taps);
  bool k_contiguous() const override { return false; }
  void fill(const Steps& steps, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
            int64_t ld) const override;
  void pack(std::span<const int64_t> lines, float* out) const override;
  const float* direct(int64_t) const override { return nullptr; }
  bool knows_squares() const override { return knows_squares_; }
  void line_squares(int64_t first, int64_t last, double* out) const override {
    matrix_.position_squares(first, last, out);
  }

 private:
  const WindowMatrix& matrix_;
  int64_t taps_;
  bool knows_squares_;
};

// Lines are taps, terms are positions.
class TapsOperand final : public Operand {
 public:
  TapsOperand(const CorrectContext& ctx, WindowMatrix& matrix);
  bool k_contiguous() const override { return true; }
  void fill(const Steps& steps, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
            int64_t ld) const override;
  void pack(std::span<const int64_t> lines, float* out) const override;
  const float* direct(int64_t) const override { return nullptr; }
  bool knows_squares() const override { return knows_squares_; }
  void line_squares(int64_t first, int64_t last, double* out) const override {
    for (int64_t tap = first; tap < last; ++tap) *out++ = matrix_.tap_squares(tap);
  }

 private:
  const WindowMatrix& matrix_;
  bool knows_squares_;
};

}  // namespace isobit::kernels::correct
