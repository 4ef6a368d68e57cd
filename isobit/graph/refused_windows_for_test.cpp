// Operators that slide windows over images or sample them: nodes that shape inference takes and refuses.
#include <cmath>

#include "isobit/graph/refused_nodes_for_test.h"

namespace isobit::graph {
namespace {

Type u8(Ints dims) { return {DType::kUint8, std::move(dims)}; }
Type i8(Ints dims) { return {DType::kInt8, std::move(dims)}; }

Attributes with(const char* name, Attribute value) { return {{name, std::move(value)}}; }
Attributes with(Attributes attributes, const char* name, Attribute value) {
  attributes.set(name, std::move(value));
  return attributes;
}
std::string text(const char* words) { return words; }

const Attributes kWindow = {{"kernel_shape", Ints{2, 2}}};
const Attributes kLine = {{"kernel_shape", Ints{2}}};
const Attributes kCube = {{"kernel_shape", Ints{2, 2, 2}}};
const Attributes kColumns = {{"image_shape", Ints{4, 4}}, {"block_shape", Ints{2, 2}}};
const Attributes kRegion = {{"output_height", int64_t{2}}, {"output_width", int64_t{3}}};
const Attributes kDouble = {{"scales", std::vector<double>{1, 1, 2, 2}}};

const Type kImage = f32({2, 3, 4, 4}), kByteImage = u8({2, 3, 4, 4}), kByteKernel = i8({6, 3, 2, 2});

void accepted_convolutions(std::vector<Accepted>& all) {
  const auto same = [](const char* which) { return Attributes{{"auto_pad", text(which)}, {"strides", Ints{2, 2}}}; };
  for (const Accepted& a : std::vector<Accepted>{
           {"Conv", {f32({2, 3, 9}), f32({6, 3, 3}), f32({6})}, {f32({2, 6, 4})}, with("strides", Ints{2})},
           {"Conv", {f32({2, 3, 5, 6}), f32({6, 3, 3, 3})}, {f32({2, 6, 3, 3})}, same("SAME_UPPER")},
           {"Conv", {f32({2, 3, 5, 6}), f32({6, 3, 3, 3})}, {f32({2, 6, 3, 3})}, same("SAME_LOWER")},
           {"Conv", {f32({2, 3, 5, 6}), f32({6, 3, 3, 3})}, {f32({2, 6, 2, 2})}, same("VALID")},
           {"Conv", {f32({2, 3, -1, 6}), f32({6, 3, 3, 3})}, {f32({2, 6, -1, 3})}, same("SAME_UPPER")},
           {"ConvTranspose", {f32({1, 1, 3, 3}), f32({1, 2, 3, 3})}, {f32({1, 2, 5, 5})}},
           {"ConvTranspose", {f32({1, 1, 3}), f32({1, 2, 3})}, {f32({1, 2, 5})}},
           {"ConvTranspose", {f32({1, 1, 3, 3}), f32({1, 2, 3, 3})}, {f32({1, 2, 6, 6})}, same("SAME_UPPER")},
           {"ConvTranspose",
            {f32({1, 4, 3, 3}), f32({4, 2, 3, 3})},
            {f32({1, 4, 10, 8})},
            {{"strides", Ints{3, 2}}, {"output_shape", Ints{10, 8}}, {"group", int64_t{2}}}},
           {"ConvTranspose",
            {f32({1, 1, 3, 3}), f32({1, 2, 3, 3})},
            {f32({1, 2, 10, 8})},
            {{"strides", Ints{3, 2}}, {"output_padding", Ints{1, 1}}}},
           {"ConvTranspose",
            {f32({1, 1, 3, 3}), f32({1, 2, 3, 3})},
            {f32({1, 2, 7, 3})},
            {{"strides", Ints{3, 2}}, {"pads", Ints{1, 2, 1, 2}}}},
           {"isobit.Im2Col", {f32({2, 3, 4, 5})}, {f32({2, 12, 12})}, kWindow},
           {"isobit.Im2Col", {i64({2, 3, 4, 5, 6})}, {i64({2, 24, 60})}, kCube},
           {"Col2Im", {f32({2, 12, 9})}, {f32({2, 3, 4, 4})}, kColumns},
           {"isobit.DeformIm2Col", {kImage, f32({2, 8, 3, 3}), f32({2, 4, 3, 3})}, {f32({2, 12, 9})}, kWindow},
           {"MatMulInteger", {u8({2, 3, 4}), i8({4, 5})}, {{DType::kInt32, {2, 3, 5}}}},
           {"MatMulInteger", {u8({3, 4}), i8({4, 5}), u8({3}), i8({5})}, {{DType::kInt32, {3, 5}}}},
           {"QLinearMatMul",
            {u8({3, 4}), f32({}), u8({}), i8({4, 5}), f32({5}), i8({1, 5}), f32({1}), u8({})},
            {u8({3, 5})}},
           {"ConvInteger", {kByteImage, kByteKernel, u8({}), i8({6})}, {{DType::kInt32, {2, 6, 3, 3}}}},
           {"QLinearConv",
            {kByteImage, f32({}), u8({}), kByteKernel, f32({6}), i8({}), f32({}), i8({}), {DType::kInt32, {6}}},
            {i8({2, 6, 3, 3})}},
       }) {
    all.push_back(a);
  }
}

void accepted_pools(std::vector<Accepted>& all) {
  const Attributes ceil = {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", int64_t{1}}};
  for (const Accepted& a : std::vector<Accepted>{
           {"MaxPool", {f32({2, 3, 9})}, {f32({2, 3, 8}), i64({2, 3, 8})}, kLine},
           {"MaxPool", {u8({1, 1, 4, 4})}, {u8({1, 1, 2, 2}), i64({1, 1, 2, 2})}, ceil},
           {"MaxPool", {i8({1, 1, 4, 4, 4})}, {i8({1, 1, 3, 3, 3}), i64({1, 1, 3, 3, 3})}, kCube},
           {"MaxPool",
            {f32({1, 1, 4, 4})},
            {f32({1, 1, 2, 2}), i64({1, 1, 2, 2})},
            {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 2}}, {"storage_order", int64_t{1}}}},
           {"AveragePool",
            {f32({1, 3, 2, 2})},
            {f32({1, 3, 1, 1})},
            {{"kernel_shape", Ints{3, 3}},
             {"strides", Ints{3, 3}},
             {"pads", Ints{1, 1, 1, 1}},
             {"ceil_mode", int64_t{1}},
             {"count_include_pad", int64_t{1}}}},
           {"AveragePool",
            {f32({1, 1, 5, 5})},
            {f32({1, 1, 3, 3})},
            {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"auto_pad", text("SAME_UPPER")}}},
           {"LpPool", {f32({1, 1, 4, 4})}, {f32({1, 1, 3, 3})}, with(kWindow, "p", int64_t{3})},
           {"GlobalAveragePool", {f32({2, 3, 4})}, {f32({2, 3, 1})}},
           {"GlobalMaxPool", {f32({2, 3, 4, 5, 6})}, {f32({2, 3, 1, 1, 1})}},
           {"GlobalLpPool", {f32({2, 3})}, {f32({2, 3})}, with("p", int64_t{1})},
           {"MaxUnpool", {f32({1, 1, 2, 2}), i64({1, 1, 2, 2})}, {f32({1, 1, 3, 3})}, kWindow},
           {"MaxUnpool",
            {f32({1, 1, 2, 2}), i64({1, 1, 2, 2})},
            {f32({1, 1, 5, 5})},
            {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"output_shape", Ints{1, 1, 5, 5}}}},
       }) {
    all.push_back(a);
  }
}

