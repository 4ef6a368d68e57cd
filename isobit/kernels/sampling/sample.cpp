#include "isobit/kernels/sampling/sample.h"

#include <algorithm>
#include <cstring>

#include "isobit/base/scratch.h"
#include "isobit/base/status.h"
#include "isobit/kernels/columns/sliding_axis.h"
#include "isobit/kernels/movement/strided_copy.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

using Axes = std::span<const AxisTaps>;

int64_t lines_of(Axes axes) {
  return extents_product(axes.size() - 1, [&](size_t a) { return axes[a].out(); });
}

// The lines of the source that a line of the result is made of.
class Lines {
 public:
  explicit Lines(Axes axes) : axes_(axes) {}

  // Those of line `o` of the result. None: it lies outside.
  const ScratchVector<WeightedPlace>& of(int64_t o) {
    index_.assign(axes_.size() - 1, 0);
    for (size_t a = index_.size(); a-- > 0; o /= axes_[a].out()) index_[a] = o % axes_[a].out();
    lines_.assign(1, WeightedPlace{0, 1});
    for (size_t a = 0; a < index_.size(); ++a) {
      if (axes_[a].is_identity()) {
        for (WeightedPlace& line : lines_) line.place = line.place * axes_[a].in() + index_[a];
        continue;
      }
      longer_.clear();
      for (const WeightedPlace& line : lines_) {
        for (const WeightedPlace& tap : axes_[a].of(index_[a])) {
          longer_.push_back({line.place * axes_[a].in() + tap.place, line.weight * tap.weight});
        }
      }
      lines_.swap(longer_);
    }
    return lines_;
  }

 private:
  Axes axes_;
  ScratchVector<int64_t> index_;
  ScratchVector<WeightedPlace> lines_, longer_;
};

template <class T>
T rounded(double v) {
  return numerics::canonical(static_cast<T>(v));
}

// r(x) of one place.
template <class T>
double down(const ScratchVector<WeightedPlace>& lines, int64_t length, const T* src, int64_t x) {
  double r = 0;
  for (const WeightedPlace& line : lines) r += line.weight * static_cast<double>(src[line.place * length + x]);
  return r;
}

// r(x) of all places.
template <class T>
void down(const ScratchVector<WeightedPlace>& lines, int64_t length, const T* src, double* r) {
  std::fill(r, r + length, 0.0);
  for (const WeightedPlace& line : lines) {
    const T* from = src + line.place * length;
    const double weight = line.weight;
    for (int64_t x = 0; x < length; ++x) r[x] += weight * static_cast<double>(from[x]);
  }
}

template <class T>
void sample_lines(const KernelContext& ctx, Axes axes, double outside, const T* src, T* dst) {
  const AxisTaps& last = axes.back();
  const int64_t in = last.in(), out = last.out();
  if (out == 0) return;
  // A whole line is summed first where most of it is needed; either way, every sum is the one that is written.
  const bool whole = last.is_identity() || in / 4 <= out;
  parallel_items(ctx, lines_of(axes), 4 * (whole ? in + out : 4 * out), [&](int64_t begin, int64_t end) {
    Lines lines(axes);
    ScratchVector<double> r(whole ? static_cast<size_t>(in) : 0);
    for (int64_t o = begin; o < end; ++o) {
      const ScratchVector<WeightedPlace>& from = lines.of(o);
      T* to = dst + o * out;
      if (from.empty()) {
        std::fill(to, to + out, rounded<T>(outside));
        continue;
      }
      if (whole) down(from, in, src, r.data());
      for (int64_t x = 0; x < out; ++x) {
        if (last.is_identity()) {
          to[x] = rounded<T>(r[static_cast<size_t>(x)]);
          continue;
        }
        const std::span<const WeightedPlace> taps = last.of(x);
        double v = 0;
        for (const WeightedPlace& tap : taps) {
          v += tap.weight * (whole ? r[static_cast<size_t>(tap.place)] : down(from, in, src, tap.place));
        }
        to[x] = rounded<T>(taps.empty() ? outside : v);
      }
    }
  });
}

template <class E>
void take(const KernelContext& ctx, Axes axes, const void* outside, const void* src, void* dst) {
  const AxisTaps& last = axes.back();
  const int64_t in = last.in(), out = last.out();
  E nothing;
  std::memcpy(&nothing, outside, sizeof nothing);
  parallel_items(ctx, lines_of(axes), out, [&](int64_t begin, int64_t end) {
    Lines lines(axes);
    for (int64_t o = begin; o < end; ++o) {
      const ScratchVector<WeightedPlace>& from = lines.of(o);
      E* to = static_cast<E*>(dst) + o * out;
      const E* line = static_cast<const E*>(src) + (from.empty() ? 0 : from[0].place * in);
      if (!from.empty() && last.is_identity()) {
        std::memcpy(to, line, static_cast<size_t>(out) * sizeof(E));
        continue;
      }
      for (int64_t x = 0; x < out; ++x) {
        const bool some = !from.empty() && !last.of(x).empty();
        to[x] = some ? line[last.of(x)[0].place] : nothing;
      }
    }
  });
}

}  // namespace

void sample(const KernelContext& ctx, Axes axes, double outside, const float* src, float* dst) {
  sample_lines(ctx, axes, outside, src, dst);
}
void sample(const KernelContext& ctx, Axes axes, double outside, const double* src, double* dst) {
  sample_lines(ctx, axes, outside, src, dst);
}

void take_places(const KernelContext& ctx, size_t element_size, Axes axes, const void* outside, const void* src,
                 void* dst) {
  switch (element_size) {
    case 1:
      return take<movement::U8>(ctx, axes, outside, src, dst);
    case 2:
      return take<movement::U16>(ctx, axes, outside, src, dst);
    case 4:
      return take<movement::U32>(ctx, axes, outside, src, dst);
    case 8:
      return take<movement::U64>(ctx, axes, outside, src, dst);
    default:
      ISOBIT_CHECK(!"element_size is 1, 2, 4 or 8");
  }
}

}  // namespace isobit::kernels
