// The lines of an inner product's operands: output (i, j) is the sum over l of element l of line i of the left side
// times element l of line j of the right side. A line is given by where its elements lie in the operand.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/kernels/context.h"
#include "isobit/kernels/conv/conv.h"

namespace isobit::runtime {

// Which place of a plane the taps of a window meet, one direction of it.
struct WindowAxis {
  int64_t taps = 1, extent = 1, outputs = 1, stride = 1, pad = 0, dilation = 1;
  // The place of the image that tap t meets at output position y; -1 for none.
  int64_t meets(int64_t t, int64_t y) const {
    const int64_t at = y * stride - pad + t * dilation;
    return at >= 0 && at < extent ? at : -1;
  }
  // The output position at which tap t meets the place `at`; -1 for none.
  int64_t met_from(int64_t t, int64_t at) const {
    const int64_t y = at + pad - t * dilation;
    return y >= 0 && y % stride == 0 && y / stride < outputs ? y / stride : -1;
  }
};

// Elements are taken from planes of `channels` channels of `images` images through a window with `taps` taps: position
// p and tap t of a channel's plane give one element, or zero outside of it.
struct Windows {
  WindowAxis rows, columns;
  bool backward = false;  // positions are those of the image, elements those of the output
  int64_t images = 0, image_stride = 0, channels = 0;

  int64_t taps() const { return rows.taps * columns.taps; }
  int64_t height() const { return backward ? rows.extent : rows.outputs; }  // of the positions
  int64_t width() const { return backward ? columns.extent : columns.outputs; }
  int64_t positions() const { return height() * width(); }
  int64_t plane_height() const { return backward ? rows.outputs : rows.extent; }
  int64_t plane_width() const { return backward ? columns.outputs : columns.extent; }
  int64_t plane() const { return plane_height() * plane_width(); }
  int64_t row(int64_t t, int64_t y) const { return backward ? rows.met_from(t, y) : rows.meets(t, y); }
  int64_t column(int64_t t, int64_t x) const { return backward ? columns.met_from(t, x) : columns.meets(t, x); }
};

class Lines {
 public:
  Lines() = default;
  // Element l of a line is data[line * line_stride + l / run * group_stride + l % run].
  static Lines grouped(const double* data, int64_t lines, int64_t k, int64_t line_stride, int64_t run,
                       int64_t group_stride);
  static Lines strided(const double* data, int64_t lines, int64_t k, int64_t line_stride, int64_t k_stride) {
    return k_stride == 1 ? grouped(data, lines, k, line_stride, k > 0 ? k : 1, 0)
                         : grouped(data, lines, k, line_stride, 1, k_stride);
  }
  // Line (image, position), element (channel, tap): what one position of the window sees.
  static Lines windows(const double* data, const Windows& windows);
  // Line (channel, tap), element (image, position): what one tap of the window sees.
  static Lines taps(const double* data, const Windows& windows);

  int64_t count() const { return count_; }
  int64_t k() const { return k_; }
  // The k elements of a line.
  void read(int64_t line, double* to) const;
  // Makes ready what read() of the line will need.
  void prefetch(int64_t line) const;

  // Where element l of any line lies: for looking at the same elements of many lines.
  struct Place {
    int64_t offset = 0;
    int32_t row = 0, column = 0;
  };
  Place place(int64_t l) const;
  // to[q] = the element of the line at places[q].
  void gather(int64_t line, const std::vector<Place>& places, double* to) const;
  // For each line a number that is at least its 2-norm, but for 2^-20 of it, and zero if all its elements are.
  std::vector<double> norm_bounds(const kernels::KernelContext& ctx) const;

 private:
  enum class Kind { kGrouped, kWindows, kTaps };
  std::vector<double> grouped_norms(const kernels::KernelContext& ctx) const;
  std::vector<double> window_norms(const kernels::KernelContext& ctx) const;
  std::vector<double> channel_norms(const kernels::KernelContext& ctx) const;

  Kind kind_ = Kind::kGrouped;
  const double* data_ = nullptr;  // of the operand
  int64_t count_ = 0, k_ = 0;
  int64_t line_stride_ = 0, run_ = 1, group_stride_ = 0;
  Windows windows_;
};

}  // namespace isobit::runtime