void accepted_samples(std::vector<Accepted>& all) {
  for (const Accepted& a : std::vector<Accepted>{
           {"Resize", {kImage}, {f32({2, 3, 8, 8})}, kDouble},
           {"Resize", {i64({2, 3, 4, 4})}, {i64({2, 3, 8, 8})}, kDouble},
           {"Resize",
            {kImage},
            {f32({2, 3, 7, 4})},
            {{"sizes", Ints{7}}, {"axes", Ints{-2}}, {"mode", text("linear")}}},
           {"Resize",
            {f32({1, 1, 2, 4})},
            {f32({1, 1, 2, 3})},
            {{"sizes", Ints{1, 3}}, {"axes", Ints{2, 3}}, {"keep_aspect_ratio_policy", text("not_smaller")}}},
           {"Resize",
            {kImage},
            {f32({2, 3, 2, 4})},
            {{"scales", std::vector<double>{0.75, 1}},
             {"axes", Ints{2, 3}},
             {"roi", std::vector<double>{0.25, 0, 1, 1}},
             {"coordinate_transformation_mode", text("tf_crop_and_resize")},
             {"antialias", int64_t{1}},
             {"cubic_coeff_a", -0.5},
             {"exclude_outside", int64_t{1}},
             {"extrapolation_value", 9.0},
             {"nearest_mode", text("ceil")},
             {"mode", text("cubic")}}},
           {"isobit.ResizeGrad", {f32({2, 3, 8, 8})}, {kImage}, with(kDouble, "src_shape", kImage.dims)},
           {"GridSample",
            {kImage, f32({2, 5, 6, 2})},
            {f32({2, 3, 5, 6})},
            {{"mode", text("cubic")}, {"padding_mode", text("border")}, {"align_corners", int64_t{1}}}},
           {"GridSample", {f32({2, 3, 4, 4, 4}), f32({2, 5, 6, 7, 3})}, {f32({2, 3, 5, 6, 7})}},
           {"AffineGrid",
            {f32({2, 2, 3})},
            {f32({2, 5, 6, 2})},
            {{"size", Ints{2, 3, 5, 6}}, {"align_corners", int64_t{1}}}},
           {"RoiAlign",
            {kImage, f32({5, 4}), i64({5})},
            {f32({5, 3, 2, 3})},
            {{"output_height", int64_t{2}},
             {"output_width", int64_t{3}},
             {"mode", text("max")},
             {"coordinate_transformation_mode", text("output_half_pixel")},
             {"sampling_ratio", int64_t{2}},
             {"spatial_scale", 0.5}}},
           {"MaxRoiPool",
            {kImage, f32({5, 5})},
            {f32({5, 3, 2, 3})},
            {{"pooled_shape", Ints{2, 3}}, {"spatial_scale", 0.5}}},
           {"NonMaxSuppression",
            {f32({2, 6, 4}), f32({2, 3, 6}), i64({}), f32({1}), f32({})},
            {i64({-1, 3})},
            with("center_point_box", int64_t{1})},
       }) {
    all.push_back(a);
  }
}

