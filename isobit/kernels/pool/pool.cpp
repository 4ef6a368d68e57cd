#include "isobit/kernels/pool/pool.h"

#include <algorithm>

#include "isobit/base/scratch.h"
#include "isobit/kernels/pool/places.h"
#include "isobit/kernels/pool/reference.h"
#include "isobit/kernels/pool/table.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/reduce.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {

const pool::Table& pool::table_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Table& { return table<kIsa>(); });
}
namespace {

class PoolMemory {
 public:
  explicit PoolMemory(const PoolShape& p)
      : undecided(static_cast<size_t>(p.ow)), ints_(6 * size(p)), doubles_(6 * size(p)), floats_(3 * size(p)) {
    for (size_t i = 0; i < 3; ++i) {
      view.key[i] = ints_.data() + i * size(p);
      view.place[i] = ints_.data() + (i + 3) * size(p);
      view.sum[i] = doubles_.data() + i * size(p);
      view.size[i] = doubles_.data() + (i + 3) * size(p);
      view.least[i] = floats_.data() + i * size(p);
    }
  }
  pool::Scratch view;
  ScratchVector<uint8_t> undecided;

 private:
  static size_t size(const PoolShape& p) { return static_cast<size_t>(pool::scratch_size(p)); }
  ScratchVector<int32_t> ints_;
  ScratchVector<double> doubles_;
  ScratchVector<float> floats_;
};

pool::TapRange tap_range(const PoolShape& p, int64_t j) {
  const int64_t offset = j * p.dilation_w - p.pad_left;
  const int64_t begin = offset >= 0 ? 0 : (-offset + p.stride_w - 1) / p.stride_w;
  const int64_t room = p.iw - 1 - offset;
  const int64_t fit = room < 0 ? 0 : room / p.stride_w + 1;
  const int64_t phase = (offset % p.stride_w + p.stride_w) % p.stride_w;
  return {begin, fit < p.ow ? fit : p.ow, phase * pool::phase_length(p) + (offset - phase) / p.stride_w};
}

ScratchVector<pool::TapRange> tap_ranges(const PoolShape& p) {
  ScratchVector<pool::TapRange> taps;
  for (int64_t j = 0; j < p.kw; ++j) taps.push_back(tap_range(p, j));
  return taps;
}

// Windows along one axis: so many taps each, so far apart.
struct AxisWindows {
  int64_t size = 1, stride = 1, pad_begin = 0, pad_end = 0, dilation = 1;
};

// How many taps of window o are among the `in` elements of the axis; with padding, among these and the padding.
int64_t taps_in(int64_t o, const AxisWindows& w, int64_t in, bool with_padding) {
  const int64_t begin = with_padding ? -w.pad_begin : 0, end = in + (with_padding ? w.pad_end : 0);
  int64_t count = 0;
  for (int64_t i = 0; i < w.size; ++i) {
    const int64_t at = o * w.stride - w.pad_begin + i * w.dilation;
    count += at >= begin && at < end ? 1 : 0;
  }
  return count;
}

// T(count) of every window; 1 where the count is 0, since +0 / 1 is the +0 that is wanted there.
ScratchVector<float> divisors(const PoolShape& p) {
  const AxisWindows down = {p.kh, p.stride_h, p.pad_top, p.pad_bottom, p.dilation_h},
                    across = {p.kw, p.stride_w, p.pad_left, p.pad_right, p.dilation_w};
  ScratchVector<int64_t> rows, cols;
  for (int64_t oh = 0; oh < p.oh; ++oh) rows.push_back(taps_in(oh, down, p.ih, p.count_include_pad));
  for (int64_t ow = 0; ow < p.ow; ++ow) cols.push_back(taps_in(ow, across, p.iw, p.count_include_pad));
  ScratchVector<float> result;
  for (int64_t r : rows) {
    for (int64_t c : cols) result.push_back(static_cast<float>(std::max<int64_t>(1, r * c)));
  }
  return result;
}

float window_sum_exactly(const PoolShape& p, const float* image, int64_t oh, int64_t ow) {
  ScratchVector<float> taps;
  for (int64_t i = 0; i < p.kh; ++i) {
    for (int64_t j = 0; j < p.kw; ++j) {
      const int64_t y = oh * p.stride_h - p.pad_top + i * p.dilation_h;
      const int64_t x = ow * p.stride_w - p.pad_left + j * p.dilation_w;
      if (y >= 0 && y < p.ih && x >= 0 && x < p.iw) taps.push_back(image[y * p.iw + x]);
    }
  }
  return sum_settled(taps.data(), static_cast<int64_t>(taps.size()));
}

// f(p, first plane) with p.n * p.c the planes of the part: references on ranges of planes.
template <class F>
void over_planes(const KernelContext& ctx, const PoolShape& p, F f) {
  parallel_items(ctx, p.n * p.c, p.oh * p.ow * p.kh * p.kw, [&](int64_t begin, int64_t end) {
    PoolShape part = p;
    part.n = 1;
    part.c = end - begin;
    f(part, begin);
  });
}

template <class T>
void max_grad(const KernelContext& ctx, const PoolShape& p, const T* diff_dst, const int64_t* indices, T* diff_src) {
  if (ctx.isa == Isa::kReference) return reference::max_pool_grad(p, diff_dst, indices, diff_src);
  const pool::PlaneSizes sizes{.planes = p.n * p.c, .windows = p.oh * p.ow, .places = p.ih * p.iw};
  pool::add_at_places(ctx, sizes, diff_dst, indices, diff_src, [](int64_t index) { return index; });
}

// Places of planes from `first` on, as found in these alone, become places in all of src.
void count_from(int64_t first, int64_t n, int64_t* indices) {
  for (int64_t i = 0; i < n; ++i) indices[i] += indices[i] < 0 ? 0 : first;
}

void halve(const KernelContext& ctx, const pool::Table& isa, const PoolShape& p, const float* src, float* dst,
           int64_t* indices) {
  const int64_t in = p.ih * p.iw, out = p.oh * p.ow;
  parallel_items(ctx, p.n * p.c, in, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      isa.max_halved(p, plane * in, src + plane * in, dst + plane * out, indices ? indices + plane * out : nullptr);
    }
  });
}

