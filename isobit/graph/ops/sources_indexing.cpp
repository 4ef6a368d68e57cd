// Of operators that other operands tell where: the element that they name.
#include <algorithm>

#include "isobit/graph/ops/sources.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph::ops {
namespace {

// Index number `element` of input i, of an axis of this extent; -1: it names no place of that.
int64_t index_at(const ElementQuery& q, int i, int64_t element, int64_t extent) {
  const int64_t index = integer_at(q, i, element);
  if (index < -extent || index >= extent) return -1;
  return index < 0 ? index + extent : index;
}

bool truth_at(const ElementQuery& q, int i, int64_t element) { return integer_at(q, i, element) != 0; }

// Of Gather: which of its indices.
int64_t gathered_index(const ElementQuery& q) {
  const Coordinates place = place_of(q);
  const auto first = place.begin() + static_cast<std::ptrdiff_t>(axis_of(q, 0, src_dims(q).size()));
  return element_at(q.inputs[1], Coordinates(first, first + static_cast<std::ptrdiff_t>(q.inputs[1].size())));
}

// Of GatherND: which of its tuples.
int64_t gathered_tuple(const ElementQuery& q) {
  const Coordinates place = place_of(q);
  const std::span<const int64_t> tuples = std::span(q.inputs[1]).first(q.inputs[1].size() - 1);
  return element_at(tuples, std::span(place).first(tuples.size()));
}

// Of OneHot: where its index is.
int64_t marked_index(const ElementQuery& q) {
  Coordinates at = place_of(q);
  at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis_of(q, -1, at.size())));
  return element_at(q.inputs[0], at);
}

}  // namespace

SourceRule index_of_place(int input) {
  return [input](const ElementQuery& q) { return Sources{{input, q.element}}; };
}

Sources condition_of(const ElementQuery& q) { return {{0, broadcast_element(q.inputs[0], place_of(q))}}; }
Sources index_of_gathered(const ElementQuery& q) { return {{1, gathered_index(q)}}; }

Sources tuple_of_gathered(const ElementQuery& q) {
  Sources sources;
  const int64_t length = q.inputs[1].back();
  for (int64_t k = 0; k < length; ++k) sources.push_back({1, gathered_tuple(q) * length + k});
  return sources;
}

Sources begin_of_batch(const ElementQuery& q) {
  if (!q.has(2)) return {};
  return {{2, place_of(q)[0]}};
}

Sources index_of_mark(const ElementQuery& q) { return {{0, marked_index(q)}}; }

SourceRule indices_of_line(int input, int64_t fallback_axis) {
  return [input, fallback_axis](const ElementQuery& q) {
    const std::vector<int64_t>& indices = q.inputs[static_cast<size_t>(input)];
    Coordinates at = place_of(q);
    const size_t axis = axis_of(q, fallback_axis, at.size());
    Sources sources;
    for (size_t a = 0; a < at.size(); ++a) {
      if (a != axis && at[a] >= indices[a]) return sources;
    }
    if (too_many(indices[axis])) return more_than_listed();
    for (at[axis] = 0; at[axis] < indices[axis]; ++at[axis]) sources.push_back({input, element_at(indices, at)});
    return sources;
  };
}

Sources chosen(const ElementQuery& q) {
  const Coordinates at = place_of(q);
  const int input = truth_at(q, 0, condition_of(q)[0].element) ? 1 : 2;
  return {{input, broadcast_element(q.inputs[static_cast<size_t>(input)], at)}};
}

// [before the axis, indices, behind it]
Sources gathered(const ElementQuery& q) {
  const Coordinates place = place_of(q);
  const size_t axis = axis_of(q, 0, src_dims(q).size());
  const auto first = place.begin() + static_cast<std::ptrdiff_t>(axis);
  Coordinates at(place.begin(), first);
  at.push_back(index_at(q, 1, gathered_index(q), src_dims(q)[axis]));
  if (at.back() < 0) return no_such_element();
  at.insert(at.end(), first + static_cast<std::ptrdiff_t>(q.inputs[1].size()), place.end());
  return from(q, at);
}

Sources gathered_elements(const ElementQuery& q) {
  Coordinates at = place_of(q);
  const size_t axis = axis_of(q, 0, at.size());
  at[axis] = index_at(q, 1, q.element, src_dims(q)[axis]);
  return at[axis] < 0 ? no_such_element() : from(q, at);
}

// [batches, tuples, what a tuple leaves]
Sources gathered_parts(const ElementQuery& q) {
  const Coordinates place = place_of(q);
  const int64_t length = q.inputs[1].back();
  const auto batch = static_cast<std::ptrdiff_t>(q.node.attributes.integer("batch_dims", 0));
  const auto behind = place.begin() + static_cast<std::ptrdiff_t>(q.inputs[1].size() - 1);
  const int64_t tuple = gathered_tuple(q);
  Coordinates at(place.begin(), place.begin() + batch);
  for (int64_t k = 0; k < length; ++k) {
    at.push_back(index_at(q, 1, tuple * length + k, src_dims(q)[at.size()]));
    if (at.back() < 0) return no_such_element();
  }
  at.insert(at.end(), behind, place.end());
  return from(q, at);
}

