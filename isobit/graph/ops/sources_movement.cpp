// Of operators that move elements: where the one that is asked for was.
#include <algorithm>
#include <numeric>

#include "isobit/graph/ops/movement_parameters.h"
#include "isobit/graph/ops/sources.h"

namespace isobit::graph::ops {
namespace {

// Whether `at` is inside an array of these dimensions.
bool is_inside(const std::vector<int64_t>& dims, const Coordinates& at) {
  for (size_t a = 0; a < dims.size(); ++a) {
    if (at[a] < 0 || at[a] >= dims[a]) return false;
  }
  return true;
}

// Position i of an axis on which n elements are continued beyond their ends (Pad).
int64_t continued(const std::string& mode, int64_t i, int64_t n) {
  if (mode == "edge") return std::clamp<int64_t>(i, 0, n - 1);
  const int64_t period = mode == "wrap" ? n : std::max<int64_t>(2 * (n - 1), 1);
  i = (i % period + period) % period;
  return i < n ? i : period - i;
}

Sources out_of_padding(const ElementQuery& q, const Pads& pads, const std::string& mode) {
  Coordinates at = place_of(q);
  for (size_t a = 0; a < at.size(); ++a) {
    at[a] = place_before_padding(mode, at[a], src_dims(q)[a], pads.before[a], pads.after[a]);
  }
  if (is_inside(src_dims(q), at)) return from(q, at);
  return q.has(2) ? Sources{{2, 0}} : Sources{};
}

}  // namespace

int64_t place_before_padding(const std::string& mode, int64_t i, int64_t extent, int64_t before, int64_t after) {
  const int64_t cropped = std::max<int64_t>(-before, 0), cut = std::max<int64_t>(-after, 0), place = i - before;
  if (mode != "constant") return cropped + continued(mode, place - cropped, extent - cropped - cut);
  return place >= 0 && place < extent ? place : -1;
}

Sources transposed(const ElementQuery& q) {
  const Coordinates place = place_of(q);
  std::vector<int64_t> perm(place.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = q.node.attributes.integers("perm", perm);
  Coordinates at(place.size());
  for (size_t a = 0; a < at.size(); ++a) at[static_cast<size_t>(perm[a])] = place[a];
  return from(q, at);
}

Sources expanded(const ElementQuery& q) { return {{0, broadcast_element(src_dims(q), place_of(q))}}; }

Sources tiled(const ElementQuery& q) {
  Coordinates at = place_of(q);
  for (size_t a = 0; a < at.size(); ++a) at[a] %= src_dims(q)[a];
  return from(q, at);
}

Sources concatenated(const ElementQuery& q) {
  Coordinates at = place_of(q);
  const size_t axis = axis_of(q, 0, at.size());
  for (size_t i = 0; i < q.inputs.size(); ++i) {
    if (at[axis] < q.inputs[i][axis]) return {{static_cast<int>(i), element_at(q.inputs[i], at)}};
    at[axis] -= q.inputs[i][axis];
  }
  return {};
}

Sources depth_to_space(const ElementQuery& q) {
  const Coordinates at = place_of(q);
  const int64_t b = q.node.attributes.integer("blocksize", 1), channels = q.dims()[1];
  const int64_t in_block = at[2] % b * b + at[3] % b;
  const bool depth_first = q.node.attributes.text("mode", "DCR") == "DCR";
  return from(q, {at[0], depth_first ? in_block * channels + at[1] : at[1] * b * b + in_block, at[2] / b, at[3] / b});
}

Sources space_to_depth(const ElementQuery& q) {
  const Coordinates at = place_of(q);
  const int64_t b = q.node.attributes.integer("blocksize", 1), channels = src_dims(q)[1];
  const int64_t in_block = at[1] / channels;
  return from(q, {at[0], at[1] % channels, at[2] * b + in_block / b, at[3] * b + in_block % b});
}

Sources reversed(const ElementQuery& q) {
  Coordinates at = place_of(q);
  const auto batch = static_cast<size_t>(q.node.attributes.integer("batch_axis", 1)), time = 1 - batch;
  const int64_t length = integer_at(q, 1, at[batch]);
  if (length > src_dims(q)[time]) return no_such_element();
  if (at[time] < length) at[time] = length - 1 - at[time];
  return from(q, at);
}

Sources length_of_batch(const ElementQuery& q) {
  return {{1, place_of(q)[static_cast<size_t>(q.node.attributes.integer("batch_axis", 1))]}};
}

Sources of_triangle(const ElementQuery& q) {
  const Coordinates at = place_of(q);
  const int64_t k = parameter_of(q, "k", 1).value_or(std::vector<int64_t>{0})[0];
  const int64_t above = at[at.size() - 1] - at[at.size() - 2] - k;
  const bool stays = q.node.attributes.integer("upper", 1) != 0 ? above >= 0 : above <= 0;
  return stays ? from(q, at) : Sources{};
}

Sources sliced(const ElementQuery& q) {
  const auto ranges = slice_ranges(src_dims(q), *parameter_of(q, "starts", 1), *parameter_of(q, "ends", 2),
                                   parameter_of(q, "axes", 3), parameter_of(q, "steps", 4))
                          .value();
  Coordinates at = place_of(q);
  for (size_t a = 0; a < at.size(); ++a) at[a] = ranges[a].start + at[a] * ranges[a].step;
  return from(q, at);
}

Sources slice_put(const ElementQuery& q) {
  const auto starts = q.node.attributes.integers("starts", {}), steps = q.node.attributes.integers("steps", {});
  Coordinates at = place_of(q);
  for (size_t a = 0; a < at.size(); ++a) {
    const int64_t beyond = at[a] - starts[a], step = steps[a] == 0 ? 1 : steps[a];
    if (beyond % step != 0) return {};
    at[a] = beyond / step;
  }
  return is_inside(src_dims(q), at) ? from(q, at) : Sources{};
}

Sources of_the_block(const ElementQuery& q) {
  const auto starts = q.node.attributes.integers("starts", {});
  Coordinates at = place_of(q);
  for (size_t a = 0; a < at.size(); ++a) at[a] += starts[a];
  return from(q, at);
}

Sources block_put(const ElementQuery& q) {
  const auto starts = q.node.attributes.integers("starts", {});
  Coordinates at = place_of(q);
  for (size_t a = 0; a < at.size(); ++a) at[a] -= starts[a];
  return is_inside(src_dims(q), at) ? from(q, at) : Sources{};
}

Sources padded(const ElementQuery& q) {
  const Pads pads = pads_of_axes(src_dims(q).size(), *parameter_of(q, "pads", 1), parameter_of(q, "axes", 3)).value();
  return out_of_padding(q, pads, q.node.attributes.text("mode", "constant"));
}

Sources centered(const ElementQuery& q) {
  const Numbers extents = q.dims();
  return out_of_padding(q, centering_pads(src_dims(q), extents, std::nullopt).value(), "constant");
}

Sources of_part(const ElementQuery& q) {
  Coordinates at = place_of(q);
  const size_t axis = axis_of(q, 0, at.size());
  for (size_t o = 0; o < q.output; ++o) at[axis] += q.outputs[o][axis];
  return from(q, at);
}

}  // namespace isobit::graph::ops