template <class T>
void global_grad(const KernelContext& ctx, int64_t planes, int64_t s, const T* diff_dst, T* diff_src) {
  parallel_items(ctx, planes, s, [=](int64_t begin, int64_t end) {
    reference::global_average_pool_grad(end - begin, s, diff_dst + begin, diff_src + begin * s);
  });
}

}  // namespace

void max_pool(const KernelContext& ctx, const PoolShape& p, const float* src, float* dst, int64_t* indices) {
  if (ctx.isa == Isa::kReference || p.ih * p.iw > INT32_MAX) return reference::max_pool(p, src, dst, indices);
  const pool::Table& isa = pool::table_of(ctx.isa);
  if (pool::is_halving(p)) return halve(ctx, isa, p, src, dst, indices);
  const ScratchVector<pool::TapRange> taps = tap_ranges(p);
  parallel_items(ctx, p.n * p.c, p.oh * p.ow * p.kh * p.kw, [&](int64_t begin, int64_t end) {
    const PoolMemory scratch(p);
    for (int64_t row = begin * p.oh; row < end * p.oh; ++row) {
      const int64_t first = row / p.oh * p.ih * p.iw;
      isa.max_row(p, taps.data(), row % p.oh, src + first, scratch.view, dst + row * p.ow,
                  indices ? indices + row * p.ow : nullptr);
      if (indices) count_from(first, p.ow, indices + row * p.ow);
    }
  });
}

void max_pool(const KernelContext& ctx, const PoolShape& p, const double* src, double* dst, int64_t* indices) {
  over_planes(ctx, p, [=](const PoolShape& part, int64_t first) {
    const int64_t out = first * part.oh * part.ow, in = first * part.ih * part.iw;
    reference::max_pool(part, src + in, dst + out, indices ? indices + out : nullptr);
    if (indices) count_from(in, part.c * part.oh * part.ow, indices + out);
  });
}

