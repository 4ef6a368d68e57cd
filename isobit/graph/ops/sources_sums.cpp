// The terms of sums that are no reductions: which elements an element is the sum of.
#include <algorithm>

#include "isobit/graph/ops/movement_parameters.h"
#include "isobit/graph/ops/sources.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {
namespace {

// Every combination of one of the choices for each axis, row-major, in an array of these dimensions.
Sources combined(int input, std::span<const int64_t> dims, const std::vector<std::vector<int64_t>>& choices) {
  std::vector<int64_t> counts;
  int64_t total = 1;
  for (const auto& of_axis : choices) {
    counts.push_back(static_cast<int64_t>(of_axis.size()));
    total *= counts.back();
  }
  if (too_many(counts)) return more_than_listed();
  Sources sources;
  for (int64_t i = 0; i < total; ++i) {
    Coordinates at = coordinates_of(counts, i);
    for (size_t a = 0; a < at.size(); ++a) at[a] = choices[a][static_cast<size_t>(at[a])];
    sources.push_back({input, element_at(dims, at)});
  }
  return sources;
}

std::vector<int64_t> all_below(int64_t n) {
  std::vector<int64_t> all;
  for (int64_t i = 0; i < n; ++i) all.push_back(i);
  return all;
}

// Every place of axes 0 .. dims.size() - 1, of which these have all their places and the others the one of `at`.
Sources all_on(int input, std::span<const int64_t> dims, const Coordinates& at, const std::vector<bool>& all) {
  std::vector<std::vector<int64_t>> choices;
  for (size_t a = 0; a < dims.size(); ++a) {
    if (all[a] && too_many(dims[a])) return more_than_listed();
    choices.push_back(all[a] ? all_below(dims[a]) : std::vector<int64_t>{at[a]});
  }
  return combined(input, dims, choices);
}

// An index that may count from the end.
int64_t wrapped(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

// Which elements of the input behind these integers, input `by`, belong to this place.
Sources element_takers(const ElementQuery& q, int by) {
  const Coordinates at = place_of(q);
  const size_t axis = axis_of(q, 0, at.size());
  Sources sources;
  for (const ElementSource& s : indices_of_line(by, 0)(q)) {
    if (wrapped(integer_at(q, by, s.element), q.dims()[axis]) == at[axis]) sources.push_back({by + 1, s.element});
  }
  return sources;
}

Sources part_takers(const ElementQuery& q, int by) {
  const Coordinates at = place_of(q);
  std::vector<int64_t> tuples = q.inputs[static_cast<size_t>(by)];
  const int64_t length = tuples.back();
  tuples.pop_back();
  const auto batch = static_cast<size_t>(q.node.attributes.integer("batch_dims", 0));
  int64_t count = 1;
  for (const int64_t d : tuples) count *= d;
  Sources sources;
  for (int64_t t = 0; t < count; ++t) {
    Coordinates place = coordinates_of(tuples, t);
    bool is_here = std::equal(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(batch), place.begin());
    for (int64_t k = 0; is_here && k < length; ++k) {
      const size_t a = batch + static_cast<size_t>(k);
      is_here = wrapped(integer_at(q, by, t * length + k), q.dims()[a]) == at[a];
    }
    place.insert(place.end(), at.begin() + static_cast<std::ptrdiff_t>(batch) + length, at.end());
    if (is_here) sources.push_back({by + 1, element_at(q.inputs[static_cast<size_t>(by) + 1], place)});
  }
  return sources;
}

Sources put_over(const ElementQuery& q, const Sources& updates) {
  Sources sources = {{0, q.element}};
  sources.insert(sources.end(), updates.begin(), updates.end());
  if (q.node.attributes.text("reduction", "none") == "none") return {sources.back()};
  return sources;
}

// Of an input as large as diff_dst, the windows over this place.
Sources windows_over(const ElementQuery& q, int input) {
  const std::vector<int64_t>& diff = q.inputs[0];
  const Windows windows = *read_windows(q.node.attributes, image_of(q.dims()), {});
  const Coordinates at = place_of(q);
  std::vector<std::vector<int64_t>> choices = {{at[0]}, {at[1]}};
  for (size_t a = 0; a < windows.size(); ++a) {
    if (too_many(diff[a + 2])) return more_than_listed();
    const AxisWindow& w = windows[a];
    choices.emplace_back();
    for (int64_t o = 0; o < diff[a + 2]; ++o) {
      const int64_t beyond = at[a + 2] + w.pad_begin - o * w.stride;
      if (beyond >= 0 && beyond % w.dilation == 0 && beyond / w.dilation < w.size) choices.back().push_back(o);
    }
  }
  return combined(input, diff, choices);
}

}  // namespace

Sources summed_up_to(const ElementQuery& q) {
  Coordinates at = place_of(q);
  const std::vector<int64_t>& src = q.inputs[0];
  const int64_t given = parameter_of(q, "axis", 1).value_or(std::vector<int64_t>{0})[0];
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(src.size()) : given);
  const int64_t own = q.node.attributes.integer("exclusive", 0) != 0 ? 0 : 1, here = at[axis];
  const bool backward = q.node.attributes.integer("reverse", 0) != 0;
  const int64_t begin = backward ? here + 1 - own : 0, end = backward ? src[axis] : here + own;
  if (too_many(end - begin)) return more_than_listed();
  Sources sources;
  for (at[axis] = begin; at[axis] < end; ++at[axis]) sources.push_back({0, element_at(src, at)});
  if (backward) std::reverse(sources.begin(), sources.end());
  return sources;
}