Sources compressed(const ElementQuery& q) {
  const bool is_flat = !q.node.attributes.has("axis");
  Coordinates at = place_of(q);
  const size_t axis = is_flat ? 0 : axis_of(q, 0, at.size());
  int64_t place = -1;
  for (int64_t left = at[axis]; left >= 0;) left -= truth_at(q, 1, ++place) ? 1 : 0;
  at[axis] = place;
  return is_flat ? Sources{{0, place}} : from(q, at);
}

// (past, update, where each batch's update begins)
Sources replaced(const ElementQuery& q) {
  Coordinates at = place_of(q);
  const size_t axis = axis_of(q, -2, at.size());
  const int64_t extent = src_dims(q)[axis], length = q.inputs[1][axis];
  const int64_t begin = q.has(2) ? integer_at(q, 2, at[0]) % extent : 0;
  const int64_t behind = ((at[axis] - begin) % extent + extent) % extent;
  if (behind >= length) return from(q, at);
  at[axis] = behind;
  return {{1, element_at(q.inputs[1], at)}};
}

// (indices, depth, [off, on])
Sources marked(const ElementQuery& q) {
  const Coordinates at = place_of(q);
  const size_t axis = axis_of(q, -1, at.size());
  return {{2, index_at(q, 0, marked_index(q), q.dims()[axis]) == at[axis] ? 1 : 0}};
}

// (diff_values, places): the value whose place this is.
Sources rank_put(const ElementQuery& q) {
  const Coordinates at = place_of(q);
  const int64_t here = at[axis_of(q, -1, at.size())];
  for (const ElementSource& s : indices_of_line(1, -1)(q)) {
    if (integer_at(q, 1, s.element) == here) return {{0, s.element}};
  }
  return {};
}

// [n, c * taps, positions]
Sources under_tap(const ElementQuery& q) {
  const std::span<const int64_t> image = image_of(src_dims(q));
  const Windows windows = *read_windows(q.node.attributes, image, {});
  std::vector<int64_t> sizes, counts;
  for (size_t a = 0; a < windows.size(); ++a) {
    sizes.push_back(windows[a].size);
    counts.push_back(windows[a].count(image[a]));
  }
  const Coordinates place = place_of(q);
  const int64_t channels = src_dims(q)[1], taps = q.dims()[1] / std::max<int64_t>(channels, 1);
  const Coordinates tap = coordinates_of(sizes, place[1] % taps), window = coordinates_of(counts, place[2]);
  Coordinates at = {place[0], place[1] / taps};
  for (size_t a = 0; a < windows.size(); ++a) {
    at.push_back(window[a] * windows[a].stride - windows[a].pad_begin + tap[a] * windows[a].dilation);
    if (at.back() < 0 || at.back() >= image[a]) return {};
  }
  return from(q, at);
}

// (src, places, ...): the last one whose place this is. Places count in planes that may be a corner of the result's.
Sources unpooled(const ElementQuery& q) {
  const std::vector<int64_t> natural = *unpooled_dims(q.node.attributes, src_dims(q));
  const Coordinates at = place_of(q);
  for (size_t a = 0; a < at.size(); ++a) {
    if (at[a] >= natural[a]) return {};
  }
  const int64_t here = element_at(natural, at);
  for (int64_t i = q.operand(1)->elements(); i-- > 0;) {
    if (integer_at(q, 1, i) == here) return {{0, i}};
  }
  return {};
}

Sources in_window(const ElementQuery& q) {
  const std::span<const int64_t> image = image_of(src_dims(q));
  const Windows windows = *read_windows(q.node.attributes, image, {});
  const Coordinates place = place_of(q);
  int64_t taps = 1;
  std::vector<int64_t> sizes;
  for (const AxisWindow& w : windows) {
    sizes.push_back(w.size);
    taps *= w.size;
  }
  if (too_many(sizes)) return more_than_listed();
  Sources sources;
  for (int64_t t = 0; t < taps; ++t) {
    const Coordinates tap = coordinates_of(sizes, t);
    Coordinates at = {place[0], place[1]};
    bool inside = true;
    for (size_t a = 0; a < windows.size(); ++a) {
      at.push_back(place[a + 2] * windows[a].stride - windows[a].pad_begin + tap[a] * windows[a].dilation);
      inside = inside && at.back() >= 0 && at.back() < image[a];
    }
    if (inside) sources.push_back({0, element_at(src_dims(q), at)});
  }
  return sources;
}

Sources of_plane(const ElementQuery& q) {
  int64_t area = 1;
  for (const int64_t d : image_of(src_dims(q))) area *= d;
  if (too_many(area)) return more_than_listed();
  Sources sources;
  for (int64_t i = 0; i < area; ++i) sources.push_back({0, q.element * area + i});
  return sources;
}

}  // namespace isobit::graph::ops
