#include "isobit/kernels/sampling/grid_sample.h"

#include "isobit/base/scratch.h"
#include "isobit/kernels/columns/sliding_axis.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

double coordinate(double g, int64_t extent, bool align_corners) {
  const auto d = static_cast<double>(extent);
  return align_corners ? (g + 1) / 2 * (d - 1) : ((g + 1) * d - 1) / 2;
}

template <class T>
void sample_points(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                   const PointRule& rule, const T* src, const T* grid, T* dst) {
  const size_t rank = image.size();
  const int64_t area = extents_product(rank, [&](size_t a) { return image[a]; });
  parallel_items(ctx, n * points, 8 * c, [&](int64_t begin, int64_t end) {
    ScratchVector<NearPlaces> places;
    for (int64_t p = begin; p < end; ++p) {
      places.clear();
      bool finite = true;
      for (size_t a = 0; a < rank; ++a) {
        const auto g = static_cast<double>(grid[p * static_cast<int64_t>(rank) + static_cast<int64_t>(rank - 1 - a)]);
        places.emplace_back(coordinate(g, image[a], rule.align_corners), image[a], rule);
        finite = finite && places.back().is_finite();
      }
      const int64_t first = p / points * c;
      for (int64_t channel = first; channel < first + c; ++channel) {
        const double v = finite ? value_at<T>(places, image.data(), src + channel * area) : numerics::nan_f64();
        dst[channel * points + p % points] = numerics::canonical(static_cast<T>(v));
      }
    }
  });
}

}  // namespace

void grid_sample(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                 const PointRule& rule, const float* src, const float* grid, float* dst) {
  sample_points(ctx, n, c, image, points, rule, src, grid, dst);
}
void grid_sample(const KernelContext& ctx, int64_t n, int64_t c, std::span<const int64_t> image, int64_t points,
                 const PointRule& rule, const double* src, const double* grid, double* dst) {
  sample_points(ctx, n, c, image, points, rule, src, grid, dst);
}

}  // namespace isobit::kernels