// (matrix [n, c * taps, positions], image_shape, block_shape): what stands for this place.
Sources folded(const ElementQuery& q) {
  const std::span<const int64_t> image = image_of(q.dims());
  const Windows windows = *read_windows(q.node.attributes, image, *parameter_of(q, "block_shape", 2));
  const Coordinates at = place_of(q);
  std::vector<int64_t> sizes, counts;
  int64_t taps = 1;
  for (size_t a = 0; a < windows.size(); ++a) {
    sizes.push_back(windows[a].size);
    counts.push_back(windows[a].count(image[a]));
    taps *= windows[a].size;
  }
  if (too_many(sizes)) return more_than_listed();
  Sources sources;
  for (int64_t t = 0; t < taps; ++t) {
    const Coordinates tap = coordinates_of(sizes, t);
    Coordinates window(windows.size());
    bool is_there = true;
    for (size_t a = 0; a < windows.size(); ++a) {
      const int64_t from_first = at[a + 2] + windows[a].pad_begin - tap[a] * windows[a].dilation;
      window[a] = from_first / windows[a].stride;
      is_there = is_there && from_first >= 0 && from_first % windows[a].stride == 0 && window[a] < counts[a];
    }
    const Coordinates entry = {at[0], at[1] * taps + t, is_there ? element_at(counts, window) : 0};
    if (is_there) sources.push_back({0, element_at(q.inputs[0], entry)});
  }
  return sources;
}

Sources places_of_windows_over(const ElementQuery& q) { return windows_over(q, 1); }

// (diff_dst[, places]): the windows over this place; with places those whose place it is.
Sources of_windows_over(const ElementQuery& q) {
  Sources sources = windows_over(q, 0);
  if (!q.has(1) || sources == more_than_listed()) return sources;
  const Coordinates at = place_of(q);
  // A place counts over the planes of all images, in either order within a plane.
  int64_t here = q.element;
  if (q.node.attributes.integer("storage_order", 0) != 0) {
    std::vector<int64_t> extents(image_of(q.dims()).rbegin(), image_of(q.dims()).rend());
    const Coordinates turned(at.rbegin(), at.rend() - 2);
    int64_t area = 1;
    for (const int64_t d : extents) area *= d;
    here = q.element / area * area + element_at(extents, turned);
  }
  std::erase_if(sources, [&](const ElementSource& s) { return integer_at(q, 1, s.element) != here; });
  return sources;
}

