#include "isobit/kernels/sampling/affine_grid.h"

#include "isobit/base/scratch.h"
#include "isobit/kernels/columns/sliding_axis.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

double base_coordinate(int64_t p, int64_t extent, bool align_corners) {
  if (align_corners) {
    return extent == 1 ? 0 : static_cast<double>(2 * p) / static_cast<double>(extent - 1) - 1;
  }
  return static_cast<double>(2 * p + 1) / static_cast<double>(extent) - 1;
}

template <class T>
void fill_grid(const KernelContext& ctx, int64_t n, std::span<const int64_t> image, bool align_corners, const T* theta,
               T* dst) {
  const auto rank = static_cast<int64_t>(image.size());
  const int64_t points = extents_product(image.size(), [&](size_t a) { return image[a]; });
  parallel_items(ctx, n * points, rank * rank, [&](int64_t begin, int64_t end) {
    ScratchVector<double> base(image.size());  // by number of the point: the last axis first
    for (int64_t p = begin; p < end; ++p) {
      int64_t rest = p % points;
      for (size_t j = 0; j < base.size(); ++j) {
        const int64_t extent = image[image.size() - 1 - j];
        base[j] = base_coordinate(rest % extent, extent, align_corners);
        rest /= extent;
      }
      const T* map = theta + p / points * rank * (rank + 1);
      for (int64_t i = 0; i < rank; ++i, map += rank + 1) {
        double v = 0;
        for (int64_t j = 0; j < rank; ++j) v += static_cast<double>(map[j]) * base[static_cast<size_t>(j)];
        v += static_cast<double>(map[rank]);
        dst[p * rank + i] = numerics::canonical(static_cast<T>(v));
      }
    }
  });
}

}  // namespace

void affine_grid(const KernelContext& ctx, int64_t n, std::span<const int64_t> image, bool align_corners,
                 const float* theta, float* dst) {
  fill_grid(ctx, n, image, align_corners, theta, dst);
}
void affine_grid(const KernelContext& ctx, int64_t n, std::span<const int64_t> image, bool align_corners,
                 const double* theta, double* dst) {
  fill_grid(ctx, n, image, align_corners, theta, dst);
}

}  // namespace isobit::kernels
