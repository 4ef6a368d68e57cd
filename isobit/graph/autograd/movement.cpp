#include <algorithm>
#include <numeric>

#include "isobit/base/text.h"
#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/ops.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

// One gradient, of input 0.
Values of_first(const GradContext& c, ValueId diff) {
  Values diffs(c.node.inputs.size(), kNoValue);
  diffs[0] = diff;
  return diffs;
}

Values reshape(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  Attributes attributes = {{"shape", src}};
  // Said only where it means something, so that graphs stay what they were.
  if (std::find(src.begin(), src.end(), 0) != src.end()) attributes.set("allowzero", int64_t{1});
  return of_first(c, c.graph.emit("Reshape", {c.diff()}, attributes, c.diff_name(0)));
}

ValueId transposed_back(GradContext& c, ValueId diff, const Dims& perm) {
  Dims inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return c.graph.emit("Transpose", {diff}, {{"perm", inverse}}, c.diff_name(0));
}

Values transpose(GradContext& c) {
  Dims reversed(c.dims(c.input(0)).size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return {transposed_back(c, c.diff(), c.node.attributes.integers("perm", reversed))};
}

Values concat(GradContext& c) {
  const size_t rank = c.dims(c.input(0)).size();
  const int64_t axis = c.node.attributes.integer("axis", 0);
  const auto a = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
  Values out;
  Dims starts(rank, 0);
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    const Dims counts = c.dims(c.node.inputs[i]);
    out.push_back(c.wanted[i] ? c.graph.emit("isobit.Block", {c.diff()}, {{"starts", starts}, {"counts", counts}},
                                             c.diff_name(static_cast<int>(i)))
                              : kNoValue);
    starts[a] += counts[a];
  }
  return out;
}

Values expand(GradContext& c) { return of_first(c, sum_to_shape_of(c.graph, c.diff(), c.input(0), c.diff_name(0))); }

// The repetitions of an axis become an axis of their own, over which is summed.
Values tile(GradContext& c) {
  const Dims src = c.dims(c.input(0)), dst = c.dims(c.diff());
  Dims apart, axes;
  for (size_t i = 0; i < src.size(); ++i) {
    axes.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(src[i] == 0 ? 1 : dst[i] / src[i]);
    apart.push_back(src[i]);
  }
  if (axes.empty()) return of_first(c, c.diff());
  if (!ops::check_countable(DType::kFloat32, Dims(apart.size(), 0))) {
    c.refusal = text_of("no gradient for ", src.size(), " axes");
    return of_first(c, kNoValue);
  }
  const ValueId diff =
      c.graph.emit("Reshape", {c.diff()}, {{"shape", apart}, {"allowzero", int64_t{1}}}, c.diff_name(0));
  return of_first(c, c.graph.emit("ReduceSum", {diff}, {{"axes", axes}, {"keepdims", int64_t{0}}}, c.diff_name(0)));
}

// The gradient of Reshape to `apart`, Transpose by `perm`, and a last Reshape.
Values through_six_axes(GradContext& c, const Dims& apart, const Dims& perm) {
  Dims moved;
  for (const int64_t p : perm) moved.push_back(apart[static_cast<size_t>(p)]);
  const Dims src = c.dims(c.input(0));
  const Attributes to_moved = {{"shape", moved}, {"allowzero", int64_t{1}}};
  const ValueId diff = transposed_back(c, c.graph.emit("Reshape", {c.diff()}, to_moved, c.diff_name(0)), perm);
  return {c.graph.emit("Reshape", {diff}, {{"shape", src}, {"allowzero", int64_t{1}}}, c.diff_name(0))};
}

Values depth_to_space(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  const int64_t b = c.node.attributes.integer("blocksize", 1), channels = src[1] / (b * b);
  if (c.node.attributes.text("mode", "DCR") == "DCR")
    return through_six_axes(c, {src[0], b, b, channels, src[2], src[3]}, {0, 3, 4, 1, 5, 2});
  return through_six_axes(c, {src[0], channels, b, b, src[2], src[3]}, {0, 1, 4, 2, 5, 3});
}

Values space_to_depth(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  const int64_t b = c.node.attributes.integer("blocksize", 1);
  return through_six_axes(c, {src[0], src[1], src[2] / b, b, src[3] / b, b}, {0, 3, 5, 1, 2, 4});
}

// What the node does to its source it does to the gradient: zeros stay zeros, and sequences are turned back.
Values the_same_again(GradContext& c) {
  Values operands = c.node.inputs;
  operands[0] = c.diff();
  return of_first(c, c.graph.emit(c.node.op, operands, c.node.attributes, c.diff_name(0)));
}

}  // namespace

void add_movement(Rules& rules) {
  rules["Reshape"] = reshape;
  rules["Flatten"] = reshape;
  rules["Squeeze"] = reshape;
  rules["Unsqueeze"] = reshape;
  rules["Transpose"] = transpose;
  rules["Concat"] = concat;
  rules["Expand"] = expand;
  rules["Tile"] = tile;
  rules["DepthToSpace"] = depth_to_space;
  rules["SpaceToDepth"] = space_to_depth;
  rules["Trilu"] = the_same_again;
  rules["ReverseSequence"] = the_same_again;
}

}  // namespace isobit::graph::autograd
