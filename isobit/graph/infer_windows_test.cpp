// Windows and samples: pads that follow from shapes, parameters that are operands, and the operators that convolutions
// along three axes are made of.
#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/graph/expansions/convolution.h"
#include "isobit/graph/op.h"
#include "isobit/graph/ops/windows.h"

namespace isobit::graph {
namespace {

using Ints = std::vector<int64_t>;
using ops::read_transposed_windows;
using ops::read_windows;
using ops::Windows;

Attributes window(int64_t stride, int64_t dilation, const char* auto_pad) {
  return {{"strides", Ints{stride}}, {"dilations", Ints{dilation}}, {"auto_pad", std::string(auto_pad)}};
}

// ONNX: as many windows as strides begin in the image, and as little padding as that takes, the odd one at the end that
// the name says.
TEST(Windows, SameTakesAsLittlePaddingAsItNeeds) {
  for (int64_t in = 1; in < 12; ++in) {
    for (int64_t size = 1; size < 6; ++size) {
      for (int64_t stride = 1; stride < 4; ++stride) {
        for (int64_t dilation = 1; dilation < 3; ++dilation) {
          const Ints image = {in}, kernel = {size};
          const Windows upper = *read_windows(window(stride, dilation, "SAME_UPPER"), image, kernel),
                        lower = *read_windows(window(stride, dilation, "SAME_LOWER"), image, kernel);
          const int64_t total = upper[0].pad_begin + upper[0].pad_end, wanted = (in + stride - 1) / stride;
          EXPECT_EQ(upper[0].count(in), wanted);
          EXPECT_EQ(lower[0].count(in), wanted);
          EXPECT_EQ(upper[0].pad_begin, total / 2);
          EXPECT_EQ(lower[0].pad_begin, total - total / 2);
          EXPECT_EQ(lower[0].pad_end, total / 2);
          if (total > 0) {
            EXPECT_EQ((wanted - 1) * stride + upper[0].reach(), in + total);
          }
        }
      }
    }
  }
}

TEST(Windows, PadsOfSameWaitForTheImage) {
  const Ints image = {-1}, kernel = {3};
  const Windows w = *read_windows(window(2, 1, "SAME_UPPER"), image, kernel);
  EXPECT_EQ(w[0].count(-1), -1);
}

TEST(Windows, ValidHasNoPadding) {
  const Ints image = {9}, kernel = {3};
  Attributes attributes = window(2, 1, "VALID");
  attributes.set("pads", Ints{1, 1});
  EXPECT_EQ((*read_windows(attributes, image, kernel))[0].count(9), 4);
}

// On the image of the result there are as many windows as the source has places: it is the gradient of a convolution.
TEST(Windows, TransposedWindowsAreThoseOfAConvolution) {
  int accepted = 0;
  for (int64_t src = 1; src < 5; ++src) {
    for (int64_t size = 1; size < 5; ++size) {
      for (int64_t stride = 1; stride < 4; ++stride) {
        for (int64_t pad = 0; pad < 3; ++pad) {
          for (int64_t more = 0; more < stride; ++more) {
            Attributes attributes = window(stride, 1, "NOTSET");
            attributes.set("pads", Ints{pad, 1});
            attributes.set("output_padding", Ints{more});
            const Ints image = {src}, kernel = {size};
            const auto t = read_transposed_windows(attributes, image, kernel);
            const int64_t extent = stride * (src - 1) + more + size - pad - 1;
            ASSERT_EQ(t.has_value(), extent >= 1);
            if (!t) continue;
            ++accepted;
            EXPECT_EQ(t->image, Ints{extent});
            EXPECT_EQ(t->windows[0].count(extent), src);
            EXPECT_EQ(t->windows[0].pad_begin, pad);
            EXPECT_GE(t->windows[0].pad_end, 0);
          }
        }
      }
    }
  }
  EXPECT_GT(accepted, 200);
}

TEST(Windows, AnAskedShapeIsPaddedWhereItIsSmaller) {
  const Ints image = {3}, kernel = {3};
  for (const auto& [auto_pad, begin] : std::vector<std::pair<const char*, int64_t>>{
           {"NOTSET", 2}, {"SAME_LOWER", 2}, {"SAME_UPPER", 1}, {"VALID", 2}}) {
    Attributes attributes = window(3, 1, auto_pad);
    attributes.set("output_shape", Ints{6});
    const auto t = *read_transposed_windows(attributes, image, kernel);  // 9 without padding
    EXPECT_EQ(t.image, Ints{6}) << auto_pad;
    EXPECT_EQ(t.windows[0].pad_begin, begin) << auto_pad;
    EXPECT_EQ(t.windows[0].count(6), 3) << auto_pad;
  }
}

class Sampled : public ::testing::Test {
 protected:
  ValueId in(Ints dims, DType dtype = DType::kFloat32) { return g.add_input("x", dtype, std::move(dims)); }
  template <class T>
  ValueId constant(std::vector<T> values) {
    return g.add_initializer("c", Tensor::of<T>({static_cast<int64_t>(values.size())}, values));
  }
  Ints dims_of(const std::string& op, std::vector<ValueId> inputs, const Attributes& attributes = {}) {
    const auto added = g.add_node(op, std::move(inputs), attributes, {"y"});
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
    return added ? g.value((*added)[0]).dims : Ints{};
  }
  Graph g;
};

TEST_F(Sampled, ResizeTakesItsParametersAsOperands) {
  const ValueId x = in({1, 2, 4, 5});
  EXPECT_EQ(dims_of("Resize", {x, kNoValue, constant<float>({1, 1, 0.5f, 2})}), (Ints{1, 2, 2, 10}));
  EXPECT_EQ(dims_of("Resize", {x, kNoValue, kNoValue, constant<int64_t>({1, 2, 7, 3})}), (Ints{1, 2, 7, 3}));
  // Tensors without elements stand for what is absent.
  EXPECT_EQ(dims_of("Resize", {x, constant<float>({}), constant<float>({}), constant<int64_t>({1, 2, 7, 3})}),
            (Ints{1, 2, 7, 3}));
  EXPECT_EQ(dims_of("Resize", {x, kNoValue, in({2})}, {{"axes", Ints{-1, -2}}}), (Ints{1, 2, -1, -1}));
  EXPECT_EQ(dims_of("Resize", {x, kNoValue, kNoValue, in({4}, DType::kInt64)}), (Ints{-1, -1, -1, -1}));
  EXPECT_EQ(dims_of("Resize", {in({-1, 2, -1, 5}), kNoValue, constant<float>({1, 1, 2, 2})}), (Ints{-1, 2, -1, 10}));
}

// The extent is the product in float32, as ONNX's tools have it: 0.7 is a little less than 0.7, 10 times it is 7.
TEST_F(Sampled, AScaledExtentIsRoundedOnceAndThenDown) {
  EXPECT_EQ(dims_of("Resize", {in({10})}, {{"scales", std::vector<double>{0.7f}}}), Ints{7});
  EXPECT_EQ(dims_of("Resize", {in({10})}, {{"scales", std::vector<double>{0.69}}}), Ints{6});
}

TEST_F(Sampled, WhatFollowsFromDataIsNotKnown) {
  const ValueId x = in({2, 12, 9});
  EXPECT_EQ(dims_of("Col2Im", {x, in({2}, DType::kInt64), constant<int64_t>({2, 2})}), (Ints{2, -1, -1, -1}));
  EXPECT_EQ(dims_of("Col2Im", {x, constant<int64_t>({4, 4}), constant<int64_t>({2, 2})}), (Ints{2, 3, 4, 4}));
  EXPECT_EQ(dims_of("AffineGrid", {in({2, 2, 3}), in({4}, DType::kInt64)}), (Ints{2, -1, -1, 2}));
  EXPECT_EQ(dims_of("MaxUnpool", {in({1, 1, 2, 2}), in({1, 1, 2, 2}, DType::kInt64), in({4}, DType::kInt64)},
                    {{"kernel_shape", Ints{2, 2}}}),
            (Ints{-1, -1, -1, -1}));
}

class Expanded : public Sampled {
 protected:
  int64_t count(const std::string& op) const {
    return std::ranges::count_if(g.nodes(), [&](const Node& node) { return node.op == op; });
  }
  expansions::ConvolutionArguments arguments(Ints src, Ints weights, Ints bias, Attributes attributes) {
    return {.name = "y",
            .src = in(std::move(src)),
            .weights = in(std::move(weights)),
            .bias = bias.empty() ? kNoValue : in(std::move(bias)),
            .attributes = std::move(attributes)};
  }
};

TEST_F(Expanded, ConvolutionsAlongOneAndTwoAxesAreThemselves) {
  for (const Ints& dims : {Ints{2, 3, 9}, Ints{2, 3, 9, 8}}) {
    Ints weights(dims.size(), 3);
    weights[0] = 6;
    const auto y = expansions::conv(g, arguments(dims, weights, {6}, {}));
    ASSERT_TRUE(y) << y.error().message;
    EXPECT_EQ(g.nodes().back().op, "Conv");
    EXPECT_EQ(g.value(y->front()).dims.size(), dims.size());
  }
  EXPECT_EQ(g.nodes().size(), 2U);
}

TEST_F(Expanded, AConvolutionAlongThreeAxesIsOneInTwo) {
  const Attributes attributes = {{"strides", Ints{2, 1, 2}}, {"pads", Ints{1, 0, 1, 1, 1, 0}}, {"group", int64_t{2}}};
  const auto y = expansions::conv(g, arguments({-1, 4, 5, 6, 7}, {6, 2, 3, 2, 3}, {6}, attributes));
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(g.value(y->front()).dims, (Ints{-1, 6, 3, 6, 3}));
  EXPECT_EQ(g.value(y->front()).name, "y");
  EXPECT_EQ(count("Conv"), 1);
  EXPECT_EQ(count("isobit.Im2Col"), 1);
}

TEST_F(Expanded, ATransposedConvolutionHasItsBiasAdded) {
  const auto line = expansions::conv_transpose(g, arguments({2, 4, 5}, {4, 3, 3}, {3}, {}));
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(g.value(line->front()).dims, (Ints{2, 3, 7}));
  EXPECT_EQ(g.nodes().back().op, "Add");
  const Attributes attributes = {{"strides", Ints{2, 2, 1}}, {"group", int64_t{2}}, {"output_padding", Ints{1, 0, 0}}};
  const auto volume = expansions::conv_transpose(g, arguments({-1, 4, 3, 4, 5}, {4, 3, 2, 3, 2}, {6}, attributes));
  ASSERT_TRUE(volume) << volume.error().message;
  EXPECT_EQ(g.value(volume->front()).dims, (Ints{-1, 6, 7, 9, 6}));
  EXPECT_EQ(count("Col2Im"), 1);
}

TEST_F(Expanded, ADeformedConvolutionIsSampledAndMultiplied) {
  const auto y = expansions::deform_conv(g, {.name = "y",
                                             .src = in({-1, 4, 5, 6}),
                                             .weights = in({6, 2, 2, 3}),
                                             .offset = in({-1, 24, 4, 4}),
                                             .bias = in({6}),
                                             .attributes = {{"group", int64_t{2}}, {"offset_group", int64_t{2}}}});
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(g.value(y->front()).dims, (Ints{-1, 6, 4, 4}));
}

TEST_F(Expanded, WhatDoesNotFitIsAnErrorThatNamesTheNode) {
  const auto refusal = [&](Ints src, Ints weights, Attributes attributes, bool transposed = false) {
    const auto a = arguments(std::move(src), std::move(weights), {}, std::move(attributes));
    const auto y = transposed ? expansions::conv_transpose(g, a) : expansions::conv(g, a);
    return y ? std::string() : y.error().message;
  };
  const Ints src = {1, 2, 4, 4, 4}, weights = {2, 2, 2, 2, 2};
  for (const bool transposed : {false, true}) {
    EXPECT_NE(refusal(src, {2, 2, 2, 2}, {}, transposed).find("'y'"), std::string::npos);
    EXPECT_NE(refusal({1, 2, -1, 4, 4}, weights, {}, transposed).find("known before the run"), std::string::npos);
    EXPECT_NE(refusal(src, weights, {{"group", int64_t{0}}}, transposed).find("0 groups"), std::string::npos);
    EXPECT_NE(refusal(src, weights, {{"pads", 1.5}}, transposed).find("'pads'"), std::string::npos);
    EXPECT_NE(refusal(src, weights, {{"kernel_shape", Ints{2, 2, 3}}}, transposed).find("differs"), std::string::npos);
    EXPECT_NE(refusal(src, {2, INT64_MAX, 2, 2, 2}, {}, transposed).find("too large"), std::string::npos);
  }
  EXPECT_NE(refusal({1, INT64_MAX, 4, 4, 4}, weights, {}).find("too large"), std::string::npos);
  EXPECT_NE(refusal({1, 3, 4, 4, 4}, weights, {}).find("source has 6 channels, weights expect 4"), std::string::npos);
  const auto deformed = expansions::deform_conv(
      g, {.name = "d", .src = in({1, 4, 5, 6}), .weights = in({6, 4, 2}), .offset = in({1, 8, 4, 5})});
  ASSERT_FALSE(deformed);
  EXPECT_NE(deformed.error().message.find("'d'"), std::string::npos);
}

}  // namespace
}  // namespace isobit::graph