void refused_convolutions(std::vector<Refused>& all) {
  const Type x = f32({1, 4, 3, 3}), w = f32({4, 2, 3, 3});
  for (const Refused& r : std::vector<Refused>{
           {"ConvTranspose", {i64(x.dims), i64(w.dims)}, "expected float32 or float64"},
           {"ConvTranspose", {x, f64(w.dims)}, "has type float64"},
           {"ConvTranspose", {x, f32({4, 2, 3})}, "need rank 3 or both rank 4"},
           {"ConvTranspose", {f32({1, 3, 3, 3}), w}, "expected [1, 4, 3, 3]"},
           {"ConvTranspose", {f32({1, 4, 0, 3}), w}, "one place and one channel"},
           {"ConvTranspose", {f32({1, 4, 1 << 16, 1 << 16}), w}, "a plane of 65536 x 65536 places"},
           {"ConvTranspose", {x, w}, "does not divide 4", with("group", int64_t{3})},
           {"ConvTranspose", {x, w}, "differs from the weights", with("kernel_shape", Ints{2, 2})},
           {"ConvTranspose", {x, w}, "auto_pad 'SAME'", with("auto_pad", text("SAME"))},
           {"ConvTranspose",
            {x, w},
            "asks for 12 places along an axis, of which the windows reach",
            {{"auto_pad", text("SAME_UPPER")}, {"strides", Ints{4, 4}}}},
           {"ConvTranspose", {x, w}, "output_padding and output_shape need 2", with("output_shape", Ints{5})},
           {"ConvTranspose", {x, w}, "output_padding and output_shape need 2", with("output_padding", Ints{1})},
           {"ConvTranspose", {x, w}, "output_padding: found -1", with("output_padding", Ints{0, -1})},
           {"ConvTranspose", {x, w}, "output_shape: found 0", with("output_shape", Ints{5, 0})},
           {"ConvTranspose", {x, w}, "reached by no window", with("output_padding", Ints{1, 0})},
           {"ConvTranspose", {x, w}, "reached by no window", with("output_shape", Ints{8, 5})},
           {"ConvTranspose", {x, w}, "the result has -1 places", with("pads", Ints{3, 0, 3, 0})},
           {"ConvTranspose", {x, w}, "a plane of 33554435 x 33554435", with("strides", Ints{1 << 24, 1 << 24})},
           {"isobit.Im2Col", {f32({2, 3})}, "needs rank 3 or more", kWindow},
           {"isobit.Im2Col", {kImage}, "need 2 numbers"},
           {"isobit.Im2Col", {f32({2, 3, 1, 4})}, "larger than the padded source", kWindow},
           {"isobit.Im2Col", {f32({2, 3, 1 << 16, 1 << 16})}, "a plane of 65536", kWindow},
           {"isobit.Im2Col", {f32({2, INT64_MAX, 4, 4})}, "the windows together are too large", kWindow},
           {"Col2Im", {i64({2, 12, 9})}, "expected float32", kColumns},
           {"Col2Im", {f32({1, 9, 9}), i64({int64_t{1} << 40}), i64({2})}, "1099511627776 axes, expected at most 64"},
           {"GridSample", {f32({1, 1, 2, 2, 2, 2, 2, 2}), f32({1, 1, 1, 1, 1, 1, 1, 6})}, "images of 6 axes"},
           {"Resize",
            {f32({2, 2, 2, 2, 2, 2})},
            "6 axes are resized together, expected at most 5",
            {{"scales", std::vector<double>{2, 2, 2, 2, 2, 2}}, {"mode", text("cubic")}}},
           {"Resize",
            {f32({4})},
            "antialias over an axis of 4 places",
            {{"scales", std::vector<double>{0.0625}},
             {"roi", std::vector<double>{0, 64}},
             {"coordinate_transformation_mode", text("tf_crop_and_resize")},
             {"mode", text("linear")},
             {"antialias", int64_t{1}}}},
           {"MatMulInteger", {u8({1 << 12, 1 << 12, 1, 1}), i8({1, 1})}, "more than 4194304 matrices"},
           {"Col2Im", {f32({2, 12})}, "expected rank 3", kColumns},
           {"Col2Im", {f32({2, 12, 9})}, "are both needed", with("image_shape", Ints{4, 4})},
           {"Col2Im", {f32({2, 12, 9})}, "expected one extent or more", with(kColumns, "image_shape", Ints{0, 4})},
           {"Col2Im", {f32({2, 12, 9})}, "a plane of", with(kColumns, "image_shape", Ints{INT64_MAX, 4})},
           {"Col2Im", {f32({2, 12, 9})}, "need 2 numbers", with(kColumns, "block_shape", Ints{2})},
           {"Col2Im", {f32({2, 11, 9})}, "the matrix has 11 rows, expected a multiple of 4", kColumns},
           {"Col2Im", {f32({2, 12, 8})}, "expected [2, 12, 9]", kColumns},
           {"isobit.DeformIm2Col", {i64(kImage.dims), i64({2, 8, 3, 3})}, "expected float32", kWindow},
           {"isobit.DeformIm2Col", {kImage, f64({2, 8, 3, 3})}, "has type float64", kWindow},
           {"isobit.DeformIm2Col", {f32({2, 3, 4}), f32({2, 8, 3, 3})}, "expected rank 4", kWindow},
           {"isobit.DeformIm2Col", {f32({2, 3, 0, 4}), f32({2, 8, 3, 3})}, "images without places have none", kWindow},
           {"isobit.DeformIm2Col", {kImage, f32({2, 6, 3, 3})}, "expected [2, 8, 3, 3]", kWindow},
           {"isobit.DeformIm2Col", {kImage, f32({2, 8, 3, 3}), f32({2, 3, 3, 3})}, "expected [2, 4, 3, 3]", kWindow},
           {"isobit.DeformIm2Col",
            {kImage, f32({2, 8, 3, 3})},
            "offset_group 2 does not divide 3",
            with(kWindow, "offset_group", int64_t{2})},
           {"isobit.DeformIm2Col",
            {f32({2, 3, 8192, 8192}), f32({2, 8, 1, 1})},
            "taps are too large",
            with("kernel_shape", Ints{8192, 8192})},
       }) {
    all.push_back(r);
  }
}

