// The terms of inner products: pairs of an element of input 0 and one of input 1, one pair behind the other in the
// order of memory, and behind them the element of input 2 that is added.
#include <algorithm>

#include "isobit/graph/ops/sources.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {
namespace {

void add_pair(Sources& sources, int64_t a, int64_t b) {
  sources.push_back({0, a});
  sources.push_back({1, b});
}

// f(all places below these extents), row-major.
template <class F>
void each_place(std::span<const int64_t> extents, F&& f) {
  int64_t count = 1;
  for (const int64_t d : extents) count *= d;
  for (int64_t i = 0; i < count; ++i) f(coordinates_of(extents, i));
}

std::vector<int64_t> sizes_of(const Windows& windows) {
  std::vector<int64_t> sizes;
  for (const AxisWindow& w : windows) sizes.push_back(w.size);
  return sizes;
}

Coordinates joined(Coordinates first, const Coordinates& behind) {
  first.insert(first.end(), behind.begin(), behind.end());
  return first;
}

Coordinates image_place(const Coordinates& at) { return {at.begin() + 2, at.end()}; }

// Where the tap of a window lies in the image; false: beside it.
bool find_place(const Windows& windows, std::span<const int64_t> image, const Coordinates& window,
                const Coordinates& tap, Coordinates& place) {
  place.resize(windows.size());
  for (size_t a = 0; a < windows.size(); ++a) {
    const AxisWindow& w = windows[a];
    place[a] = window[a] * w.stride - w.pad_begin + tap[a] * w.dilation;
    if (place[a] < 0 || place[a] >= image[a]) return false;
  }
  return true;
}

// The other way: the window whose tap lies at a place; false: there is none.
bool find_window(const Windows& windows, std::span<const int64_t> counts, const Coordinates& place,
                 const Coordinates& tap, Coordinates& window) {
  window.resize(windows.size());
  for (size_t a = 0; a < windows.size(); ++a) {
    const AxisWindow& w = windows[a];
    const int64_t from_first = place[a] + w.pad_begin - tap[a] * w.dilation;
    window[a] = from_first / w.stride;
    if (from_first < 0 || from_first % w.stride != 0 || window[a] >= counts[a]) return false;
  }
  return true;
}

// (diff_dst [n, oc, windows ..], weights [oc, ic / group, taps ..]) -> [n, ic, image ..]
Sources back_through(const ElementQuery& q, const Windows& windows) {
  const std::vector<int64_t>&diff = q.inputs[0], &weights = q.inputs[1];
  const Coordinates at = place_of(q), place = image_place(at);
  const int64_t channels = weights[1], outputs = weights[0] / q.node.attributes.integer("group", 1);
  const int64_t group = at[1] / channels;
  Sources sources;
  Coordinates window;
  for (int64_t oc = group * outputs; oc < (group + 1) * outputs; ++oc) {
    each_place(sizes_of(windows), [&](const Coordinates& tap) {
      if (!find_window(windows, image_of(diff), place, tap, window)) return;
      add_pair(sources, element_at(diff, joined({at[0], oc}, window)),
               element_at(weights, joined({oc, at[1] % channels}, tap)));
    });
  }
  return sources;
}

}  // namespace

// Also Gemm: a third operand is a row that is added.
Sources of_matrices(const ElementQuery& q) {
  const std::vector<int64_t>&a = q.inputs[0], &b = q.inputs[1];
  const bool ta = q.node.attributes.integer("transA", 0) != 0, tb = q.node.attributes.integer("transB", 0) != 0;
  Coordinates left = place_of(q), right = left;
  const size_t row = left.size() - 2, column = left.size() - 1;
  const int64_t i = left[row], j = left[column], terms = a[a.size() - (ta ? 2 : 1)];
  Sources sources;
  for (int64_t l = 0; l < terms; ++l) {
    left[ta ? column : row] = i;
    left[ta ? row : column] = l;
    right[tb ? row : column] = j;
    right[tb ? column : row] = l;
    add_pair(sources, broadcast_element(a, left), broadcast_element(b, right));
  }
  if (q.has(2)) sources.push_back({2, j});
  return sources;
}

Sources of_convolution(const ElementQuery& q) {
  const std::vector<int64_t>&src = q.inputs[0], &weights = q.inputs[1];
  const Windows windows = *read_windows(q.node.attributes, image_of(src), image_of(weights));
  const Coordinates at = place_of(q), window = image_place(at);
  const int64_t outputs = weights[0] / q.node.attributes.integer("group", 1), first = at[1] / outputs * weights[1];
  Sources sources;
  Coordinates place;
  for (int64_t c = 0; c < weights[1]; ++c) {
    each_place(image_of(weights), [&](const Coordinates& tap) {
      if (!find_place(windows, image_of(src), window, tap, place)) return;
      add_pair(sources, element_at(src, joined({at[0], first + c}, place)),
               element_at(weights, joined({at[1], c}, tap)));
    });
  }
  if (q.has(2)) sources.push_back({2, at[1]});
  return sources;
}

Sources of_convolution_grad_src(const ElementQuery& q) {
  const std::vector<int64_t> src = q.node.attributes.integers("src_shape", {});
  return back_through(q, *read_windows(q.node.attributes, image_of(src), image_of(q.inputs[1])));
}

Sources of_transposed_convolution(const ElementQuery& q) {
  return back_through(
      q, read_transposed_windows(q.node.attributes, image_of(q.inputs[0]), image_of(q.inputs[1]))->windows);
}

// (src, diff_dst) -> [oc, ic / group, taps ..]
Sources of_convolution_grad_weights(const ElementQuery& q) {
  const std::vector<int64_t>&src = q.inputs[0], &diff = q.inputs[1], &weights = q.dims();
  const Windows windows = *read_windows(q.node.attributes, image_of(src), image_of(weights));
  const Coordinates at = place_of(q), tap = image_place(at);
  const int64_t outputs = weights[0] / q.node.attributes.integer("group", 1);
  const int64_t channel = at[0] / outputs * weights[1] + at[1];
  Sources sources;
  Coordinates place;
  for (int64_t n = 0; n < src[0]; ++n) {
    each_place(image_of(diff), [&](const Coordinates& window) {
      if (!find_place(windows, image_of(src), window, tap, place)) return;
      add_pair(sources, element_at(src, joined({n, channel}, place)), element_at(diff, joined({n, at[0]}, window)));
    });
  }
  return sources;
}

}  // namespace isobit::graph::ops
