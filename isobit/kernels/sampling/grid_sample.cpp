#include "isobit/kernels/sampling/grid_sample.h"

#include "isobit/base/scratch.h"
#include "isobit/kernels/columns/sliding_axis.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/sampling/give_back.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

// The near places of a point, one for each axis; false where some coordinate is not finite.
template <class T>
bool find_places(std::span<const int64_t> image, const PointRule& rule, const T* point, bool with_slopes,
                 ScratchVector<NearPlaces>& places) {
  places.clear();
  bool finite = true;
  for (size_t a = 0; a < image.size(); ++a) {
    const auto g = static_cast<double>(point[image.size() - 1 - a]);
    places.emplace_back(grid_place(g, image[a], rule.align_corners), image[a], rule, with_slopes);
    finite = finite && places.back().is_finite();
  }
  return finite;
}

template <class T>
void sample_points(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                   const PointRule& rule, const T* src, const T* grid, T* dst) {
  const auto rank = static_cast<int64_t>(image.size());
  const int64_t area = extents_product(image.size(), [&](size_t a) { return image[a]; });
  parallel_items(ctx, n * points, 8 * c, [&](int64_t begin, int64_t end) {
    ScratchVector<NearPlaces> places;
    for (int64_t p = begin; p < end; ++p) {
      const bool finite = find_places(image, rule, grid + p * rank, false, places);
      const int64_t first = p / points * c;
      for (int64_t channel = first; channel < first + c; ++channel) {
        const double v = finite ? value_at(places, image.data(), src + channel * area) : numerics::nan_f64();
        dst[channel * points + p % points] = numerics::canonical(static_cast<T>(v));
      }
    }
  });
}

template <class T>
void give_to_src(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                 const PointRule& rule, const T* grid, const T* diff_dst, T* diff_src) {
  const auto rank = static_cast<int64_t>(image.size());
  const int64_t area = extents_product(image.size(), [&](size_t a) { return image[a]; });
  ScratchVector<NearPlaces> places;
  ScratchVector<GivenBack> parts;
  for (int64_t i = 0; i < n; ++i) {
    parts.clear();
    for (int64_t p = 0; p < points; ++p) {
      if (!find_places(image, rule, grid + (i * points + p) * rank, false, places)) continue;
      for_each_place(places, image.data(), [&](int64_t place, double weight) { parts.push_back({place, p, weight}); });
    }
    give_back(ctx, parts, c, area, points, diff_dst + i * c * points, diff_src + i * c * area);
  }
}

template <class T>
void give_to_grid(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                  const PointRule& rule, const T* src, const T* grid, const T* diff_dst, T* diff_grid) {
  const size_t rank = image.size();
  const int64_t area = extents_product(rank, [&](size_t a) { return image[a]; });
  parallel_items(ctx, n * points, 16 * c, [&](int64_t begin, int64_t end) {
    ScratchVector<NearPlaces> places;
    for (int64_t p = begin; p < end; ++p) {
      const auto at = p * static_cast<int64_t>(rank);
      const bool finite = find_places(image, rule, grid + at, true, places);
      const int64_t first = p / points * c;
      for (size_t a = 0; a < rank; ++a) {
        double v = 0;
        for (int64_t channel = first; finite && channel < first + c; ++channel) {
          v += static_cast<double>(diff_dst[channel * points + p % points]) *
               slope_at(places, a, image.data(), src + channel * area);
        }
        const auto extent = static_cast<double>(image[a]);
        v = finite ? v * ((rule.align_corners ? extent - 1 : extent) / 2) : numerics::nan_f64();
        diff_grid[at + static_cast<int64_t>(rank - 1 - a)] = numerics::canonical(static_cast<T>(v));
      }
    }
  });
}

}  // namespace

double grid_place(double g, int64_t extent, bool align_corners) {
  const auto d = static_cast<double>(extent);
  return align_corners ? (g + 1) / 2 * (d - 1) : ((g + 1) * d - 1) / 2;
}

void grid_sample(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                 const PointRule& rule, const float* src, const float* grid, float* dst) {
  sample_points(ctx, n, c, image, points, rule, src, grid, dst);
}
void grid_sample(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                 const PointRule& rule, const double* src, const double* grid, double* dst) {
  sample_points(ctx, n, c, image, points, rule, src, grid, dst);
}

void grid_sample_grad_src(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image,
                          int64_t points, const PointRule& rule, const float* grid, const float* diff_dst,
                          float* diff_src) {
  give_to_src(ctx, n, c, image, points, rule, grid, diff_dst, diff_src);
}
void grid_sample_grad_src(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image,
                          int64_t points, const PointRule& rule, const double* grid, const double* diff_dst,
                          double* diff_src) {
  give_to_src(ctx, n, c, image, points, rule, grid, diff_dst, diff_src);
}

void grid_sample_grad_grid(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image,
                           int64_t points, const PointRule& rule, const float* src, const float* grid,
                           const float* diff_dst, float* diff_grid) {
  give_to_grid(ctx, n, c, image, points, rule, src, grid, diff_dst, diff_grid);
}
void grid_sample_grad_grid(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image,
                           int64_t points, const PointRule& rule, const double* src, const double* grid,
                           const double* diff_dst, double* diff_grid) {
  give_to_grid(ctx, n, c, image, points, rule, src, grid, diff_dst, diff_grid);
}

}  // namespace isobit::kernels
