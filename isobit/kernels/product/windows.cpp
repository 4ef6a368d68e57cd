#include "isobit/kernels/product/windows.h"

#include <utility>

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

WindowPart part_of(const Windows& w, const AxisPart& v, const AxisPart& h, bool skip_missing) {
  WindowPart part;
  part.first_h = v.first;
  part.first_w = h.first;
  part.stride_h = w.rows.divisor;
  part.stride_w = w.columns.divisor;
  for (int64_t y = 0; y < w.rows.taps; ++y) {
    for (int64_t x = 0; x < w.columns.taps; ++x) {
      if (skip_missing && !(v.meets(y) && h.meets(x))) continue;
      part.taps.push_back({v.displacement(y), h.displacement(x), y * w.columns.taps + x});
    }
  }
  WindowGrid& g = part.grid;
  g.taps = part.taps.data();
  g.tap_count = static_cast<int64_t>(part.taps.size());
  g.channels = w.channels;
  g.channel_stride = w.plane();
  g.image_stride = w.image_stride;
  g.plane_h = w.rows.places;
  g.plane_w = w.columns.places;
  g.grid_h = v.count();
  g.grid_w = h.count();
  g.step_h = w.rows.step;
  g.step_w = w.columns.step;
  return part;
}

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

std::vector<WindowPart> parts_of(const Windows& w, bool skip_missing) {
  std::vector<WindowPart> parts;
  for (int64_t y = 0; y < part_count(w.rows); ++y) {
    for (int64_t x = 0; x < part_count(w.columns); ++x) {
      parts.push_back(part_of(w, {w.rows, y}, {w.columns, x}, skip_missing));
    }
  }
  return parts;
}

bool may_miss_parts(const Windows& w) { return w.rows.divisor > 1 || w.columns.divisor > 1; }

}  // namespace isobit::kernels::product
