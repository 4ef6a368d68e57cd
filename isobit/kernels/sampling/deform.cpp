#include "isobit/kernels/sampling/deform.h"

#include "isobit/base/scratch.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/kernels/sampling/give_back.h"
#include "isobit/kernels/sampling/near_places.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

// The near places of window w under a tap, down and across: `item` counts images, groups and taps. False where one is
// not finite.
template <class T>
bool find_places(const DeformShape& s, const T* offset, int64_t item, int64_t w, bool with_slopes,
                 ScratchVector<NearPlaces>& places) {
  const T *down = offset + item * 2 * s.windows(), *across = down + s.windows();
  const int64_t tap = item % s.taps();
  const auto y = static_cast<double>(s.rows.at(w / s.columns.out, tap / s.columns.size)),
             x = static_cast<double>(s.columns.at(w % s.columns.out, tap % s.columns.size));
  places.clear();
  places.emplace_back(y + static_cast<double>(down[w]), s.rows.in, PointRule{}, with_slopes);
  places.emplace_back(x + static_cast<double>(across[w]), s.columns.in, PointRule{}, with_slopes);
  return places[0].is_finite() && places[1].is_finite();
}

template <class T>
void lay_out(const KernelContext& ctx, const DeformShape& s, const T* src, const T* offset, const T* mask, T* matrix) {
  const int64_t taps = s.taps(), windows = s.windows(), channels = s.c / s.groups;
  const int64_t extents[] = {s.rows.in, s.columns.in}, area = s.rows.in * s.columns.in;
  // One item: a tap of all windows for the channels of a group in an image.
  parallel_items(ctx, s.n * s.groups * taps, windows * (16 + 4 * channels), [&](int64_t begin, int64_t end) {
    ScratchVector<NearPlaces> places;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t group = item / taps, tap = item % taps;  // group: of all images
      for (int64_t w = 0; w < windows; ++w) {
        const bool finite = find_places(s, offset, item, w, false, places);
        const double scale = mask == nullptr ? 1 : static_cast<double>(mask[item * windows + w]);
        for (int64_t c = group * channels; c < (group + 1) * channels; ++c) {
          const double v = finite ? value_at(places, extents, src + c * area) * scale : numerics::nan_f64();
          matrix[(c * taps + tap) * windows + w] = numerics::canonical(static_cast<T>(v));
        }
      }
    }
  });
}

template <class T>
void give_to_src(const KernelContext& ctx, const DeformShape& s, const T* offset, const T* diff_matrix, T* diff_src) {
  const int64_t taps = s.taps(), windows = s.windows(), channels = s.c / s.groups;
  const int64_t extents[] = {s.rows.in, s.columns.in}, area = s.rows.in * s.columns.in;
  ScratchVector<NearPlaces> places;
  ScratchVector<GivenBack> parts;
  for (int64_t group = 0; group < s.n * s.groups; ++group) {
    parts.clear();
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t w = 0; w < windows; ++w) {
        if (!find_places(s, offset, group * taps + tap, w, false, places)) continue;
        for_each_place(places, extents, [&](int64_t p, double weight) {
          parts.push_back({p, tap * windows + w, weight});
        });
      }
    }
    const int64_t first = group * channels;
    give_back(ctx, parts, channels, area, taps * windows, diff_matrix + first * taps * windows,
              diff_src + first * area);
  }
}

template <class T>
void give_to_offset(const KernelContext& ctx, const DeformShape& s, const T* src, const T* offset, const T* diff_matrix,
                    T* diff_offset) {
  const int64_t taps = s.taps(), windows = s.windows(), channels = s.c / s.groups;
  const int64_t extents[] = {s.rows.in, s.columns.in}, area = s.rows.in * s.columns.in;
  parallel_items(ctx, s.n * s.groups * taps, windows * (16 + 16 * channels), [&](int64_t begin, int64_t end) {
    ScratchVector<NearPlaces> places;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t group = item / taps, tap = item % taps;
      for (int64_t w = 0; w < windows; ++w) {
        const bool finite = find_places(s, offset, item, w, true, places);
        for (const size_t axis : {size_t{0}, size_t{1}}) {
          double v = finite ? 0 : numerics::nan_f64();
          for (int64_t c = group * channels; finite && c < (group + 1) * channels; ++c) {
            v += static_cast<double>(diff_matrix[(c * taps + tap) * windows + w]) *
                 slope_at(places, axis, extents, src + c * area);
          }
          diff_offset[(item * 2 + static_cast<int64_t>(axis)) * windows + w] = numerics::canonical(static_cast<T>(v));
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

void deformed_columns_grad_src(const KernelContext& ctx, const DeformShape& shape, const float* offset,
                               const float* diff_matrix, float* diff_src) {
  give_to_src(ctx, shape, offset, diff_matrix, diff_src);
}
void deformed_columns_grad_src(const KernelContext& ctx, const DeformShape& shape, const double* offset,
                               const double* diff_matrix, double* diff_src) {
  give_to_src(ctx, shape, offset, diff_matrix, diff_src);
}

void deformed_columns_grad_offset(const KernelContext& ctx, const DeformShape& shape, const float* src,
                                  const float* offset, const float* diff_matrix, float* diff_offset) {
  give_to_offset(ctx, shape, src, offset, diff_matrix, diff_offset);
}
void deformed_columns_grad_offset(const KernelContext& ctx, const DeformShape& shape, const double* src,
                                  const double* offset, const double* diff_matrix, double* diff_offset) {
  give_to_offset(ctx, shape, src, offset, diff_matrix, diff_offset);
}

}  // namespace isobit::kernels
