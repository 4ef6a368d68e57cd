#include "isobit/graph/ops/sources.h"

#include <algorithm>

#include "isobit/graph/ops/parameters.h"

namespace isobit::graph::ops {

Coordinates coordinates_of(std::span<const int64_t> dims, int64_t element) {
  Coordinates at(dims.size());
  for (size_t a = dims.size(); a-- > 0; element /= dims[a]) at[a] = element % dims[a];
  return at;
}

int64_t element_at(std::span<const int64_t> dims, std::span<const int64_t> at) {
  int64_t element = 0;
  for (size_t a = 0; a < dims.size(); ++a) element = element * dims[a] + at[a];
  return element;
}

int64_t broadcast_element(std::span<const int64_t> dims, std::span<const int64_t> at) {
  int64_t element = 0;
  const std::span<const int64_t> last = at.last(std::min(dims.size(), at.size()));
  // An array of more axes than the place has extents of 1 there.
  const size_t more = dims.size() - last.size();
  for (size_t a = more; a < dims.size(); ++a) element = element * dims[a] + (dims[a] == 1 ? 0 : last[a - more]);
  return element;
}

std::optional<std::vector<int64_t>> parameter_of(const ElementQuery& q, const char* name, int input) {
  return parameter_numbers(q.node.attributes, name, q.has(input) ? q.operand(input) : nullptr);
}

int64_t integer_at(const ElementQuery& q, int i, int64_t element) { return q.guide_at(i, element).integer; }

Sources no_such_element() { return {{0, -1}}; }

bool too_many(std::span<const int64_t> extents) {
  int64_t count = 1;
  for (const int64_t n : extents) {
    if (n <= 0) return false;
    if (too_many(n) || too_many(count *= n)) return std::ranges::none_of(extents, [](int64_t m) { return m <= 0; });
  }
  return false;
}

Sources more_than_listed() { return {{0, kMoreThanListed}}; }

size_t axis_of(const ElementQuery& q, int64_t fallback, size_t rank) {
  const int64_t axis = q.node.attributes.integer("axis", fallback);
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Sources same_element(const ElementQuery& q) { return {{0, q.element}}; }

Sources no_element(const ElementQuery&) { return {}; }

Sources broadcast_elements(const ElementQuery& q) {
  const Coordinates at = coordinates_of(q.dims(), q.element);
  Sources sources;
  for (size_t i = 0; i < q.inputs.size(); ++i) {
    if (q.has(static_cast<int>(i))) sources.push_back({static_cast<int>(i), broadcast_element(q.inputs[i], at)});
  }
  return sources;
}

Sources of_channel(const ElementQuery& q) {
  Sources sources = {{0, q.element}};
  const int64_t channel = coordinates_of(q.dims(), q.element)[1];
  for (size_t i = 1; i < q.inputs.size(); ++i) sources.push_back({static_cast<int>(i), channel});
  return sources;
}

Sources of_row(const ElementQuery& q) {
  Sources sources = {{0, q.element}};
  const int64_t row = q.element / q.dims()[1];
  for (size_t i = 1; i < q.inputs.size(); ++i) sources.push_back({static_cast<int>(i), q.inputs[i].empty() ? 0 : row});
  return sources;
}

Sources of_block(const ElementQuery& q) {
  Sources sources = {{0, q.element}};
  const std::vector<int64_t>& scales = q.inputs[1];
  int64_t scale = 0;
  const int64_t block = q.node.attributes.integer("block_size", 0);
  const bool is_one = block == 0 && (scales.empty() || scales == std::vector<int64_t>{1});
  if (!is_one) {
    Coordinates at = coordinates_of(q.dims(), q.element);
    const size_t axis = axis_of(q, 1, at.size());
    if (block > 0) at[axis] /= block;
    scale = block > 0 ? element_at(scales, at) : at[axis];
  }
  for (int i : {1, 2}) {
    if (q.has(i)) sources.push_back({i, scale});
  }
  return sources;
}

NumberedSources places_of_box(int input, std::vector<int64_t> dims, Coordinates at, const std::vector<bool>& all) {
  std::vector<size_t> axes;
  int64_t count = 1;
  for (size_t a = 0; a < dims.size(); ++a) {
    if (!all[a]) continue;
    axes.push_back(a);
    count *= dims[a];
  }
  return {count, [input, dims = std::move(dims), at = std::move(at), axes = std::move(axes)](int64_t i) {
            Coordinates place = at;
            for (size_t k = axes.size(); k-- > 0; i /= dims[axes[k]]) place[axes[k]] = i % dims[axes[k]];
            return ElementSource{input, element_at(dims, place)};
          }};
}

// Which axes are reduced: those that the output does not have, or has as 1, from the parameter where that is not plain.
NumberedSources of_cell(const ElementQuery& q) {
  const std::vector<int64_t>&src = q.inputs[0], &dst = q.dims();
  std::vector<bool> reduced(src.size(), false);
  Coordinates at(src.size(), 0);
  const Coordinates kept = coordinates_of(dst, q.element);
  if (q.node.attributes.has("shape")) {  // SumTo: broadcasting the other way round
    const size_t more = src.size() - dst.size();
    for (size_t a = 0; a < src.size(); ++a) {
      reduced[a] = a < more || dst[a - more] == 1;
      if (!reduced[a]) at[a] = kept[a - more];
    }
  } else {
    const auto axes = parameter_of(q, "axes", 1);
    const bool none = q.node.attributes.integer("noop_with_empty_axes", 0) != 0;
    if (!axes || axes->empty()) reduced.assign(src.size(), !none);
    for (const int64_t axis : axes.value_or(std::vector<int64_t>())) {
      reduced[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(src.size()) : axis)] = true;
    }
    const bool keeps = q.node.attributes.integer("keepdims", 1) != 0;
    for (size_t a = 0, k = 0; a < src.size(); ++a) {
      if (!reduced[a]) at[a] = kept[k];
      k += !reduced[a] || keeps ? 1 : 0;
    }
  }
  return places_of_box(0, src, std::move(at), reduced);
}

}  // namespace isobit::graph::ops
