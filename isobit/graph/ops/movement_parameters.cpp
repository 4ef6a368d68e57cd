#include "isobit/graph/ops/movement_parameters.h"

#include <algorithm>
#include <numeric>

#include "isobit/base/text.h"
#include "isobit/graph/ops/parameters.h"

namespace isobit::graph::ops {
namespace {

// No tensor is longer than that, and sums of two do not overflow.
Status check_pad(int64_t pad) {
  constexpr int64_t kMost = int64_t{1} << 60;
  if (pad < -kMost || pad > kMost) return unreadable(text_of("a pad of ", pad));
  return {};
}

}  // namespace

Expected<std::vector<size_t>> distinct_axes(const std::optional<Numbers>& axes, size_t rank) {
  std::vector<size_t> found;
  if (!axes) {
    found.resize(rank);
    std::iota(found.begin(), found.end(), size_t{0});
    return found;
  }
  std::vector<bool> named(rank, false);
  for (const int64_t axis : *axes) {
    ISOBIT_TRY(const int64_t a, normalized_axis(axis, static_cast<int>(rank)));
    const auto place = static_cast<size_t>(a);
    if (named[place]) return unreadable(text_of("axis ", axis, " is named twice"));
    named[place] = true;
    found.push_back(place);
  }
  return found;
}

Expected<std::vector<SliceRange>> slice_ranges(const Numbers& dims, const Numbers& starts, const Numbers& ends,
                                               const std::optional<Numbers>& axes,
                                               const std::optional<Numbers>& steps) {
  // Without axes, starts are of the first ones.
  const size_t sliced = axes ? axes->size() : std::min(starts.size(), dims.size());
  if (starts.size() != sliced || ends.size() != sliced || (steps && steps->size() != sliced)) {
    return unreadable(text_of("found ", starts.size(), " starts, ", ends.size(), " ends and ",
                              steps ? steps->size() : sliced, " steps, expected one of each for ", sliced, " axes"));
  }
  ISOBIT_TRY(const auto places, distinct_axes(axes, dims.size()));
  std::vector<SliceRange> ranges;
  for (const int64_t d : dims) ranges.push_back({0, d, 1});
  for (size_t i = 0; i < sliced; ++i) {
    const int64_t step = steps ? (*steps)[i] : 1, dim = dims[places[i]];
    if (step == 0) return unreadable("a step of 0");
    if (dim >= 0) ranges[places[i]] = resolve_slice(dim, starts[i], ends[i], step);
  }
  return ranges;
}

Expected<Pads> pads_of_axes(size_t rank, const Numbers& pads, const std::optional<Numbers>& axes) {
  ISOBIT_TRY(const auto places, distinct_axes(axes, rank));
  if (pads.size() != 2 * places.size()) {
    return unreadable(text_of("found ", pads.size(), " pads, expected 2 for each of ", places.size(), " axes"));
  }
  Pads all{Numbers(rank, 0), Numbers(rank, 0)};
  for (size_t i = 0; i < places.size(); ++i) {
    for (const int64_t pad : {pads[i], pads[places.size() + i]}) {
      ISOBIT_RETURN_IF_ERROR(check_pad(pad));
    }
    all.before[places[i]] = pads[i];
    all.after[places[i]] = pads[places.size() + i];
  }
  return all;
}

Expected<Pads> centering_pads(const Numbers& dims, const Numbers& extents, const std::optional<Numbers>& axes) {
  ISOBIT_TRY(const auto places, distinct_axes(axes, dims.size()));
  if (extents.size() != places.size()) {
    return unreadable(text_of("found ", extents.size(), " extents, expected one for each of ", places.size(), " axes"));
  }
  Pads pads{Numbers(dims.size(), 0), Numbers(dims.size(), 0)};
  for (size_t i = 0; i < places.size(); ++i) {
    if (extents[i] < 0) return unreadable(text_of("an extent of ", extents[i]));
    if (dims[places[i]] < 0) continue;
    const int64_t more = extents[i] - dims[places[i]], half = more / 2;
    ISOBIT_RETURN_IF_ERROR(check_pad(more - half));
    pads.before[places[i]] = half;
    pads.after[places[i]] = more - half;
  }
  return pads;
}

Expected<Numbers> split_sizes(int64_t dim, size_t parts, const std::optional<Numbers>& sizes) {
  const auto n = static_cast<int64_t>(parts);
  if (!sizes) {
    if (dim < 0) return Numbers(parts, -1);
    const int64_t each = dim / n + (dim % n != 0 ? 1 : 0), last = dim - each * (n - 1);
    if (last < 0) return unreadable(text_of("a part of size ", last, ": ", n, " parts of ", dim, " elements"));
    Numbers equal(parts, each);
    equal.back() = last;
    return equal;
  }
  if (sizes->size() != parts) {
    return unreadable(text_of("found ", sizes->size(), " sizes of parts, expected ", parts));
  }
  int64_t total = 0;
  for (const int64_t size : *sizes) {
    if (size < 0 || __builtin_add_overflow(total, size, &total)) return unreadable(text_of("a part of size ", size));
  }
  if (dim >= 0 && total != dim) return unreadable(text_of("the parts have ", total, " elements, the axis has ", dim));
  return *sizes;
}

std::optional<Numbers> known_parameter(const Graph& graph, const Node& node, const char* name, int input) {
  const auto i = static_cast<size_t>(input);
  const bool given = i < node.inputs.size() && node.inputs[i] != kNoValue;
  return parameter_numbers(node.attributes, name, given ? graph.initializer(node.inputs[i]) : nullptr);
}

}  // namespace isobit::graph::ops
