// Operators that slide windows over images or sample them.
#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using Ints = std::vector<int64_t>;
using Cases = std::vector<OperatorCase>;

Attributes with(Attributes attributes, const char* name, graph::Attribute value) {
  attributes.set(name, std::move(value));
  return attributes;
}
std::string text(const char* words) { return words; }

void add_convolutions(Cases& cases) {
  const Attributes line = {{"pads", Ints{1, 0}}, {"strides", Ints{2}}};
  cases.push_back({"Conv", {real({2, 4, 5}), real({6, 2, 3}), real({6})}, with(line, "group", int64_t{2})});
  cases.push_back({"Conv", {real({1, 2, 5, 4}), real({3, 2, 3, 2})}, {{"auto_pad", text("SAME_UPPER")}}});
  cases.push_back({"isobit.ConvGradSrc", {real({2, 3, 2}), real({3, 4, 3})}, with(line, "src_shape", Ints{2, 4, 5})});
  cases.push_back(
      {"isobit.ConvGradWeights", {real({2, 4, 5}), real({2, 3, 2})}, with(line, "weights_shape", Ints{3, 4, 3})});
  cases.push_back({"ConvTranspose", {real({1, 2, 4}), real({2, 3, 3})}, with(line, "output_padding", Ints{1})});
  cases.push_back({"ConvTranspose",
                   {real({2, 4, 3, 2}), real({4, 3, 2, 3})},
                   {{"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 2}}, {"group", int64_t{2}}}});
  cases.push_back({"ConvTranspose",
                   {real({1, 2, 3, 3}), real({2, 1, 3, 3})},
                   {{"auto_pad", text("SAME_LOWER")}, {"strides", Ints{2, 2}}}});
}

void add_columns(Cases& cases) {
  const Attributes windows = {{"strides", Ints{1, 2}}, {"pads", Ints{1, 0, 0, 1}}};
  cases.push_back({"isobit.Im2Col", {real({1, 2, 3, 4})}, with(windows, "kernel_shape", Ints{2, 2})});
  cases.push_back({"isobit.Im2Col", {real({1, 2, 4})}, {{"kernel_shape", Ints{3}}, {"auto_pad", text("SAME_UPPER")}}});
  const Attributes fold = with(with(windows, "image_shape", Ints{3, 4}), "block_shape", Ints{2, 2});
  cases.push_back({"Col2Im", {real({1, 8, 6})}, fold});
  cases.push_back({"Col2Im", {real({1, 2, 4}), parameter({5}), parameter({2})}});
  const Attributes deform = {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 0, 0, 0}}};
  cases.push_back({"isobit.DeformIm2Col", {real({1, 2, 3, 3}), real({1, 8, 3, 2}), real({1, 4, 3, 2})}, deform});
  cases.push_back(
      {"isobit.DeformIm2Col", {real({1, 2, 3, 3}), real({1, 16, 3, 2})}, with(deform, "offset_group", int64_t{2})});
  cases.push_back({"isobit.DeformIm2ColGradSrc",
                   {real({1, 8, 6}), real({1, 8, 3, 2})},
                   with(deform, "src_shape", Ints{1, 2, 3, 3})});
  cases.push_back({"isobit.DeformIm2ColGradOffset",
                   {real({1, 16, 6}), real({1, 4, 3, 3}), real({1, 16, 3, 2})},
                   with(deform, "offset_group", int64_t{2})});
}

void add_pools(Cases& cases) {
  const Attributes line = {{"kernel_shape", Ints{3}}, {"ceil_mode", int64_t{1}}, {"strides", Ints{2}}};
  const Attributes cube = {
      {"kernel_shape", Ints{2, 1, 2}}, {"dilations", Ints{1, 1, 2}}, {"pads", Ints{1, 0, 0, 0, 0, 1}}};
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    cases.push_back({op, {real({2, 1, 6})}, line});
    cases.push_back({op, {real({1, 2, 2, 2, 3})}, cube});
  }
  cases.push_back({"LpPool", {real({1, 1, 3, 3})}, {{"kernel_shape", Ints{2, 2}}, {"p", int64_t{3}}}});
  const Ints volume = {1, 2, 2, 2, 3};
  cases.push_back({"isobit.AveragePoolGrad", {real({1, 2, 2, 2, 2})}, with(cube, "src_shape", volume)});
  cases.push_back({"isobit.MaxPoolGrad",
                   {real({1, 1, 2, 2}), given({1, 1, 2, 2}, {4, 4, 5, 8})},
                   {{"kernel_shape", Ints{2, 2}}, {"storage_order", int64_t{1}}, {"src_shape", Ints{1, 1, 3, 3}}}});
  for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
    cases.push_back({op, {real({2, 2, 5})}});
  cases.push_back({"GlobalLpPool", {real({1, 2, 2, 3})}, {{"p", int64_t{1}}}});
  cases.push_back(
      {"MaxUnpool", {real({1, 1, 2, 2}), given({1, 1, 2, 2}, {1, 3, 5, 8})}, {{"kernel_shape", Ints{2, 2}}}});
  cases.push_back({"MaxUnpool",
                   {real({1, 1, 2, 2}), given({1, 1, 2, 2}, {0, 3, 5, 8}), parameter({1, 1, 4, 5})},
                   {{"kernel_shape", Ints{2, 2}}}});
}

void add_samples(Cases& cases) {
  const Ints shape = {1, 2, 3, 4};
  const auto larger = [](const char* mode) {
    return Attributes{{"sizes", Ints{5, 7}}, {"axes", Ints{2, 3}}, {"mode", text(mode)}};
  };
  for (const char* mode : {"linear", "cubic"}) {
    cases.push_back({"Resize", {real(shape)}, larger(mode)});
    const Attributes grad = with(larger(mode), "src_shape", shape);
    cases.push_back({"isobit.ResizeGrad", {real({1, 2, 5, 7})}, grad});
  }
  cases.push_back(
      {"Resize",
       {real(shape)},
       {{"scales", std::vector<double>{1, 1, 0.7, 0.6}}, {"mode", text("linear")}, {"antialias", int64_t{1}}}});
  cases.push_back({"isobit.ResizeGrad", {real({1, 2, 5, 7})}, with(larger("nearest"), "src_shape", shape)});
  cases.push_back({"GridSample", {real({1, 2, 3, 4}), real({1, 3, 2, 2})}});
  cases.push_back({"GridSample",
                   {real({2, 1, 2, 2, 3}), real({2, 1, 2, 2, 3})},
                   {{"padding_mode", text("reflection")}, {"align_corners", int64_t{1}}}});
  cases.push_back({"GridSample",
                   {real({1, 1, 4, 4}), real({1, 2, 2, 2})},
                   {{"mode", text("cubic")}, {"padding_mode", text("border")}}});
  cases.push_back({"isobit.GridSampleGradSrc",
                   {real({1, 2, 4, 2}), real({1, 4, 2, 2})},
                   {{"src_shape", Ints{1, 2, 3, 2}}, {"padding_mode", text("border")}}});
  cases.push_back({"isobit.GridSampleGradGrid", {real({1, 2, 3, 2}), real({1, 2, 3, 4}), real({1, 3, 2, 2})}});
  cases.push_back({"isobit.GridSampleGradGrid",
                   {real({1, 3, 2, 2}), real({1, 3, 4, 4}), real({1, 2, 2, 2})},
                   {{"mode", text("cubic")}, {"padding_mode", text("reflection")}, {"align_corners", int64_t{1}}}});
  cases.push_back({"AffineGrid", {real({2, 2, 3})}, {{"size", Ints{2, 1, 2, 3}}}});
  cases.push_back({"AffineGrid", {real({1, 3, 4}), parameter({1, 1, 2, 1, 2})}, {{"align_corners", int64_t{1}}}});
}

void add_detection(Cases& cases) {
  const Attributes region = {
      {"output_height", int64_t{2}}, {"output_width", int64_t{2}}, {"sampling_ratio", int64_t{2}}};
  const OperatorCase align = {"RoiAlign", {real({2, 1, 4, 4}), positive({3, 4}), index({3}, 2)}, region};
  cases.push_back(align);
  cases.push_back({"RoiAlign", align.operands, with(region, "mode", text("max"))});
  cases.push_back(
      {"RoiAlign", align.operands,
       with(with(region, "coordinate_transformation_mode", text("output_half_pixel")), "sampling_ratio", int64_t{0})});
  cases.push_back({"isobit.RoiAlignGrad",
                   {real({3, 1, 2, 2}), positive({3, 4}), index({3}, 2)},
                   with(region, "src_shape", Ints{2, 1, 4, 4})});
  // The first number of a region is that of its image: there are enough of them.
  const Attributes pooled = {{"pooled_shape", Ints{1, 2}}, {"spatial_scale", 1.5}};
  cases.push_back({"MaxRoiPool", {real({20, 1, 4, 4}), positive({3, 5})}, pooled});
  cases.push_back({"isobit.MaxRoiPoolGrad", {real({8, 1, 1, 2}), real({20, 1, 4, 4}), positive({8, 5})}, pooled});
  const std::vector<CaseOperand> boxes = {positive({2, 6, 4}), positive({2, 2, 6}), integer({}, 4, 1)};
  cases.push_back({"NonMaxSuppression", {boxes[0], boxes[1], boxes[2], positive({}), positive({1})}});
  cases.push_back({"NonMaxSuppression", boxes, {{"center_point_box", int64_t{1}}}});
  // A threshold below zero leaves one box, one above 1 leaves all.
  cases.push_back({"NonMaxSuppression",
                   {positive({1, 12, 4}), positive({1, 1, 12}), integer({}, 8, 4), real({})},
                   {{"center_point_box", int64_t{1}}}});
}

void add_integer_products(Cases& cases) {
  constexpr DType kU8 = DType::kUint8, kI8 = DType::kInt8;
  cases.push_back({"MatMulInteger", {bytes({2, 3, 4}, kU8), bytes({4, 5}, kI8), bytes({}, kU8), bytes({5}, kI8)}});
  cases.push_back({"QLinearMatMul",
                   {bytes({3, 4}, kU8), positive({3}), bytes({3}, kU8), bytes({4, 5}, kI8), positive({}),
                    bytes({}, kI8), positive({}), bytes({}, kU8)}});
  const Attributes window = {{"pads", Ints{1, 0, 0, 1}}, {"strides", Ints{2, 1}}, {"group", int64_t{2}}};
  const CaseOperand image = bytes({2, 4, 4, 3}, kU8), kernel = bytes({4, 2, 2, 2}, kI8);
  cases.push_back({"ConvInteger", {image, kernel, bytes({}, kU8), bytes({4}, kI8)}, window});
  cases.push_back({"ConvInteger", {bytes({1, 2, 5}, kI8), bytes({3, 2, 2}, kI8)}});
  cases.push_back(
      {"QLinearConv",
       {image, positive({}), bytes({}, kU8), kernel, positive({4}), bytes({4}, kI8), positive({}), bytes({}, kI8)},
       window});
}

}  // namespace

void add_windows_cases(Cases& cases) {
  add_convolutions(cases);
  add_columns(cases);
  add_pools(cases);
  add_samples(cases);
  add_detection(cases);
  add_integer_products(cases);
}

}  // namespace isobit::runtime
