// Gradients of operators that slide windows over images or sample them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isobit/graph/expansions/convolution.h"
#include "isobit/runtime/gradient_check_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using graph::ValueId;
using graph::expansions::ConvolutionArguments;
using Ints = std::vector<int64_t>;

std::string text(const char* words) { return words; }

void check(const std::string& op, const std::vector<Ints>& inputs, const Attributes& attributes, int outputs = 1) {
  SCOPED_TRACE(op);
  GradientCheck c;
  std::vector<ValueId> ids;
  for (const Ints& dims : inputs) ids.push_back(c.input(dims));
  c.check(c.emit(op, ids, attributes, outputs));
}

TEST(GradientOfWindows, ConvolutionsAlongOneAxisAndWithPadsOfTheirShape) {
  check("Conv", {{2, 4, 9}, {6, 2, 3}, {6}}, {{"strides", Ints{2}}, {"pads", Ints{1, 0}}, {"group", int64_t{2}}});
  check("Conv", {{1, 2, 5, 6}, {3, 2, 3, 2}}, {{"auto_pad", text("SAME_UPPER")}, {"strides", Ints{2, 2}}});
  check("Conv", {{1, 2, 5, 6}, {3, 2, 3, 2}}, {{"auto_pad", text("SAME_LOWER")}});
}

TEST(GradientOfWindows, TransposedConvolutions) {
  check("ConvTranspose", {{2, 4, 3, 4}, {4, 3, 3, 2}}, {});
  check("ConvTranspose", {{2, 4, 5}, {4, 3, 3}}, {{"strides", Ints{2}}, {"output_padding", Ints{1}}});
  check("ConvTranspose", {{2, 4, 3, 4}, {4, 3, 3, 2}},
        {{"strides", Ints{3, 2}}, {"pads", Ints{1, 0, 2, 1}}, {"dilations", Ints{1, 2}}, {"group", int64_t{2}}});
  check("ConvTranspose", {{1, 2, 3, 3}, {2, 2, 3, 3}}, {{"auto_pad", text("SAME_UPPER")}, {"strides", Ints{2, 2}}});
  check("ConvTranspose", {{1, 1, 3, 3}, {1, 2, 3, 3}}, {{"output_shape", Ints{10, 8}}, {"strides", Ints{3, 2}}});
}

ConvolutionArguments volumes(GradientCheck& c, const Ints& src, const Ints& weights, int64_t channels,
                             const Attributes& attributes) {
  return {.name = "y",
          .src = c.input(src),
          .weights = c.input(weights),
          .bias = c.input({channels}),
          .attributes = attributes};
}

TEST(GradientOfWindows, ConvolutionsAlongThreeAxes) {
  const Attributes attributes = {{"strides", Ints{2, 1, 2}}, {"pads", Ints{1, 0, 1, 1, 1, 0}}, {"group", int64_t{2}}};
  {
    GradientCheck c;
    const auto a = volumes(c, {2, 4, 4, 3, 4}, {6, 2, 3, 2, 3}, 6, attributes);
    c.check(graph::expansions::conv(c.graph_so_far(), a).value().front());
  }
  GradientCheck c;
  const auto a = volumes(c, {2, 4, 3, 2, 3}, {4, 2, 3, 2, 3}, 4, attributes);
  c.check(graph::expansions::conv_transpose(c.graph_so_far(), a).value().front());
}

TEST(GradientOfWindows, Columns) {
  const Attributes windows = {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 1}}, {"dilations", Ints{1, 2}}};
  Attributes columns = windows, fold = windows;
  columns.set("kernel_shape", Ints{3, 2});
  fold.set("image_shape", Ints{5, 6});
  fold.set("block_shape", Ints{3, 2});
  check("isobit.Im2Col", {{2, 3, 5, 6}}, columns);
  check("isobit.Im2Col", {{2, 3, 7}}, {{"kernel_shape", Ints{3}}, {"auto_pad", text("SAME_LOWER")}});
  check("Col2Im", {{2, 18, 15}}, fold);
  GradientCheck c;
  const ValueId x = c.input({1, 4, 5}), image = c.constant(Tensor::of<int64_t>({1}, Ints{6})),
                block = c.constant(Tensor::of<int64_t>({1}, Ints{2}));
  c.check(c.emit("Col2Im", {x, image, block}));
}

