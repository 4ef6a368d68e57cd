#include "isobit/kernels/sampling/deform.h"

#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/sampling/near_places.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

template <class T>
void lay_out(const KernelContext& ctx, const DeformShape& s, const T* src, const T* offset, const T* mask, T* matrix) {
  const int64_t taps = s.taps(), windows = s.windows(), channels = s.c / s.groups;
  const int64_t extents[] = {s.rows.in, s.columns.in}, area = s.rows.in * s.columns.in;
  // One item: a tap of all windows for the channels of a group in an image.
  parallel_items(ctx, s.n * s.groups * taps, windows * (16 + 4 * channels), [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t group = item / taps, tap = item % taps;  // group: of all images
      const T *down = offset + item * 2 * windows, *across = down + windows;
      for (int64_t w = 0; w < windows; ++w) {
        const auto y = static_cast<double>(s.rows.at(w / s.columns.out, tap / s.columns.size)),
                   x = static_cast<double>(s.columns.at(w % s.columns.out, tap % s.columns.size));
        const NearPlaces places[] = {{y + static_cast<double>(down[w]), s.rows.in, {}},
                                     {x + static_cast<double>(across[w]), s.columns.in, {}}};
        const bool finite = places[0].is_finite() && places[1].is_finite();
        const double scale = mask == nullptr ? 1 : static_cast<double>(mask[item * windows + w]);
        for (int64_t c = group * channels; c < (group + 1) * channels; ++c) {
          const double v = finite ? value_at<T>(places, extents, src + c * area) * scale : numerics::nan_f64();
          matrix[(c * taps + tap) * windows + w] = numerics::canonical(static_cast<T>(v));
        }
      }
    }
  });
}

}  // namespace

void deformed_columns(const KernelContext& ctx, const DeformShape& shape, const float* src, const float* offset,
                      const float* mask, float* matrix) {
  lay_out(ctx, shape, src, offset, mask, matrix);
}
void deformed_columns(const KernelContext& ctx, const DeformShape& shape, const double* src, const double* offset,
                      const double* mask, double* matrix) {
  lay_out(ctx, shape, src, offset, mask, matrix);
}

}  // namespace isobit::kernels
