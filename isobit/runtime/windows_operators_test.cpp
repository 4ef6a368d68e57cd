// Operators that slide windows over images, as graphs run them, against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "isobit/graph/expansions/convolution.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/executor.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::ValueId;
using graph::expansions::ConvolutionArguments;
using Ints = std::vector<int64_t>;

Tensor random_tensor(Ints dims, uint64_t seed) {
  Tensor t(DType::kFloat64, Shape(std::move(dims)));
  std::mt19937_64 random(seed);
  for (double& x : t.span<double>()) x = static_cast<double>(random() >> 40) * 0x1p-23 - 1;
  return t;
}

class WindowsTest : public ::testing::Test {
 protected:
  ValueId in(Tensor t) {
    const ValueId id = g_.add_input("x", t.dtype(), t.shape().dims());
    feeds_.emplace_back(id, std::move(t));
    return id;
  }
  Tensor run(ValueId y) {
    g_.add_output(y);
    ThreadPool pool(2);
    return Executor(g_).run({kernels::best_isa(), &pool}, feeds_).value()[0];
  }

  Graph g_;
  Executor::Feeds feeds_;
};

// f(index) for all indices below the extents.
void for_each_index(const Ints& extents, const std::function<void(const Ints&)>& f) {
  Ints index(extents.size(), 0);
  for (int64_t d : extents) {
    if (d == 0) return;
  }
  for (bool more = true; more;) {
    f(index);
    more = false;
    for (size_t a = extents.size(); a-- > 0 && !more;) {
      more = ++index[a] < extents[a];
      if (!more) index[a] = 0;
    }
  }
}

double& at(Tensor& t, const Ints& index) {
  int64_t place = 0;
  for (size_t a = 0; a < index.size(); ++a) place = place * t.shape()[static_cast<int>(a)] + index[a];
  return t.data<double>()[place];
}

struct Geometry {
  Ints src, weights, strides, begins, dilations, dst;
  int64_t group = 1;
};

// Every product of a convolution: f(place in src, in weights, in dst).
void for_each_product(const Geometry& c, const std::function<void(const Ints&, const Ints&, const Ints&)>& f) {
  const size_t axes = c.strides.size();
  for_each_index(c.dst, [&](const Ints& out) {
    for_each_index(Ints(c.weights.begin() + 1, c.weights.end()), [&](const Ints& tap) {
      Ints from = {out[0], out[1] / (c.weights[0] / c.group) * c.weights[1] + tap[0]}, weight = {out[1]};
      weight.insert(weight.end(), tap.begin(), tap.end());
      for (size_t a = 0; a < axes; ++a) {
        from.push_back(out[a + 2] * c.strides[a] - c.begins[a] + tap[a + 1] * c.dilations[a]);
        if (from.back() < 0 || from.back() >= c.src[a + 2]) return;
      }
      f(from, weight, out);
    });
  });
}

