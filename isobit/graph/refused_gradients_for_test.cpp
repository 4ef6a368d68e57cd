// Gradients of sampling: nodes that shape inference takes and refuses.
#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

const Type kImage = f32({2, 3, 4, 4}), kGrid = f32({2, 5, 6, 2}), kPoints = f32({2, 3, 5, 6});
const Type kOffset = f32({2, 8, 3, 3}), kMatrix = f32({2, 12, 9});
const Type kRois = f32({5, 4}), kImages = i64({5}), kBins = f32({5, 3, 2, 3});

Attributes shaped(Attributes attributes, Ints src = kImage.dims) {
  attributes.set("src_shape", std::move(src));
  return attributes;
}
Attributes with(Attributes attributes, const char* name, Attribute value) {
  attributes.set(name, std::move(value));
  return attributes;
}
std::string text(const char* words) { return words; }

const Attributes kWindow = {{"kernel_shape", Ints{2, 2}}};
const Attributes kRegion = {{"output_height", int64_t{2}}, {"output_width", int64_t{3}}};

void refused_grids(std::vector<Refused>& all) {
  for (const Refused& r : std::vector<Refused>{
           {"isobit.GridSampleGradSrc", {kPoints, kGrid}, "source and grid need one rank"},
           {"isobit.GridSampleGradSrc", {kPoints, kGrid}, "must not be negative", shaped({}, {2, 3, -4, 4})},
           {"isobit.GridSampleGradSrc", {kPoints, kGrid}, "images without places", shaped({}, {2, 3, 0, 4})},
           {"isobit.GridSampleGradSrc", {kImage, kGrid}, "expected [2, 3, 5, 6]", shaped({})},
           {"isobit.GridSampleGradSrc", {kPoints, f64(kGrid.dims)}, "has type float64", shaped({})},
           {"isobit.GridSampleGradSrc", {i64(kPoints.dims), kGrid}, "expected float32", shaped({})},
           {"isobit.GridSampleGradSrc", {kPoints, kGrid}, "'mode' is 'area'", shaped({{"mode", text("area")}})},
           {"isobit.GridSampleGradGrid", {kPoints, kImage, kGrid}, "'x' is not known", {{"x", int64_t{1}}}},
           {"isobit.GridSampleGradGrid", {kImage, kImage, kGrid}, "expected [2, 3, 5, 6]"},
           {"isobit.GridSampleGradGrid", {kPoints, kImage, f64(kGrid.dims)}, "has type float64"},
           {"isobit.GridSampleGradGrid", {kPoints, f32({2, 3, 4}), kGrid}, "source and grid need one rank"},
           {"isobit.GridSampleGradGrid", {i64(kPoints.dims), kImage, kGrid}, "expected float32"},
           {"isobit.GridSampleGradGrid",
            {kPoints, kImage, kGrid},
            "'padding_mode' is 'wrap'",
            {{"padding_mode", text("wrap")}}},
       }) {
    all.push_back(r);
  }
}

void refused_offsets(std::vector<Refused>& all) {
  for (const Refused& r : std::vector<Refused>{
           {"isobit.DeformIm2ColGradSrc", {kMatrix, kOffset}, "needs 4 numbers", kWindow},
           {"isobit.DeformIm2ColGradSrc", {kMatrix, kOffset}, "images without places", shaped(kWindow, {2, 3, 0, 4})},
           {"isobit.DeformIm2ColGradSrc", {kMatrix, f32({2, 6, 3, 3})}, "expected [2, 8, 3, 3]", shaped(kWindow)},
           {"isobit.DeformIm2ColGradSrc", {f32({2, 12, 8}), kOffset}, "expected [2, 12, 9]", shaped(kWindow)},
           {"isobit.DeformIm2ColGradSrc", {kMatrix, f64(kOffset.dims)}, "has type float64", shaped(kWindow)},
           {"isobit.DeformIm2ColGradOffset", {kMatrix, f32({2, 3, 4}), kOffset}, "expected rank 4", kWindow},
           {"isobit.DeformIm2ColGradOffset", {f32({2, 12, 8}), kImage, kOffset}, "expected [2, 12, 9]", kWindow},
           {"isobit.DeformIm2ColGradOffset", {kMatrix, kImage, f64(kOffset.dims)}, "has type float64", kWindow},
           {"isobit.DeformIm2ColGradOffset",
            {kMatrix, kImage, kOffset},
            "offset_group 2 does not divide",
            with(kWindow, "offset_group", int64_t{2})},
           {"isobit.RoiAlignGrad", {kBins, kRois, kImages}, "needs 4 numbers", kRegion},
           {"isobit.RoiAlignGrad", {kBins, kRois, kImages}, "images without places", shaped(kRegion, {2, 3, 4, 0})},
           {"isobit.RoiAlignGrad", {kImage, kRois, kImages}, "expected [5, 3, 2, 3]", shaped(kRegion)},
           {"isobit.RoiAlignGrad", {kBins, f32({4, 4}), kImages}, "expected [4]", shaped(kRegion)},
           {"isobit.RoiAlignGrad",
            {kBins, kRois, kImages},
            "mode 'max' has no such gradient",
            shaped(with(kRegion, "mode", text("max")))},
           {"isobit.MaxRoiPoolGrad",
            {kBins, kImage, f32({5, 5})},
            "expected [5, 3, 2, 2]",
            {{"pooled_shape", Ints{2, 2}}}},
           {"isobit.MaxRoiPoolGrad", {kBins, f32({2, 3, 4}), f32({5, 5})}, "expected rank 4"},
           {"isobit.MaxRoiPoolGrad", {kBins, f64(kImage.dims), f32({5, 5})}, "has type float64"},
       }) {
    all.push_back(r);
  }
}

}  // namespace

void add_accepted_gradients(std::vector<Accepted>& all) {
  for (const Accepted& a : std::vector<Accepted>{
           {"isobit.GridSampleGradSrc", {kPoints, kGrid}, {kImage}, shaped({{"mode", text("cubic")}})},
           {"isobit.GridSampleGradGrid", {kPoints, kImage, kGrid}, {kGrid}, {{"align_corners", int64_t{1}}}},
           {"isobit.DeformIm2ColGradSrc", {kMatrix, kOffset}, {kImage}, shaped(kWindow)},
           {"isobit.DeformIm2ColGradOffset", {kMatrix, kImage, kOffset}, {kOffset}, kWindow},
           {"isobit.RoiAlignGrad", {kBins, kRois, kImages}, {kImage}, shaped(kRegion)},
           {"isobit.MaxRoiPoolGrad", {kBins, kImage, f32({5, 5})}, {kImage}, {{"pooled_shape", Ints{2, 3}}}},
       }) {
    all.push_back(a);
  }
}

void add_refused_gradients(std::vector<Refused>& all) {
  refused_grids(all);
  refused_offsets(all);
}

}  // namespace isobit::graph