void refused_pools(std::vector<Refused>& all) {
  const Type half = f32({1, 1, 2, 2}), places = i64({1, 1, 2, 2});
  for (const Refused& r : std::vector<Refused>{
           {"MaxPool", {kImage}, "storage_order is 2", with(kWindow, "storage_order", int64_t{2})},
           {"MaxPool", {f32({2, 3, 4})}, "need 1 numbers and pads 2", kWindow},
           {"LpPool", {kImage}, "p is 0, expected 1", with(kWindow, "p", int64_t{0})},
           {"LpPool", {i64(kImage.dims)}, "expected float32", kWindow},
           {"isobit.MaxPoolGrad",
            {half, places},
            "storage_order is -1",
            {{"src_shape", Ints{1, 1, 3, 3}}, {"kernel_shape", Ints{2, 2}}, {"storage_order", int64_t{-1}}}},
           {"GlobalMaxPool", {i64(kImage.dims)}, "expected float32"},
           {"GlobalMaxPool", {f32({2, 3, 0})}, "a plane without places"},
           {"GlobalLpPool", {kImage}, "p is -1, expected 1", with("p", int64_t{-1})},
           {"MaxUnpool", {half, {DType::kInt32, half.dims}}, "expected int64", kWindow},
           {"MaxUnpool", {half, i64({1, 1, 2, 3})}, "expected [1, 1, 2, 2]", kWindow},
           {"MaxUnpool", {f32({2, 2}), i64({2, 2})}, "the pooled values need rank 3 or more", kWindow},
           {"MaxUnpool", {half, places}, "the unpooled plane has -1 places", with(kWindow, "pads", Ints{2, 0, 2, 0})},
           {"MaxUnpool", {half, places}, "'output_shape' needs 4 numbers", with(kWindow, "output_shape", Ints{3, 3})},
           {"MaxUnpool",
            {half, places},
            "'output_shape' is [1, 1, 2, 3]",
            with(kWindow, "output_shape", Ints{1, 1, 2, 3})},
           {"MaxUnpool",
            {half, places},
            "'output_shape' is [2, 1, 3, 3]",
            with(kWindow, "output_shape", Ints{2, 1, 3, 3})},
           {"MaxUnpool",
            {half, places},
            "a plane of 16777217 x 16777217",
            {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{1 << 24, 1 << 24}}}},
       }) {
    all.push_back(r);
  }
}

