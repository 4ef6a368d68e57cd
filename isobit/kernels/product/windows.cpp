#include "isobit/kernels/product/windows.h"

#include "isobit/base/status.h"

namespace isobit::kernels::product {
namespace {

// One direction of a part: every divisor-th position from `first` on.
struct AxisPart {
  const WindowAxis& axis;
  int64_t first;

  int64_t count() const { return (axis.positions - first + axis.divisor - 1) / axis.divisor; }
  int64_t at(int64_t tap) const { return first * axis.step + axis.origin + tap * axis.tap_step; }
  bool meets(int64_t tap) const { return at(tap) % axis.divisor == 0; }
  // Added to step times the place in the part, the place of the plane; out of the plane where the tap meets none.
  int64_t displacement(int64_t tap) const { return meets(tap) ? at(tap) / axis.divisor : -count() * axis.step; }
};

int64_t part_count(const WindowAxis& axis) { return std::min(axis.divisor, axis.positions); }

}  // namespace

Windows forward_windows(const ConvShape& s) {
  Windows w;
  w.rows = {s.kh, s.oh(), s.ih, s.stride_h, -s.pad_top, s.dilation_h, 1};
  w.columns = {s.kw, s.ow(), s.iw, s.stride_w, -s.pad_left, s.dilation_w, 1};
  w.images = s.n;
  w.channels = s.ic / s.groups;
  w.image_stride = s.ic * w.plane();
  return w;
}

Windows backward_windows(const ConvShape& s) {
  Windows w;
  w.rows = {s.kh, s.ih, s.oh(), 1, s.pad_top, -s.dilation_h, s.stride_h};
  w.columns = {s.kw, s.iw, s.ow(), 1, s.pad_left, -s.dilation_w, s.stride_w};
  w.images = s.n;
  w.channels = s.oc / s.groups;
  w.image_stride = s.oc * w.plane();
  return w;
}

int64_t part_count(const Windows& w) { return part_count(w.rows) * part_count(w.columns); }

WindowPart::WindowPart(const Windows& w, int64_t part, Missing missing)
    : first_h(part / part_count(w.columns)),
      first_w(part % part_count(w.columns)),
      stride_h(w.rows.divisor),
      stride_w(w.columns.divisor) {
  for (const WindowAxis* axis : {&w.rows, &w.columns}) ISOBIT_CHECK(axis->step == 1 || axis->divisor == 1);
  const AxisPart v{w.rows, first_h}, h{w.columns, first_w};
  if (w.taps() > kFewTaps) many_.resize(static_cast<size_t>(w.taps()));
  Tap* const taps = many_.empty() ? few_ : many_.data();
  int64_t count = 0;
  for (int64_t y = 0; y < w.rows.taps; ++y) {
    for (int64_t x = 0; x < w.columns.taps; ++x) {
      if (missing == Missing::kSkipped && !(v.meets(y) && h.meets(x))) continue;
      taps[count++] = {v.displacement(y), h.displacement(x), y * w.columns.taps + x};
    }
  }
  grid.taps = taps;
  grid.tap_count = count;
  grid.channels = w.channels;
  grid.channel_stride = w.plane();
  grid.image_stride = w.image_stride;
  grid.plane_h = w.rows.places;
  grid.plane_w = w.columns.places;
  grid.grid_h = v.count();
  grid.grid_w = h.count();
  grid.step_h = w.rows.step;
  grid.step_w = w.columns.step;
}

}  // namespace isobit::kernels::product
