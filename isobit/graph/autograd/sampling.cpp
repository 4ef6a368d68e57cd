#include "isobit/graph/autograd/rules.h"
#include "isobit/graph/ops/movement_parameters.h"
#include "isobit/graph/ops/resize.h"

namespace isobit::graph::autograd {
namespace {

using Values = std::vector<ValueId>;
using Dims = std::vector<int64_t>;

// Every element of the source gets what it gave: the same weights, the other way round. Which weights those are follows
// from parameters that are known by now.
Values resize(GradContext& c) {
  const auto inputs = ops::resize_inputs(
      c.node.attributes, [&](int i) { return c.input(i) == kNoValue ? nullptr : c.graph.initializer(c.input(i)); });
  const Dims src = c.dims(c.input(0));
  Attributes attributes = with(c.node.attributes, "src_shape", src);
  if (inputs.roi) attributes.set("roi", *inputs.roi);
  if (inputs.scales) attributes.set("scales", *inputs.scales);
  if (inputs.sizes) attributes.set("sizes", *inputs.sizes);
  Values out(c.node.inputs.size(), kNoValue);
  out[0] = c.graph.emit("isobit.ResizeGrad", {c.diff()}, attributes, c.diff_name(0));
  return out;
}

Values grid_sample(GradContext& c) {
  Values out(2, kNoValue);
  const Dims src = c.dims(c.input(0));
  const Attributes& attributes = c.node.attributes;
  if (c.wants(0)) {
    out[0] = c.graph.emit("isobit.GridSampleGradSrc", {c.diff(), c.input(1)}, with(attributes, "src_shape", src),
                          c.diff_name(0));
  }
  if (c.wants(1)) {
    out[1] = c.graph.emit("isobit.GridSampleGradGrid", {c.diff(), c.input(0), c.input(1)}, attributes, c.diff_name(1));
  }
  return out;
}

// A grid is theta times the points of the image and a 1; the grid of the map that moves nothing is those points.
Values affine_grid(GradContext& c) {
  const Dims theta = c.dims(c.input(0)), grid = c.dims(c.diff());
  const int64_t n = theta[0], rank = theta[1];
  int64_t points = 1;
  for (size_t a = 1; a + 1 < grid.size(); ++a) points *= grid[a];
  std::vector<double> map(static_cast<size_t>(rank * (rank + 1)), 0);
  for (int64_t i = 0; i < rank; ++i) map[static_cast<size_t>(i * (rank + 1) + i)] = 1;
  const std::vector<float> narrow(map.begin(), map.end());
  const Shape shape({1, rank, rank + 1});
  const bool f32 = c.graph.value(c.diff()).dtype == DType::kFloat32;
  const ValueId still =
      c.graph.add_initializer("still", f32 ? Tensor::of<float>(shape, narrow) : Tensor::of<double>(shape, map));
  Dims size = {1, 1};
  size.insert(size.end(), grid.begin() + 1, grid.end() - 1);
  const Attributes attributes = {{"size", size}, {"align_corners", c.node.attributes.integer("align_corners", 0)}};
  const ValueId places = reshaped(c, emit(c, "AffineGrid", {still}, attributes), {points, rank});
  const ValueId ones = filled(c, c.diff(), 1, {points, 1});
  const ValueId rows = emit(c, "Concat", {places, ones}, {{"axis", int64_t{1}}});
  Values out(c.node.inputs.size(), kNoValue);
  out[0] = emit(c, "MatMul", {reshaped(c, c.diff(), {n, points, rank}), rows}, {{"transA", int64_t{1}}});
  return out;
}

// (src, offset[, mask]): what is sampled, times the mask.
Values deform_im2col(GradContext& c) {
  const Dims src = c.dims(c.input(0)), offset = c.dims(c.input(1)), matrix = c.dims(c.diff());
  const int64_t groups = c.node.attributes.integer("offset_group", 1), taps = offset[1] / (2 * groups);
  const Dims apart = {src[0], groups, src[1] / groups, taps, matrix[2]}, shared = {src[0], groups, 1, taps, matrix[2]};
  const Attributes& attributes = c.node.attributes;
  const ValueId mask = c.input(2);
  ValueId diff = c.diff();
  if (mask != kNoValue && (c.wants(0) || c.wants(1))) {
    diff = reshaped(c, emit(c, "Mul", {reshaped(c, diff, apart), reshaped(c, mask, shared)}), matrix);
  }
  Values out(c.node.inputs.size(), kNoValue);
  if (c.wants(0)) {
    out[0] = emit(c, "isobit.DeformIm2ColGradSrc", {diff, c.input(1)}, with(attributes, "src_shape", src));
  }
  if (c.wants(1)) out[1] = emit(c, "isobit.DeformIm2ColGradOffset", {diff, c.input(0), c.input(1)}, attributes);
  if (c.wants(2)) {
    const ValueId plain = emit(c, "isobit.DeformIm2Col", {c.input(0), c.input(1)}, attributes);
    const ValueId terms = emit(c, "Mul", {reshaped(c, c.diff(), apart), reshaped(c, plain, apart)});
    const ValueId sums = emit(c, "ReduceSum", {terms}, {{"axes", Dims{2}}, {"keepdims", int64_t{0}}});
    out[2] = reshaped(c, sums, c.dims(mask));
  }
  return out;
}

// The images get back what the samples took. Nothing flows through the corners of regions: networks propose them, and
// are trained for that by a loss of their own.
Values roi_align(GradContext& c) {
  if (c.node.attributes.text("mode", "avg") != "avg") return c.refuse("no gradient of the largest of weighted samples");
  Values out(3, kNoValue);
  if (!c.wants(0)) return out;
  const Dims src = c.dims(c.input(0));
  out[0] = c.graph.emit("isobit.RoiAlignGrad", {c.diff(), c.input(1), c.input(2)},
                        with(c.node.attributes, "src_shape", src), c.diff_name(0));
  return out;
}

Values max_roi_pool(GradContext& c) {
  Values out(2, kNoValue);
  if (!c.wants(0)) return out;
  out[0] = c.graph.emit("isobit.MaxRoiPoolGrad", {c.diff(), c.input(0), c.input(1)}, c.node.attributes, c.diff_name(0));
  return out;
}

}  // namespace

void add_sampling(Rules& rules) {
  rules["Resize"] = resize;
  rules["GridSample"] = grid_sample;
  rules["AffineGrid"] = affine_grid;
  rules["isobit.DeformIm2Col"] = deform_im2col;
  rules["RoiAlign"] = roi_align;
  rules["MaxRoiPool"] = max_roi_pool;
  rules.none(
      {"isobit.ResizeGrad", "isobit.GridSampleGradSrc", "isobit.GridSampleGradGrid", "isobit.DeformIm2ColGradSrc",
       "isobit.DeformIm2ColGradOffset", "isobit.RoiAlignGrad", "isobit.MaxRoiPoolGrad"},
      kIsGradient);
}

}  // namespace isobit::graph::autograd