void refused_resizing(std::vector<Refused>& all) {
  const auto scales = [](std::vector<double> values) { return with("scales", std::move(values)); };
  const Attributes crop = with(kDouble, "coordinate_transformation_mode", text("tf_crop_and_resize"));
  for (const Refused& r : std::vector<Refused>{
           {"Resize", {f32({})}, "needs rank 1 or more", scales({})},
           {"Resize", {kImage}, "one of 'scales' and 'sizes' is needed"},
           {"Resize", {kImage}, "and not both", with(kDouble, "sizes", kImage.dims)},
           {"Resize", {kImage}, "'scales' has 2 numbers, not 4", scales({1, 2})},
           {"Resize", {kImage}, "'scales' has 0, which is out of range", scales({1, 1, 0, 2})},
           {"Resize", {kImage}, "out of range", scales({1, 1, std::nan(""), 2})},
           {"Resize", {kImage}, "is too large", scales({1, 1, 1e30, 2})},
           {"Resize", {kImage}, "'sizes' has 1 numbers for 4 axes", with("sizes", Ints{4})},
           {"Resize", {kImage}, "'sizes' has -1, which is no extent", with("sizes", Ints{2, 3, -1, 4})},
           {"Resize", {kImage}, "has axis 2 twice", with(kDouble, "axes", Ints{2, -2})},
           {"Resize", {kImage}, "axis 4 is outside", with(kDouble, "axes", Ints{4})},
           {"Resize", {f32({2, 3, 0, 4})}, "an axis without places", with("sizes", Ints{2, 3, 1, 4})},
           {"Resize", {kImage}, "'mode' is 'area', which is not known", with(kDouble, "mode", text("area"))},
           {"Resize", {kImage}, "is 'round', which is not known", with(kDouble, "nearest_mode", text("round"))},
           {"Resize", {kImage}, "antialias needs mode linear", with(kDouble, "antialias", int64_t{1})},
           {"Resize", {kImage}, "cubic_coeff_a is not finite", with(kDouble, "cubic_coeff_a", std::nan(""))},
           {"Resize", {kImage}, "'roi' has 0 numbers, not 8", crop},
           {"Resize", {kImage}, "or its part negative", with(crop, "roi", std::vector<double>{0, 0, 1, 0, 1, 1, 0, 1})},
           {"Resize", {i64(kImage.dims)}, "expected float32", with(kDouble, "mode", text("linear"))},
           {"isobit.ResizeGrad", {i64({2, 3, 8, 8})}, "expected float32", with(kDouble, "src_shape", kImage.dims)},
           {"isobit.ResizeGrad", {kImage}, "expected [2, 3, 8, 8]", with(kDouble, "src_shape", kImage.dims)},
       }) {
    all.push_back(r);
  }
}

