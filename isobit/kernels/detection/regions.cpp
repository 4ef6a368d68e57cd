#include "isobit/kernels/detection/regions.h"

#include <algorithm>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/kernels/detection/bins.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/reduce/scalar.h"
#include "isobit/kernels/sampling/give_back.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

// The four weighted elements of each sample of a bin, one after another: f(outside, products).
template <class T, class F>
void for_each_sample(const Bins& rows, const Bins& columns, int64_t ph, int64_t pw, const T* plane, F f) {
  for (int64_t iy = 0; iy < rows.samples; ++iy) {
    const Bins::Sample y = rows.sample(ph, iy);
    for (int64_t ix = 0; ix < columns.samples; ++ix) {
      const Bins::Sample x = columns.sample(pw, ix);
      if (y.outside || x.outside) {
        const double none[4] = {0, 0, 0, 0};
        f(true, none);
        continue;
      }
      const auto at = [&](int64_t row, int64_t column) {
        return static_cast<double>(plane[row * columns.places + column]);
      };
      const double uy = 1 - y.l, ux = 1 - x.l;
      const double products[4] = {uy * ux * at(y.low, x.low), uy * x.l * at(y.low, x.high),
                                  y.l * ux * at(y.high, x.low), y.l * x.l * at(y.high, x.high)};
      f(false, products);
    }
  }
}

template <class T>
double mean_of(const Bins& rows, const Bins& columns, int64_t ph, int64_t pw, const T* plane) {
  double v = 0;
  for_each_sample(rows, columns, ph, pw, plane, [&](bool outside, const double* s) {
    if (!outside) v += ((s[0] + s[1]) + s[2]) + s[3];
  });
  return v / static_cast<double>(std::max<int64_t>(rows.samples * columns.samples, 1));
}

template <class T>
double largest_of(const Bins& rows, const Bins& columns, int64_t ph, int64_t pw, const T* plane) {
  double best = 0;
  bool any = false;
  for_each_sample(rows, columns, ph, pw, plane, [&](bool, const double* s) {
    for (int i = 0; i < 4; ++i) {
      if (!any || reference::greater(s[i], best)) best = s[i];
      any = true;
    }
  });
  return best;
}

template <class T>
void align(const KernelContext& ctx, const RegionShape& s, const AlignRule& rule, const T* src, const T* rois,
           const int64_t* images, T* dst) {
  parallel_items(ctx, s.regions * s.c, 16 * s.pooled_h * s.pooled_w, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t region = item / s.c;
      const T* roi = rois + region * 4;
      const Bins rows(static_cast<double>(roi[1]), static_cast<double>(roi[3]), s.pooled_h, s.h, rule),
          columns(static_cast<double>(roi[0]), static_cast<double>(roi[2]), s.pooled_w, s.w, rule);
      const bool finite = rows.is_finite() && columns.is_finite();
      const T* plane = src + (images[region] * s.c + item % s.c) * s.h * s.w;
      T* to = dst + item * s.pooled_h * s.pooled_w;
      for (int64_t ph = 0; ph < s.pooled_h; ++ph) {
        for (int64_t pw = 0; pw < s.pooled_w; ++pw) {
          const double v = !finite    ? numerics::nan_f64()
                           : rule.max ? largest_of(rows, columns, ph, pw, plane)
                                      : mean_of(rows, columns, ph, pw, plane);
          *to++ = numerics::canonical(static_cast<T>(v));
        }
      }
    }
  });
}

// The elements that the bins of a region are made of. from: number of its first bin.
void add_parts(const Bins& rows, const Bins& columns, const RegionShape& s, int64_t from,
               ScratchVector<GivenBack>& parts) {
  const double count = static_cast<double>(std::max<int64_t>(rows.samples * columns.samples, 1));
  for (int64_t bin = 0; bin < s.pooled_h * s.pooled_w; ++bin) {
    for (int64_t iy = 0; iy < rows.samples; ++iy) {
      const Bins::Sample y = rows.sample(bin / s.pooled_w, iy);
      for (int64_t ix = 0; ix < columns.samples; ++ix) {
        const Bins::Sample x = columns.sample(bin % s.pooled_w, ix);
        if (y.outside || x.outside) continue;
        const double uy = 1 - y.l, ux = 1 - x.l;
        parts.push_back({y.low * s.w + x.low, from + bin, uy * ux / count});
        parts.push_back({y.low * s.w + x.high, from + bin, uy * x.l / count});
        parts.push_back({y.high * s.w + x.low, from + bin, y.l * ux / count});
        parts.push_back({y.high * s.w + x.high, from + bin, y.l * x.l / count});
      }
    }
  }
}

template <class T>
void align_back(const KernelContext& ctx, const RegionShape& s, const AlignRule& rule, int64_t n, const T* rois,
                const int64_t* images, const T* diff_dst, T* diff_src) {
  const int64_t bins = s.pooled_h * s.pooled_w, area = s.h * s.w;
  ScratchVector<GivenBack> parts;
  for (int64_t image = 0; image < n; ++image) {
    parts.clear();
    for (int64_t region = 0; region < s.regions; ++region) {
      if (images[region] != image) continue;
      const T* roi = rois + region * 4;
      const Bins rows(static_cast<double>(roi[1]), static_cast<double>(roi[3]), s.pooled_h, s.h, rule),
          columns(static_cast<double>(roi[0]), static_cast<double>(roi[2]), s.pooled_w, s.w, rule);
      if (rows.is_finite() && columns.is_finite()) add_parts(rows, columns, s, region * s.c * bins, parts);
    }
    give_back(ctx, parts, s.c, area, bins, diff_dst, diff_src + image * s.c * area);
  }
}

