#include "isobit/kernels/quantized/integer_products.h"

#include <algorithm>
#include <cmath>

#include "isobit/base/scratch.h"
#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/reduce/parallel.h"

namespace isobit::kernels {
namespace {

// Lines of a block, and elements of a line that are laid out at a time. A number less its zero point is at most 255 in
// magnitude, so that kDepth products are far from 2^31.
constexpr int64_t kLeft = 64, kRight = 64, kDepth = 2048;

int32_t dot(const int16_t* a, const int16_t* b, int64_t n) {
  int32_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<int32_t>(a[i]) * static_cast<int32_t>(b[i]);
  return sum;
}

int32_t wrapping_add(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

struct Sizes {
  int64_t matrices, left, right, depth;
};

// put(matrix, i, j, sum) for line i of the left and line j of the right side of each matrix. read_left(matrix, line,
// begin, end, to) lays out elements of a line, less the zero point; read_right likewise.
template <class Left, class Right, class Put>
void sum_products(const KernelContext& ctx, const Sizes& s, Left read_left, Right read_right, Put put) {
  const int64_t down = (s.left + kLeft - 1) / kLeft, across = (s.right + kRight - 1) / kRight;
  parallel_items(
      ctx, s.matrices * down * across, kLeft * kRight * std::max<int64_t>(s.depth, 1), [&](int64_t begin, int64_t end) {
        ScratchVector<int16_t> left(static_cast<size_t>(kLeft * kDepth)), right(static_cast<size_t>(kRight * kDepth));
        ScratchVector<int32_t> sums(static_cast<size_t>(kLeft * kRight));
        for (int64_t block = begin; block < end; ++block) {
          const int64_t matrix = block / (down * across), i0 = block / across % down * kLeft,
                        j0 = block % across * kRight;
          const int64_t m = std::min(kLeft, s.left - i0), n = std::min(kRight, s.right - j0);
          std::fill(sums.begin(), sums.end(), 0);
          for (int64_t k = 0; k < s.depth; k += kDepth) {
            const int64_t last = std::min(s.depth, k + kDepth);
            for (int64_t i = 0; i < m; ++i) read_left(matrix, i0 + i, k, last, left.data() + i * kDepth);
            for (int64_t j = 0; j < n; ++j) read_right(matrix, j0 + j, k, last, right.data() + j * kDepth);
            for (int64_t i = 0; i < m; ++i) {
              for (int64_t j = 0; j < n; ++j) {
                int32_t& sum = sums[static_cast<size_t>(i * kRight + j)];
                sum = wrapping_add(sum, dot(left.data() + i * kDepth, right.data() + j * kDepth, last - k));
              }
            }
          }
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) put(matrix, i0 + i, j0 + j, sums[static_cast<size_t>(i * kRight + j)]);
          }
        }
      });
}

// `count` elements from `first` on, `step` apart, less the zero point.
void read_line(const ByteOperand& operand, int64_t first, int64_t step, int64_t count, int32_t zero, int16_t* to) {
  const auto read = [&](const auto* from) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<int16_t>(static_cast<int32_t>(from[first + i * step]) - zero);
    }
  };
  if (operand.is_signed) {
    read(static_cast<const int8_t*>(operand.data));
  } else {
    read(static_cast<const uint8_t*>(operand.data));
  }
}

// Where a sum goes that becomes an 8-bit integer.
template <class T>
class Rescaling {
 public:
  explicit Rescaling(const Requantised<T>& out) : out_(out) {}

  // left, right: numbers of the matrices whose lines i and j are.
  void put(int64_t place, int32_t sum, int64_t left, int64_t i, int64_t right, int64_t j) const {
    const T scale = out_.left.at(left, i) * out_.right.at(right, j) / out_.scale;
    const int64_t y = rounded(static_cast<double>(static_cast<T>(sum) * scale)) + out_.zero;
    if (out_.is_signed) {
      static_cast<int8_t*>(out_.dst)[place] = static_cast<int8_t>(std::clamp<int64_t>(y, -128, 127));
    } else {
      static_cast<uint8_t*>(out_.dst)[place] = static_cast<uint8_t>(std::clamp<int64_t>(y, 0, 255));
    }
  }