void refused_samples(std::vector<Refused>& all) {
  const Type grid = f32({2, 5, 6, 2}), rois = f32({5, 4}), images = i64({5});
  for (const Refused& r : std::vector<Refused>{
           {"GridSample", {kImage, grid}, "'mode' is 'area', which is not known", with("mode", text("area"))},
           {"GridSample", {kImage, grid}, "'padding_mode' is 'wrap'", with("padding_mode", text("wrap"))},
           {"GridSample", {i64(kImage.dims), grid}, "expected float32"},
           {"GridSample", {kImage, f64(grid.dims)}, "has type float64"},
           {"GridSample", {kImage, f32({2, 5, 2})}, "source and grid need one rank"},
           {"GridSample", {f32({2, 3, 0, 4}), grid}, "images without places"},
           {"GridSample", {kImage, f32({3, 5, 6, 2})}, "expected [2, 5, 6, 2]"},
           {"GridSample", {kImage, f32({2, 5, 6, 3})}, "expected [2, 5, 6, 2]"},
           {"AffineGrid", {i64({2, 2, 3})}, "expected float32", with("size", Ints{2, 3, 5, 6})},
           {"AffineGrid", {f32({2, 2})}, "expected rank 3", with("size", Ints{2, 3, 5, 6})},
           {"AffineGrid", {f32({2, 2, 3})}, "'size' is needed"},
           {"AffineGrid", {f32({2, 2, 3})}, "'size' is [2, 3, 0, 6]", with("size", Ints{2, 3, 0, 6})},
           {"AffineGrid", {f32({2, 3, 4})}, "expected [2, 2, 3]", with("size", Ints{2, 3, 5, 6})},
           {"AffineGrid", {f32({2, 2, 3})}, "a plane of", with("size", Ints{2, 3, INT64_MAX, 6})},
           {"RoiAlign", {f32({2, 3, 4}), rois, images}, "expected rank 4", kRegion},
           {"RoiAlign", {i64(kImage.dims), rois, images}, "expected float32", kRegion},
           {"RoiAlign", {f32({2, 3, 0, 4}), rois, images}, "images without places have no regions", kRegion},
           {"RoiAlign", {kImage, f32({5, 5}), images}, "expected [5, 4]", kRegion},
           {"RoiAlign", {kImage, rois, {DType::kInt32, {5}}}, "expected int64", kRegion},
           {"RoiAlign", {kImage, rois, i64({4})}, "expected [5]", kRegion},
           {"RoiAlign", {kImage, rois, images}, "mode 'sum': expected avg or max", with(kRegion, "mode", text("sum"))},
           {"RoiAlign",
            {kImage, rois, images},
            "coordinate_transformation_mode 'x'",
            with(kRegion, "coordinate_transformation_mode", text("x"))},
           {"RoiAlign", {kImage, rois, images}, "which is out of range", with(kRegion, "output_height", int64_t{0})},
           {"RoiAlign", {kImage, rois, images}, "sampling_ratio is -1", with(kRegion, "sampling_ratio", int64_t{-1})},
           {"RoiAlign",
            {kImage, rois, images},
            "spatial_scale is not finite",
            with(kRegion, "spatial_scale", INFINITY)},
           {"MaxRoiPool", {kImage, f32({5, 5})}, "pooled_shape needs 2 numbers"},
           {"MaxRoiPool", {kImage, f32({5, 5})}, "pooled_shape is -1", with("pooled_shape", Ints{2, -1})},
           {"MaxRoiPool", {kImage, rois}, "expected [5, 5]", with("pooled_shape", Ints{2, 2})},
           {"NonMaxSuppression", {f32({2, 6, 3}), f32({2, 3, 6})}, "expected [2, 6, 4]"},
           {"NonMaxSuppression", {i64({2, 6, 4}), f32({2, 3, 6})}, "expected float32"},
           {"NonMaxSuppression", {f32({6, 4}), f32({2, 3, 6})}, "expected rank 3"},
           {"NonMaxSuppression", {f32({2, 6, 4}), f32({2, 6})}, "expected rank 3"},
           {"NonMaxSuppression", {f32({2, 6, 4}), f32({2, 3, 5})}, "expected [2, 3, 6]"},
           {"NonMaxSuppression", {f32({2, 6, 4}), f64({2, 3, 6})}, "has type float64"},
           {"NonMaxSuppression", {f32({2, 6, 4}), f32({2, 3, 6}), f32({})}, "expected int64"},
           {"NonMaxSuppression", {f32({2, 6, 4}), f32({2, 3, 6}), i64({2})}, "expected one number"},
           {"NonMaxSuppression", {f32({2, 6, 4}), f32({2, 3, 6}), i64({}), f64({})}, "has type float64"},
       }) {
    all.push_back(r);
  }
}

