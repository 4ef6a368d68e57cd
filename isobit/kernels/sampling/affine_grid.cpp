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

// base: by number of the point's coordinate.
template <class T>
T number_of(const T* map, std::span<const double> base) {
  double v = 0;
  for (size_t j = 0; j < base.size(); ++j) v += static_cast<double>(map[j]) * base[j];
  v += static_cast<double>(map[base.size()]);
  return numerics::canonical(static_cast<T>(v));
}

// The base of point number p, the last axis first.
void set_base(std::span<const int64_t> image, bool align_corners, int64_t p, ScratchVector<double>& base) {
  for (size_t j = 0; j < base.size(); ++j) {
    const int64_t extent = image[image.size() - 1 - j];
    base[j] = base_coordinate(p % extent, extent, align_corners);
    p /= extent;
  }
}

template <class T>
void fill_grid(const KernelContext& ctx, int64_t n, std::span<const int64_t> image, bool align_corners, const T* theta,
               T* dst) {
  const auto rank = static_cast<int64_t>(image.size());
  const int64_t points = extents_product(image.size(), [&](size_t a) { return image[a]; });
  parallel_items(ctx, n * points, rank * rank, [&](int64_t begin, int64_t end) {
    ScratchVector<double> base(image.size());
    for (int64_t p = begin; p < end; ++p) {
      set_base(image, align_corners, p % points, base);
      const T* map = theta + p / points * rank * (rank + 1);
      for (int64_t i = 0; i < rank; ++i, map += rank + 1)
        dst[p * rank + i] = number_of(map, std::span<const double>(base));
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

template <class T>
T affine_number(std::span<const int64_t> image, bool align_corners, const T* row, int64_t point) {
  ScratchVector<double> base(image.size());
  set_base(image, align_corners, point, base);
  return number_of(row, std::span<const double>(base));
}
template float affine_number(std::span<const int64_t>, bool, const float*, int64_t);
template double affine_number(std::span<const int64_t>, bool, const double*, int64_t);

}  // namespace isobit::kernels
