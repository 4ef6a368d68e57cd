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
    c.check(graph::expansions::conv(c.graph_so_far(), a).value());
  }
  GradientCheck c;
  const auto a = volumes(c, {2, 4, 3, 2, 3}, {4, 2, 3, 2, 3}, 4, attributes);
  c.check(graph::expansions::conv_transpose(c.graph_so_far(), a).value());
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