void refused_integers(std::vector<Refused>& all) {
  const Type a = u8({3, 4}), b = i8({4, 5}), one = f32({}), image = kByteImage, kernel = kByteKernel;
  for (const Refused& r : std::vector<Refused>{
           {"MatMulInteger", {f32({3, 4}), b}, "expected int8 or uint8"},
           {"MatMulInteger", {a, i64({4, 5})}, "expected int8 or uint8"},
           {"MatMulInteger", {u8({4}), b}, "both matrices need rank 2 or more"},
           {"MatMulInteger", {a, i8({3, 5})}, "matrices of 4 columns and 3 rows"},
           {"MatMulInteger", {u8({2, 3, 4}), i8({3, 4, 5})}, "do not broadcast"},
           {"MatMulInteger", {a, b, i8({})}, "has type int8"},
           {"MatMulInteger", {a, b, u8({2})}, "expected one number, or 3"},
           {"QLinearMatMul", {a, f64({}), u8({}), b, one, i8({}), one, u8({})}, "has type float32"},
           {"QLinearMatMul", {a, i64({}), u8({}), b, one, i8({}), one, u8({})}, "expected float32"},
           {"QLinearMatMul", {a, one, u8({}), b, f32({4}), i8({}), one, u8({})}, "expected one number, or 5"},
           {"QLinearMatMul", {a, one, u8({}), b, one, i8({}), one, i64({})}, "expected int8 or uint8"},
           {"ConvInteger", {u8({2, 3}), i8({6, 3})}, "need one rank of 3 or more"},
           {"ConvInteger", {image, i8({6, 0, 2, 2})}, "or without elements"},
           {"ConvInteger", {image, i8({6, 2, 2, 2})}, "channels do not fit"},
           {"ConvInteger", {image, kernel}, "channels do not fit", with("group", int64_t{4})},
           {"ConvInteger", {image, kernel}, "is not that of the weights", with("kernel_shape", Ints{2, 3})},
           {"ConvInteger", {image, i8({6, 3, 5, 5})}, "larger than the padded source"},
           {"ConvInteger", {u8({2, 3, 1 << 16, 1 << 16}), kernel}, "a plane of 65536"},
           {"ConvInteger", {image, kernel, u8({2})}, "expected one number, or 1"},
           {"ConvInteger", {image, kernel, u8({}), i8({5})}, "expected one number, or 6"},
           {"QLinearConv", {image, one, u8({}), kernel, f32({5}), i8({}), one, i8({})}, "expected one number, or 6"},
           {"QLinearConv", {image, one, u8({}), kernel, one, i8({}), one, i8({}), i64({6})}, "expected int32"},
           {"QLinearConv",
            {image, one, u8({}), kernel, one, i8({}), one, i8({}), {DType::kInt32, {5}}},
            "expected [6]"},
       }) {
    all.push_back(r);
  }
}

}  // namespace

void add_accepted_windows(std::vector<Accepted>& all) {
  accepted_convolutions(all);
  accepted_pools(all);
  accepted_samples(all);
}

void add_refused_windows(std::vector<Refused>& all) {
  refused_convolutions(all);
  refused_pools(all);
  refused_resizing(all);
  refused_samples(all);
  refused_integers(all);
}

}  // namespace isobit::graph