 private:
  // The nearest integer, ties to even; what is far beyond every 8-bit integer is only as far as can be counted.
  static int64_t rounded(double x) {
    constexpr double kFar = 0x1p40;
    if (x != x) return 0;
    x = std::clamp(x, -kFar, kFar);
    const double f = std::floor(x), r = x - f;
    const auto below = static_cast<int64_t>(f);
    if (r != 0.5) return r < 0.5 ? below : below + 1;
    return below % 2 == 0 ? below : below + 1;
  }

  const Requantised<T>& out_;
};

template <class Put>
void multiply(const KernelContext& ctx, const IntegerMatmulShape& s, const ByteOperand& a, const ByteOperand& b,
              Put put) {
  const auto a_of = [&](int64_t matrix) { return s.a_matrices[static_cast<size_t>(matrix)]; };
  const auto b_of = [&](int64_t matrix) { return s.b_matrices[static_cast<size_t>(matrix)]; };
  sum_products(
      ctx, {static_cast<int64_t>(s.a_matrices.size()), s.m, s.n, s.k},
      [&](int64_t matrix, int64_t i, int64_t begin, int64_t end, int16_t* to) {
        const int64_t number = a_of(matrix);
        read_line(a, (number * s.m + i) * s.k + begin, 1, end - begin, a.zero.at(number, i), to);
      },
      [&](int64_t matrix, int64_t j, int64_t begin, int64_t end, int16_t* to) {
        const int64_t number = b_of(matrix);
        read_line(b, (number * s.k + begin) * s.n + j, s.n, end - begin, b.zero.at(number, j), to);
      },
      [&](int64_t matrix, int64_t i, int64_t j, int32_t sum) {
        put((matrix * s.m + i) * s.n + j, sum, a_of(matrix), i, b_of(matrix), j);
      });
}

// The elements under a window in the order of the weights, (channel, tap), +0 on padding.
class WindowReader {
 public:
  WindowReader(const IntegerConvShape& shape, const ByteOperand& src) : s_(shape), src_(src) {
    for (const SlidingAxis& axis : s_.axes) {
      places_ *= axis.in;
      taps_ *= axis.size;
      windows_ *= axis.out;
    }
  }

  int64_t taps() const { return taps_; }
  int64_t windows() const { return windows_; }

  // Elements [begin, end) of window w of the channels from `first_channel` on.
  void read(int64_t first_channel, int64_t w, int64_t begin, int64_t end, int16_t* to) const {
    if (src_.is_signed) {
      read_typed(static_cast<const int8_t*>(src_.data), first_channel, w, begin, end, to);
    } else {
      read_typed(static_cast<const uint8_t*>(src_.data), first_channel, w, begin, end, to);
    }
  }

 private:
  template <class E>
  void read_typed(const E* src, int64_t first_channel, int64_t w, int64_t begin, int64_t end, int16_t* to) const {
    // Those that are asked for, once each: of a large window that is few of all.
    int64_t tap = begin % taps_;
    ScratchVector<int64_t> places(static_cast<size_t>(std::min(taps_, end - begin)));
    for (size_t i = 0; i < places.size(); ++i) places[i] = place_of((tap + static_cast<int64_t>(i)) % taps_, w);
    const int32_t zero = src_.zero.at(0, 0);
    const E* plane = src + (first_channel + begin / taps_) * places_;
    size_t next = 0;
    for (int64_t l = begin; l < end; ++l) {
      const int64_t place = places[next];
      *to++ = place < 0 ? int16_t{0} : static_cast<int16_t>(static_cast<int32_t>(plane[place]) - zero);
      if (++next == places.size()) next = 0;
      if (++tap < taps_) continue;
      tap = 0;
      plane += places_;
    }
  }