// The place of the largest element of a bin, -1 where there is none.
template <class T>
int64_t largest_in(const Cells& rows, const Cells& columns, int64_t ph, int64_t pw, const T* plane) {
  int64_t best = -1;
  for (int64_t y = rows.first_of(ph); y < rows.end_of(ph); ++y) {
    for (int64_t x = columns.first_of(pw); x < columns.end_of(pw); ++x) {
      const int64_t place = y * columns.places + x;
      if (best < 0 || reference::greater(plane[place], plane[best])) best = place;
    }
  }
  return best;
}

template <class T>
void pool_regions(const KernelContext& ctx, const RegionShape& s, int64_t n, double scale, const T* src, const T* rois,
                  T* dst) {
  const int64_t bins = s.pooled_h * s.pooled_w;
  parallel_items(ctx, s.regions * s.c, 4 * bins, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const PooledRegion<T> region(s, n, scale, rois + item / s.c * 5);
      T* to = dst + item * bins;
      if (region.image < 0) {
        std::fill(to, to + bins, T(0));
        continue;
      }
      const T* plane = src + (region.image * s.c + item % s.c) * s.h * s.w;
      for (int64_t bin = 0; bin < bins; ++bin) {
        const int64_t place = largest_in(region.rows, region.columns, bin / s.pooled_w, bin % s.pooled_w, plane);
        to[bin] = place < 0 ? T(0) : numerics::canonical(plane[place]);
      }
    }
  });
}

template <class T>
void pool_back(const KernelContext& ctx, const RegionShape& s, int64_t n, double scale, const T* src, const T* rois,
               const T* diff_dst, T* diff_src) {
  const int64_t bins = s.pooled_h * s.pooled_w, area = s.h * s.w;
  ScratchVector<PooledRegion<T>> regions;
  regions.reserve(static_cast<size_t>(s.regions));
  for (int64_t r = 0; r < s.regions; ++r) regions.emplace_back(s, n, scale, rois + r * 5);
  ScratchVector<GivenBack> parts;
  for (int64_t plane = 0; plane < n * s.c; ++plane) {
    parts.clear();
    for (int64_t r = 0; r < s.regions; ++r) {
      const PooledRegion<T>& region = regions[static_cast<size_t>(r)];
      if (region.image != plane / s.c) continue;
      for (int64_t bin = 0; bin < bins; ++bin) {
        const int64_t place =
            largest_in(region.rows, region.columns, bin / s.pooled_w, bin % s.pooled_w, src + plane * area);
        if (place >= 0) parts.push_back({place, (r * s.c + plane % s.c) * bins + bin, 1});
      }
    }
    give_back(ctx, parts, 1, area, 0, diff_dst, diff_src + plane * area);
  }
}

}  // namespace

void roi_align(const KernelContext& ctx, const RegionShape& shape, const AlignRule& rule, const float* src,
               const float* rois, const int64_t* images, float* dst) {
  align(ctx, shape, rule, src, rois, images, dst);
}
void roi_align(const KernelContext& ctx, const RegionShape& shape, const AlignRule& rule, const double* src,
               const double* rois, const int64_t* images, double* dst) {
  align(ctx, shape, rule, src, rois, images, dst);
}

void roi_align_grad(const KernelContext& ctx, const RegionShape& shape, const AlignRule& rule, int64_t n,
                    const float* rois, const int64_t* images, const float* diff_dst, float* diff_src) {
  align_back(ctx, shape, rule, n, rois, images, diff_dst, diff_src);
}
void roi_align_grad(const KernelContext& ctx, const RegionShape& shape, const AlignRule& rule, int64_t n,
                    const double* rois, const int64_t* images, const double* diff_dst, double* diff_src) {
  align_back(ctx, shape, rule, n, rois, images, diff_dst, diff_src);
}

void max_roi_pool(const KernelContext& ctx, const RegionShape& shape, int64_t n, double spatial_scale, const float* src,
                  const float* rois, float* dst) {
  pool_regions(ctx, shape, n, spatial_scale, src, rois, dst);
}
void max_roi_pool(const KernelContext& ctx, const RegionShape& shape, int64_t n, double spatial_scale,
                  const double* src, const double* rois, double* dst) {
  pool_regions(ctx, shape, n, spatial_scale, src, rois, dst);
}

void max_roi_pool_grad(const KernelContext& ctx, const RegionShape& shape, int64_t n, double spatial_scale,
                       const float* src, const float* rois, const float* diff_dst, float* diff_src) {
  pool_back(ctx, shape, n, spatial_scale, src, rois, diff_dst, diff_src);
}
void max_roi_pool_grad(const KernelContext& ctx, const RegionShape& shape, int64_t n, double spatial_scale,
                       const double* src, const double* rois, const double* diff_dst, double* diff_src) {
  pool_back(ctx, shape, n, spatial_scale, src, rois, diff_dst, diff_src);
}

}  // namespace isobit::kernels