void max_pool_grad(const KernelContext& ctx, const PoolShape& p, const float* diff_dst, const int64_t* indices,
                   float* diff_src) {
  max_grad(ctx, p, diff_dst, indices, diff_src);
}
void max_pool_grad(const KernelContext& ctx, const PoolShape& p, const double* diff_dst, const int64_t* indices,
                   double* diff_src) {
  max_grad(ctx, p, diff_dst, indices, diff_src);
}

void average_pool(const KernelContext& ctx, const PoolShape& p, const float* src, float* dst) {
  if (ctx.isa == Isa::kReference) return reference::average_pool(p, src, dst);
  const pool::Table& isa = pool::table_of(ctx.isa);
  const ScratchVector<pool::TapRange> taps = tap_ranges(p);
  const ScratchVector<float> divisor = divisors(p);
  parallel_items(ctx, p.n * p.c, p.oh * p.ow * p.kh * p.kw, [&](int64_t begin, int64_t end) {
    PoolMemory scratch(p);
    for (int64_t row = begin * p.oh; row < end * p.oh; ++row) {
      const int64_t oh = row % p.oh;
      const float *image = src + row / p.oh * p.ih * p.iw, *divide = divisor.data() + oh * p.ow;
      float* out = dst + row * p.ow;
      if (isa.average_row(p, taps.data(), oh, image, divide, scratch.view, out, scratch.undecided.data()) == 0)
        continue;
      for (int64_t ow = 0; ow < p.ow; ++ow) {
        if (scratch.undecided[ow]) out[ow] = numerics::canonical(window_sum_exactly(p, image, oh, ow) / divide[ow]);
      }
    }
  });
}

void average_pool(const KernelContext& ctx, const PoolShape& p, const double* src, double* dst) {
  over_planes(ctx, p, [=](const PoolShape& part, int64_t first) {
    reference::average_pool(part, src + first * part.ih * part.iw, dst + first * part.oh * part.ow);
  });
}

void average_pool_grad(const KernelContext& ctx, const PoolShape& p, const float* diff_dst, float* diff_src) {
  if (ctx.isa == Isa::kReference) return reference::average_pool_grad(p, diff_dst, diff_src);
  const pool::Table& isa = pool::table_of(ctx.isa);
  const ScratchVector<pool::TapRange> taps = tap_ranges(p);
  const ScratchVector<float> divisor = divisors(p);
  parallel_items(ctx, p.n * p.c, p.oh * p.ow * p.kh * p.kw, [&](int64_t begin, int64_t end) {
    ScratchVector<float> g(divisor.size()), phases(static_cast<size_t>(pool::scratch_size(p)));
    for (int64_t plane = begin; plane < end; ++plane) {
      const float* dy = diff_dst + plane * p.oh * p.ow;
      for (size_t i = 0; i < g.size(); ++i) g[i] = dy[i] / divisor[i];
      isa.average_grad(p, taps.data(), g.data(), phases.data(), diff_src + plane * p.ih * p.iw);
    }
  });
}

void average_pool_grad(const KernelContext& ctx, const PoolShape& p, const double* diff_dst, double* diff_src) {
  over_planes(ctx, p, [=](const PoolShape& part, int64_t first) {
    reference::average_pool_grad(part, diff_dst + first * part.oh * part.ow, diff_src + first * part.ih * part.iw);
  });
}

void global_average_pool(const KernelContext& ctx, int64_t planes, int64_t s, const float* src, float* dst) {
  if (ctx.isa == Isa::kReference) return reference::global_average_pool(planes, s, src, dst);
  reduce_mean(ctx, AxisView{planes, s, 1}, src, dst);
}
void global_average_pool(const KernelContext& ctx, int64_t planes, int64_t s, const double* src, double* dst) {
  if (ctx.isa == Isa::kReference) return reference::global_average_pool(planes, s, src, dst);
  reduce_mean(ctx, AxisView{planes, s, 1}, src, dst);
}

void global_average_pool_grad(const KernelContext& ctx, int64_t planes, int64_t s, const float* diff_dst,
                              float* diff_src) {
  global_grad(ctx, planes, s, diff_dst, diff_src);
}
void global_average_pool_grad(const KernelContext& ctx, int64_t planes, int64_t s, const double* diff_dst,
                              double* diff_src) {
  global_grad(ctx, planes, s, diff_dst, diff_src);
}

}  // namespace isobit::kernels