  int64_t place_of(int64_t tap, int64_t w) const {
    int64_t place = 0, step = 1;
    for (size_t a = s_.axes.size(); a-- > 0;) {
      const SlidingAxis& axis = s_.axes[a];
      const int64_t at = axis.at(w % axis.out, tap % axis.size);
      if (at < 0 || at >= axis.in) return -1;
      place += at * step;
      step *= axis.in;
      w /= axis.out;
      tap /= axis.size;
    }
    return place;
  }

  const IntegerConvShape& s_;
  const ByteOperand& src_;
  int64_t places_ = 1, taps_ = 1, windows_ = 1;
};

template <class Put>
void convolve(const KernelContext& ctx, const IntegerConvShape& s, const ByteOperand& src, const ByteOperand& weights,
              const int32_t* bias, Put put) {
  const WindowReader reader(s, src);
  const int64_t depth = s.channels * reader.taps();
  // One matrix for each group of each image.
  sum_products(
      ctx, {s.n * s.groups, s.filters, reader.windows(), depth},
      [&](int64_t matrix, int64_t i, int64_t begin, int64_t end, int16_t* to) {
        const int64_t filter = matrix % s.groups * s.filters + i;
        read_line(weights, filter * depth + begin, 1, end - begin, weights.zero.at(0, filter), to);
      },
      [&](int64_t matrix, int64_t j, int64_t begin, int64_t end, int16_t* to) {
        reader.read(matrix * s.channels, j, begin, end, to);
      },
      [&](int64_t matrix, int64_t i, int64_t j, int32_t sum) {
        const int64_t filter = matrix % s.groups * s.filters + i;
        if (bias != nullptr) sum = wrapping_add(sum, bias[filter]);
        put((matrix * s.filters + i) * reader.windows() + j, sum, 0, filter, 0, 0);
      });
}

}  // namespace

void integer_matmul(const KernelContext& ctx, const IntegerMatmulShape& shape, const ByteOperand& a,
                    const ByteOperand& b, int32_t* dst) {
  multiply(ctx, shape, a, b, [=](int64_t place, int32_t sum, int64_t, int64_t, int64_t, int64_t) { dst[place] = sum; });
}

template <class T>
void quantized_matmul(const KernelContext& ctx, const IntegerMatmulShape& shape, const ByteOperand& a,
                      const ByteOperand& b, const Requantised<T>& out) {
  const Rescaling<T> rescaling(out);
  multiply(ctx, shape, a, b, [&](int64_t place, int32_t sum, int64_t left, int64_t i, int64_t right, int64_t j) {
    rescaling.put(place, sum, left, i, right, j);
  });
}

void integer_conv(const KernelContext& ctx, const IntegerConvShape& shape, const ByteOperand& src,
                  const ByteOperand& weights, const int32_t* bias, int32_t* dst) {
  convolve(ctx, shape, src, weights, bias,
           [=](int64_t place, int32_t sum, int64_t, int64_t, int64_t, int64_t) { dst[place] = sum; });
}

template <class T>
void quantized_conv(const KernelContext& ctx, const IntegerConvShape& shape, const ByteOperand& src,
                    const ByteOperand& weights, const int32_t* bias, const Requantised<T>& out) {
  const Rescaling<T> rescaling(out);
  convolve(ctx, shape, src, weights, bias,
           [&](int64_t place, int32_t sum, int64_t left, int64_t i, int64_t right, int64_t j) {
             rescaling.put(place, sum, left, i, right, j);
           });
}

#define ISOBIT_INSTANTIATE(T)                                                                            \
  template void quantized_matmul<T>(const KernelContext&, const IntegerMatmulShape&, const ByteOperand&, \
                                    const ByteOperand&, const Requantised<T>&);                          \
  template void quantized_conv<T>(const KernelContext&, const IntegerConvShape&, const ByteOperand&,     \
                                  const ByteOperand&, const int32_t*, const Requantised<T>&);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