std::vector<Geometry> geometries() {
  return {{{2, 4, 9}, {6, 2, 3}, {2}, {1}, {1}, {2, 6, 5}, 2},
          {{1, 2, 5, 6}, {3, 2, 3, 2}, {1, 2}, {1, 0}, {2, 1}, {1, 3, 4, 3}, 1},
          {{2, 4, 4, 3, 5}, {6, 2, 3, 2, 2}, {2, 1, 2}, {1, 0, 1}, {1, 1, 2}, {2, 6, 2, 2, 3}, 2},
          {{1, 3, 2, 2, 2}, {2, 3, 1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, {1, 2, 2, 2, 2}, 1}};
}

// The pads behind that make so many windows of the source.
Attributes attributes_of(const Geometry& c) {
  Ints pads = c.begins;
  for (size_t a = 0; a < c.strides.size(); ++a) {
    const int64_t reach = c.dilations[a] * (c.weights[a + 2] - 1) + 1;
    pads.push_back((c.dst[a + 2] - 1) * c.strides[a] + reach - c.src[a + 2] - c.begins[a]);
  }
  for (int64_t& pad : pads) pad = std::max<int64_t>(pad, 0);
  return {{"strides", c.strides}, {"dilations", c.dilations}, {"pads", pads}, {"group", c.group}};
}

void expect_near(const Tensor& expected, const Tensor& found) {
  ASSERT_EQ(expected.shape(), found.shape());
  for (int64_t i = 0; i < expected.elements(); ++i) {
    EXPECT_NEAR(expected.data<double>()[i], found.data<double>()[i], 1e-12) << i;
  }
}

TEST_F(WindowsTest, ConvolutionsAlongOneTwoAndThreeAxes) {
  for (const Geometry& c : geometries()) {
    g_ = {};
    feeds_.clear();
    Tensor src = random_tensor(c.src, 1), weights = random_tensor(c.weights, 2),
           bias = random_tensor({c.weights[0]}, 3);
    Tensor expected = Tensor::zeros(DType::kFloat64, Shape(c.dst));
    for_each_index(c.dst, [&](const Ints& out) { at(expected, out) = bias.data<double>()[out[1]]; });
    for_each_product(c, [&](const Ints& from, const Ints& weight, const Ints& out) {
      at(expected, out) += at(src, from) * at(weights, weight);
    });
    const ConvolutionArguments arguments = {
        .name = "y", .src = in(src), .weights = in(weights), .bias = in(bias), .attributes = attributes_of(c)};
    const auto y = graph::expansions::conv(g_, arguments);
    ASSERT_TRUE(y) << y.error().message;
    expect_near(expected, run(y->front()));
  }
}

// The same products the other way round: what a window sees is what it gives to.
TEST_F(WindowsTest, TransposedConvolutionsAlongOneTwoAndThreeAxes) {
  for (const Geometry& c : geometries()) {
    g_ = {};
    feeds_.clear();
    const int64_t channels = c.src[1];
    Tensor src = random_tensor(c.dst, 1), weights = random_tensor(c.weights, 2), bias = random_tensor({channels}, 3);
    Tensor expected = Tensor::zeros(DType::kFloat64, Shape(c.src));
    for_each_index(c.src, [&](const Ints& out) { at(expected, out) = bias.data<double>()[out[1]]; });
    for_each_product(c, [&](const Ints& from, const Ints& weight, const Ints& out) {
      at(expected, from) += at(src, out) * at(weights, weight);
    });
    Attributes attributes = attributes_of(c);
    Ints padding, pads = attributes.integers("pads", {});
    const size_t axes = c.strides.size();
    for (size_t a = 0; a < axes; ++a) {
      const int64_t reach = c.dilations[a] * (c.weights[a + 2] - 1) + 1;
      padding.push_back(c.src[a + 2] - ((c.dst[a + 2] - 1) * c.strides[a] + reach - pads[a] - pads[axes + a]));
    }
    attributes.set("output_padding", padding);
    const ConvolutionArguments arguments = {
        .name = "y", .src = in(src), .weights = in(weights), .bias = in(bias), .attributes = attributes};
    const auto y = graph::expansions::conv_transpose(g_, arguments);
    ASSERT_TRUE(y) << y.error().message;
    expect_near(expected, run(y->front()));
  }
}

// Without offsets, and with the whole mask, it is the convolution.
TEST_F(WindowsTest, ADeformedConvolutionWithoutOffsetsIsAConvolution) {
  const Geometry c = {{2, 4, 5, 6}, {6, 2, 3, 2}, {1, 2}, {1, 0}, {1, 1}, {2, 6, 5, 3}, 2};
  Tensor src = random_tensor(c.src, 1), weights = random_tensor(c.weights, 2), bias = random_tensor({6}, 3);
  Tensor expected = Tensor::zeros(DType::kFloat64, Shape(c.dst)), mask(DType::kFloat64, {2, 12, 5, 3});
  for (double& x : mask.span<double>()) x = 1;
  for_each_index(c.dst, [&](const Ints& out) { at(expected, out) = bias.data<double>()[out[1]]; });
  for_each_product(c, [&](const Ints& from, const Ints& weight, const Ints& out) {
    at(expected, out) += at(src, from) * at(weights, weight);
  });
  Attributes attributes = attributes_of(c);
  attributes.set("offset_group", int64_t{2});
  const auto y = graph::expansions::deform_conv(g_, {.name = "y",
                                                     .src = in(src),
                                                     .weights = in(weights),
                                                     .offset = in(Tensor::zeros(DType::kFloat64, {2, 24, 5, 3})),
                                                     .bias = in(bias),
                                                     .mask = in(mask),
                                                     .attributes = attributes});
  ASSERT_TRUE(y) << y.error().message;
  expect_near(expected, run(y->front()));
}

TEST_F(WindowsTest, UnpoolingBringsTheMaximaBack) {
  const Tensor src = random_tensor({2, 3, 4, 6}, 1);
  const Attributes window = {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
  const auto pooled = g_.emit_all("MaxPool", {in(src)}, window, {"maxima", "places"});
  const Tensor found = run(g_.emit("MaxUnpool", {pooled[0], pooled[1]}, window, "y"));
  ASSERT_EQ(found.shape(), src.shape());
  int kept = 0;
  for (int64_t i = 0; i < src.elements(); ++i) {
    const double x = found.data<double>()[i];
    EXPECT_TRUE(x == 0 || x == src.data<double>()[i]) << i;
    kept += x != 0 ? 1 : 0;
  }
  EXPECT_EQ(kept, src.elements() / 4);
}

// ONNX: the places are those of a plane that the windows come from, here 4 x 4; the result may be larger.
TEST_F(WindowsTest, UnpooledPlanesMayBeACornerOfLargerOnes) {
  const double values[] = {1, 2, 3, 4};
  const int64_t places[] = {5, 7, 13, 15};
  const ValueId x = in(Tensor::of<double>({1, 1, 2, 2}, values)), i = in(Tensor::of<int64_t>({1, 1, 2, 2}, places));
  Tensor y =
      run(g_.emit("MaxUnpool", {x, i},
                  {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"output_shape", Ints{1, 1, 5, 5}}}, "y"));
  for_each_index({1, 1, 5, 5}, [&](const Ints& p) {
    const bool one = (p[2] == 1 || p[2] == 3) && (p[3] == 1 || p[3] == 3);
    EXPECT_EQ(at(y, p), one ? static_cast<double>(p[2] / 2 * 2 + p[3] / 2 + 1) : 0) << p[2] << " " << p[3];
  });
}

// Shapes that are known only in the run: pads of SAME and sizes follow from them.
TEST_F(WindowsTest, PadsFollowFromShapesThatComeWithTheRun) {
  const ValueId x = g_.add_input("x", DType::kFloat64, {-1, 2, -1, -1});
  const Attributes same = {
      {"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}};
  const ValueId y = g_.emit("Resize", {g_.emit("AveragePool", {x}, same, "pooled")},
                            {{"scales", std::vector<double>{1, 1, 2, 2}}}, "y");
  EXPECT_EQ(g_.value(y).dims, (Ints{-1, 2, -1, -1}));
  feeds_.emplace_back(x, random_tensor({3, 2, 5, 8}, 1));
  EXPECT_EQ(run(y).shape(), (Shape{3, 2, 6, 8}));
}

}  // namespace
}  // namespace isobit::runtime