TEST(GradientOfWindows, Pooling) {
  const Attributes cube = {{"kernel_shape", Ints{2, 3, 2}},
                           {"strides", Ints{1, 2, 2}},
                           {"pads", Ints{1, 0, 1, 0, 1, 0}},
                           {"dilations", Ints{2, 1, 1}}};
  const Attributes line = {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  for (const int outputs : {1, 2}) {
    check("MaxPool", {{2, 2, 4, 5, 4}}, cube, outputs);
    check("MaxPool", {{2, 3, 8}}, line, outputs);
  }
  Attributes columns = {{"kernel_shape", Ints{2, 3}}, {"storage_order", int64_t{1}}};
  check("MaxPool", {{2, 3, 5, 6}}, columns, 2);
  check("MaxPool", {{2, 3, 5, 6}}, {{"kernel_shape", Ints{2, 3}}, {"auto_pad", text("SAME_UPPER")}}, 2);
  for (int64_t include : {0, 1}) {
    Attributes average = cube;
    average.set("count_include_pad", include);
    check("AveragePool", {{2, 2, 4, 5, 4}}, average);
    average = line;
    average.set("count_include_pad", include);
    check("AveragePool", {{2, 3, 8}}, average);
  }
  for (const char* op : {"GlobalMaxPool", "GlobalAveragePool"}) {
    check(op, {{2, 3, 7}}, {});
    check(op, {{2, 2, 3, 2, 3}}, {});
  }
}

TEST(GradientOfWindows, PoolingByNorms) {
  const Attributes cube = {{"kernel_shape", Ints{2, 3, 2}},
                           {"strides", Ints{1, 2, 2}},
                           {"pads", Ints{1, 0, 1, 0, 1, 0}},
                           {"dilations", Ints{2, 1, 1}}};
  const Attributes line = {{"kernel_shape", Ints{3}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
  for (int64_t p : {1, 2, 3}) {
    Attributes of_cubes = cube, of_lines = line;
    of_cubes.set("p", p);
    of_lines.set("p", p);
    check("LpPool", {{2, 2, 4, 5, 4}}, of_cubes);
    check("LpPool", {{2, 3, 8}}, of_lines);
    check("LpPool", {{1, 2, 5, 6}}, {{"kernel_shape", Ints{2, 3}}, {"auto_pad", text("SAME_LOWER")}, {"p", p}});
    check("GlobalLpPool", {{2, 3, 4, 2}}, {{"p", p}});
  }
  check("GlobalLpPool", {{2, 3}}, {});
}

TEST(GradientOfWindows, ANormOfZerosHasNone) {
  graph::Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, {1, 1, 4});
  const ValueId y = g.emit("LpPool", {x}, {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}, "y");
  const ValueId loss = g.emit("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "loss");
  const ValueId targets[] = {x};
  g.add_output(graph::append_gradients(g, loss, targets).value()[0]);
  const float values[] = {0, 0, 3, 4}, expected[] = {0, 0, 0.6f, 0.8f};
  ThreadPool pool(1);
  const Tensor found =
      Executor(g).run({kernels::best_isa(), &pool}, {{x, Tensor::of<float>({1, 1, 4}, values)}}).value()[0];
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(found.data<float>()[i], expected[i], 1e-6) << i;
}

TEST(GradientOfWindows, Unpooling) {
  const ValueId none = graph::kNoValue;
  for (const Ints& shape : {Ints{}, Ints{1, 2, 4, 6}}) {
    GradientCheck c;
    const ValueId x = c.input({1, 2, 2, 2});
    const ValueId at = c.constant(Tensor::of<int64_t>({1, 2, 2, 2}, Ints{0, 3, 5, 8, 17, 15, 9, 10}));
    const ValueId size = shape.empty() ? none : c.constant(Tensor::of<int64_t>({4}, shape));
    c.check(c.emit("MaxUnpool", {x, at, size}, {{"kernel_shape", Ints{2, 2}}}));
  }
}

TEST(GradientOfWindows, SamplingAtPoints) {
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (int64_t corners : {0, 1}) {
        const Attributes attributes = {
            {"mode", text(mode)}, {"padding_mode", text(padding)}, {"align_corners", corners}};
        SCOPED_TRACE(std::string(mode) + " " + padding);
        GradientCheck flat;
        const ValueId x = flat.input({2, 3, 4, 5}), grid = flat.input({2, 3, 2, 2}, -1.4, 1.4);
        flat.check(flat.emit("GridSample", {x, grid}, attributes), 1e-5);
        GradientCheck deep;
        const ValueId y = deep.input({1, 2, 3, 4, 2}), points = deep.input({1, 2, 2, 1, 3}, -1.4, 1.4);
        deep.check(deep.emit("GridSample", {y, points}, attributes), 1e-5);
      }
    }
  }
}

TEST(GradientOfWindows, Grids) {
  for (int64_t corners : {0, 1}) {
    check("AffineGrid", {{2, 2, 3}}, {{"size", Ints{2, 3, 4, 5}}, {"align_corners", corners}});
    check("AffineGrid", {{1, 3, 4}}, {{"size", Ints{1, 2, 2, 1, 3}}, {"align_corners", corners}});
  }
}

TEST(GradientOfWindows, WindowsMovedByOffsets) {
  const Attributes windows = {
      {"kernel_shape", Ints{2, 3}}, {"pads", Ints{1, 0, 0, 1}}, {"strides", Ints{2, 1}}, {"offset_group", int64_t{2}}};
  for (bool masked : {false, true}) {
    GradientCheck c;
    const ValueId x = c.input({2, 4, 5, 4}), offset = c.input({2, 24, 3, 3}, -1.4, 1.4);
    std::vector<ValueId> inputs = {x, offset};
    if (masked) inputs.push_back(c.input({2, 12, 3, 3}, 0.5, 1.5));
    c.check(c.emit("isobit.DeformIm2Col", inputs, windows), 1e-5);
  }
}

// The images alone: nothing flows through the corners of regions.
TEST(GradientOfWindows, Regions) {
  const double rois[] = {0.3, 1, 4.5, 3, -3, -2, 9, 9, 1, 1.2, 2.5, 3};
  const int64_t images[] = {1, 0, 1};
  for (const Attributes& attributes :
       {Attributes{{"sampling_ratio", int64_t{2}}, {"output_height", int64_t{2}}, {"output_width", int64_t{3}}},
        Attributes{{"coordinate_transformation_mode", text("output_half_pixel")}, {"spatial_scale", 0.7}}}) {
    GradientCheck c;
    const ValueId x = c.input({2, 3, 5, 6});
    c.check(c.emit("RoiAlign",
                   {x, c.constant(Tensor::of<double>({3, 4}, rois)), c.constant(Tensor::of<int64_t>({3}, images))},
                   attributes));
  }
  const double five[] = {1, 0.3, 1, 4.5, 3, 0, -3, -2, 9, 9, 1, 1, 1.2, 2.5, 3, 7, 0, 0, 2, 2};
  GradientCheck c;
  const ValueId x = c.input({2, 3, 5, 6});
  c.check(c.emit("MaxRoiPool", {x, c.constant(Tensor::of<double>({4, 5}, five))}, {{"pooled_shape", Ints{2, 3}}}));
}

TEST(GradientOfWindows, Resizing) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    check("Resize", {{1, 2, 4, 5}}, {{"mode", text(mode)}, {"sizes", Ints{1, 2, 7, 3}}});
    check("Resize", {{1, 2, 4, 5}},
          {{"mode", text(mode)},
           {"scales", std::vector<double>{1.6, 0.5}},
           {"axes", Ints{2, 3}},
           {"coordinate_transformation_mode", text("align_corners")}});
  }
  check("Resize", {{6, 7}},
        {{"mode", text("linear")}, {"antialias", int64_t{1}}, {"scales", std::vector<double>{0.4, 0.6}}});
  check("Resize", {{6, 7}},
        {{"mode", text("linear")},
         {"sizes", Ints{4, 5}},
         {"roi", std::vector<double>{-0.2, 0.1, 0.9, 1.3}},
         {"coordinate_transformation_mode", text("tf_crop_and_resize")}});
  GradientCheck c;
  const ValueId x = c.input({2, 5}), scales = c.constant(Tensor::of<double>({2}, std::vector<double>{2, 1.5}));
  c.check(c.emit("Resize", {x, graph::kNoValue, scales}, {{"mode", text("linear")}}));
}

}  // namespace
}  // namespace isobit::runtime
