#include <algorithm>

#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/movement_parameters.h"

namespace isobit::graph::autograd {
namespace {

using ops::known_parameter;
using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

Values block(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  return {c.graph.emit("isobit.BlockGrad", {c.diff()}, with(c.node.attributes, "src_shape", src), c.diff_name(0))};
}

Values slice(GradContext& c) {
  const auto parameter = [&](const char* name, int input) { return known_parameter(c.graph, c.node, name, input); };
  // Not known in a graph of known shapes: there is nothing that they could move.
  const Dims src = c.dims(c.input(0));
  const auto ranges =
      ops::slice_ranges(src, parameter("starts", 1).value_or(Dims{}), parameter("ends", 2).value_or(Dims{}),
                        parameter("axes", 3), parameter("steps", 4))
          .value();
  Dims starts, counts, steps;
  for (const SliceRange& r : ranges) {
    starts.push_back(r.start);
    counts.push_back(r.count);
    steps.push_back(r.step);
  }
  Values diffs(c.node.inputs.size(), kNoValue);
  diffs[0] =
      c.graph.emit("isobit.SliceGrad", {c.diff()},
                   {{"starts", starts}, {"counts", counts}, {"steps", steps}, {"src_shape", src}}, c.diff_name(0));
  return diffs;
}

// What was added is taken away, and 0 is put where something was taken away.
ValueId pad_back(GradContext& c, const ops::Pads& pads) {
  Dims negative;
  for (const auto& side : {pads.before, pads.after}) {
    for (const int64_t p : side) negative.push_back(-p);
  }
  return c.graph.emit("Pad", {c.diff()}, {{"pads", negative}}, c.diff_name(0));
}

// What lies where the value was put, added up: 0 padded with 1 is 1 there alone.
ValueId of_padding(GradContext& c, const Dims& pads) {
  const ValueId zeros = filled(c, c.diff(), 0, c.dims(c.input(0)));
  const ValueId one = constant_like(c.graph, c.diff(), 1, "one");
  const ValueId marks = c.graph.emit("Pad", {zeros, kNoValue, one}, {{"pads", pads}}, "padding");
  const ValueId there = c.graph.emit("Mul", {c.diff(), marks}, {}, c.diff_name(2));
  const ValueId sum = c.graph.emit("ReduceSum", {there}, {{"keepdims", int64_t{0}}}, c.diff_name(2));
  return c.graph.emit("Reshape", {sum}, {{"shape", c.dims(c.input(2))}}, c.diff_name(2));
}

Values pad(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  const Dims given = known_parameter(c.graph, c.node, "pads", 1).value_or(Dims{});
  const ops::Pads pads = ops::pads_of_axes(src.size(), given, known_parameter(c.graph, c.node, "axes", 3)).value();
  Values diffs(c.node.inputs.size(), kNoValue);
  const std::string mode = c.node.attributes.text("mode", "constant");
  Dims row = pads.before;
  row.insert(row.end(), pads.after.begin(), pads.after.end());
  if (mode == "constant") {
    if (c.wants(0)) diffs[0] = pad_back(c, pads);
    if (c.wants(2)) diffs[2] = of_padding(c, row);
    return diffs;
  }
  diffs[0] =
      c.graph.emit("isobit.PadGrad", {c.diff()}, {{"pads", row}, {"mode", mode}, {"src_shape", src}}, c.diff_name(0));
  return diffs;
}

Values center_crop_pad(GradContext& c) {
  Values diffs(c.node.inputs.size(), kNoValue);
  diffs[0] = pad_back(c, ops::centering_pads(c.dims(c.input(0)), c.dims(c.diff()), std::nullopt).value());
  return diffs;
}

// What flows from all parts is put together again; else each part that something flows from is put where it was.
Values split(GradContext& c) {
  const Dims src = c.dims(c.input(0));
  const int64_t axis = c.node.attributes.integer("axis", 0);
  const auto a = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(src.size()) : axis);
  Values diffs(c.node.inputs.size(), kNoValue);
  if (std::find(c.diff_outputs.begin(), c.diff_outputs.end(), kNoValue) == c.diff_outputs.end()) {
    diffs[0] = c.graph.emit("Concat", c.diff_outputs, {{"axis", axis}}, c.diff_name(0));
    return diffs;
  }
  const auto sizes =
      ops::split_sizes(src[a], c.diff_outputs.size(), known_parameter(c.graph, c.node, "split", 1)).value();
  Dims starts(src.size(), 0), counts = src;
  for (size_t o = 0; o < sizes.size(); starts[a] += sizes[o++]) {
    if (c.diff_outputs[o] == kNoValue) continue;
    counts[a] = sizes[o];
    const Attributes where = {{"starts", starts}, {"counts", counts}, {"src_shape", src}};
    const ValueId part = c.graph.emit("isobit.BlockGrad", {c.diff_outputs[o]}, where, c.diff_name(0));
    diffs[0] = diffs[0] == kNoValue ? part : c.graph.emit("Add", {diffs[0], part}, {}, c.diff_name(0));
  }
  return diffs;
}

}  // namespace

void add_slicing(Rules& rules) {
  rules["isobit.Block"] = block;
  rules["Slice"] = slice;
  rules["Pad"] = pad;
  rules["CenterCropPad"] = center_crop_pad;
  rules["Split"] = split;
  rules.none({"isobit.SliceGrad", "isobit.BlockGrad", "isobit.PadGrad"}, kIsGradient);
}

}  // namespace isobit::graph::autograd