// (indices, diff_dst): the rows that were taken from here.
Sources of_takers(const ElementQuery& q) {
  const Coordinates at = place_of(q);
  const size_t axis = axis_of(q, 0, at.size());
  const std::vector<int64_t>& indices = q.inputs[0];
  int64_t count = 1;
  for (const int64_t d : indices) count *= d;
  Sources sources;
  for (int64_t i = 0; i < count; ++i) {
    if (wrapped(integer_at(q, 0, i), q.dims()[axis]) != at[axis]) continue;
    Coordinates place(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(axis));
    const Coordinates of_index = coordinates_of(indices, i);
    place.insert(place.end(), of_index.begin(), of_index.end());
    place.insert(place.end(), at.begin() + static_cast<std::ptrdiff_t>(axis) + 1, at.end());
    sources.push_back({1, element_at(q.inputs[1], place)});
  }
  return sources;
}

Sources of_element_takers(const ElementQuery& q) { return element_takers(q, 0); }
Sources of_part_takers(const ElementQuery& q) { return part_takers(q, 0); }
Sources scattered_elements(const ElementQuery& q) { return put_over(q, element_takers(q, 1)); }
Sources scattered_parts(const ElementQuery& q) { return put_over(q, part_takers(q, 1)); }

// Every place of diff_dst, axis by axis, that was taken from here.
Sources of_padded_places(const ElementQuery& q) {
  const std::vector<int64_t>&diff = q.inputs[0], &src = q.dims();
  const Pads pads = pads_of_axes(src.size(), q.node.attributes.integers("pads", {}), std::nullopt).value();
  const std::string mode = q.node.attributes.text("mode", "constant");
  const Coordinates at = place_of(q);
  std::vector<std::vector<int64_t>> choices(src.size());
  for (size_t a = 0; a < src.size(); ++a) {
    if (too_many(diff[a])) return more_than_listed();
    for (int64_t i = 0; i < diff[a]; ++i) {
      if (place_before_padding(mode, i, src[a], pads.before[a], pads.after[a]) == at[a]) choices[a].push_back(i);
    }
  }
  return combined(0, diff, choices);
}

SourceRange of_whole_channel(int input) {
  return [input](const ElementQuery& q) {
    const std::vector<int64_t>& dims = q.inputs[static_cast<size_t>(input)];
    const size_t axis = dims.size() == 1 ? 0 : 1;
    std::vector<bool> all(dims.size(), true);
    all[axis] = false;
    Coordinates at(dims.size(), 0);
    at[axis] = q.element;
    return places_of_box(input, dims, std::move(at), all);
  };
}

Sources of_whole_row(const ElementQuery& q) {
  const std::vector<int64_t>& src = q.inputs[0];
  std::vector<bool> all(src.size(), true);
  std::fill_n(all.begin(), q.dims().size(), false);
  Coordinates at = place_of(q);
  at.resize(src.size(), 0);
  return all_on(0, src, at, all);
}

// (theta [n, rank, rank + 1]) -> [n, points .., rank]
Sources of_map_row(const ElementQuery& q) {
  const Coordinates at = place_of(q);
  const int64_t columns = q.inputs[0][2];
  if (too_many(columns)) return more_than_listed();
  Sources sources;
  for (int64_t j = 0; j < columns; ++j) sources.push_back({0, (at.front() * q.inputs[0][1] + at.back()) * columns + j});
  return sources;
}

// (src, diff_dst): the gradient of the cell times all others of it.
Sources of_others(const ElementQuery& q) {
  const std::vector<int64_t>& src = q.inputs[0];
  std::vector<bool> all(src.size(), false);
  Coordinates at = place_of(q), cell = at;
  for (const int64_t axis : q.node.attributes.integers("axes", {})) {
    const auto a = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(src.size()) : axis);
    all[a] = true;
    cell[a] = 0;
  }
  Sources sources = all_on(0, src, at, all);
  if (sources == more_than_listed()) return sources;
  std::erase(sources, ElementSource{0, q.element});
  sources.push_back({1, element_at(q.inputs[1], cell)});
  return sources;
}

}  // namespace isobit::graph::ops
