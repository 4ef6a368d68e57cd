// Elements of steps of imported networks judged alone: of operators that no builder has, those that sample at points,
// cut out regions, gather and scatter among them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "isobit/run/network.h"
#include "isobit/run/onnx_for_test.h"
#include "isobit/train/judged_steps_for_test.h"

namespace isobit::run {
namespace {

using onnx::ints;
using onnx::ModelForTest;
using testing::Folder;

using Ints = std::vector<int64_t>;

constexpr int64_t kBatch = 4;

// Numbers of both signs that are no multiples of one another.
Tensor weights(Shape shape, int64_t seed, float scale = 1) {
  Tensor t(DType::kFloat32, std::move(shape));
  for (int64_t i = 0; i < t.elements(); ++i) {
    t.data<float>()[i] = scale * static_cast<float>((i * 37 + seed * 11) % 23 - 11) / 41;
  }
  return t;
}

// A network of digits: what a test makes of x [batch, 1, 8, 8], its parts under the names that it says.
class Network : public ModelForTest {
 public:
  Network() : ModelForTest(22) { input("x", {kBatch, 1, 8, 8}); }

  // A value that is no parameter.
  Network& constant(const std::string& name, const Tensor& value) {
    node("Constant", {}, {name}).with("value", value);
    return *this;
  }
  Network& conv(const std::string& x, const std::string& y, int64_t in, int64_t out) {
    initializer(y + ".weight", weights({out, in, 3, 3}, out)).initializer(y + ".bias", weights({out}, in));
    node("Conv", {x, y + ".weight", y + ".bias"}, {y}).with("pads", Ints{1, 1, 1, 1});
    return *this;
  }
  // Scores of what has so many numbers a sample.
  Network& scores(const std::string& x, int64_t features) {
    initializer("head.weight", weights({10, features}, 5));
    node("Flatten", {x}, {"head.flat"});
    node("Gemm", {"head.flat", "head.weight"}, {"scores"}).with("transB", 1);
    output("scores");
    return *this;
  }
};

class JudgedImported : public train::JudgedSteps {
 protected:
  // Every value of a step of the network is judged, under each arithmetic; `operators` are among its nodes.
  static void expect_judged(const Network& network, const std::set<std::string>& operators,
                            const std::string& more = "") {
    const Folder folder("judged_imported");
    network.write(folder / "m.onnx");
    for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
      SCOPED_TRACE(arithmetic);
      const train::Job job =
          job_of(text_of("onnx = \"", (folder / "m.onnx").string(), "\"", more),
                 text_of("dataset = \"digits\"\nbatch = ", kBatch), "lr = 0.01\nmomentum = 0.9", arithmetic);
      const auto opened = open_network(job, {});
      ASSERT_TRUE(opened) << opened.error().message;
      const train::Judgement all = judge_a_step(job, *opened);
      for (const std::string& op : operators) EXPECT_TRUE(all.operators.contains(op)) << op;
      // What follows from shapes is a constant of the graph by then.
      for (const char* op : {"Shape", "ConstantOfShape"}) EXPECT_FALSE(all.operators.contains(op)) << op;
    }
  }
};

TEST_F(JudgedImported, SamplingAtPoints) {
  for (const char* mode : {"linear", "cubic"}) {
    Network n;
    n.conv("x", "a", 1, 2);
    n.constant("scales", Tensor::of<float>(Shape{4}, std::vector<float>{1, 1, 1.5, 0.75}));
    n.node("Resize", {"a", "", "scales"}, {"resized"}).with("mode", mode);
    n.initializer("theta.weight", weights({6, 64}, 2, 0.1f)).initializer("theta.bias", weights({6}, 1));
    n.node("Flatten", {"x"}, {"flat"});
    n.node("Gemm", {"flat", "theta.weight", "theta.bias"}, {"theta.flat"}).with("transB", 1);
    n.constant("theta.shape", ints({kBatch, 2, 3}));
    n.node("Reshape", {"theta.flat", "theta.shape"}, {"theta"});
    n.constant("size", ints({kBatch, 2, 5, 5}));
    n.node("AffineGrid", {"theta", "size"}, {"grid"});
    n.node("GridSample", {"resized", "grid"}, {"sampled"}).with("mode", mode).with("padding_mode", "reflection");
    n.scores("sampled", 50);
    expect_judged(n, {"Resize", "isobit.ResizeGrad", "AffineGrid", "GridSample", "isobit.GridSampleGradSrc",
                      "isobit.GridSampleGradGrid"});
  }
}

TEST_F(JudgedImported, DeformedConvolutions) {
  Network n;
  n.conv("x", "a", 1, 4).conv("x", "offset", 1, 36).conv("x", "mask", 1, 18);
  n.initializer("deform.weight", weights({3, 4, 3, 3}, 7));
  n.node("DeformConv", {"a", "deform.weight", "offset", "", "mask"}, {"b"})
      .with("pads", Ints{1, 1, 1, 1})
      .with("offset_group", 2);
  n.scores("b", 192);
  expect_judged(n, {"isobit.DeformIm2Col", "isobit.DeformIm2ColGradSrc", "isobit.DeformIm2ColGradOffset"});
}

TEST_F(JudgedImported, Regions) {
  Network n;
  n.conv("x", "a", 1, 2);
  // Regions that overlap, leave the image, and cover a place with several bins.
  n.constant("rois", onnx::floats({kBatch, 4}, {0, 0, 7, 7, 1.5f, 2, 6, 5, -2, -1, 3, 9, 3, 3, 3.5f, 3.25f}));
  n.constant("images", ints({0, 1, 1, 3}));
  n.node("RoiAlign", {"a", "rois", "images"}, {"aligned"})
      .with("output_height", 2)
      .with("output_width", 3)
      .with("sampling_ratio", 2);
  n.constant("rois5", onnx::floats({kBatch, 5}, {0, 0, 0, 7, 7, 1, 1, 2, 6, 5, 1, 2, 2, 3, 3, 3, 4, 4, 9, 9}));
  n.node("MaxRoiPool", {"a", "rois5"}, {"pooled"}).with("pooled_shape", Ints{3, 2});
  n.constant("same", ints({kBatch, 2, 2, 3}));
  n.node("Reshape", {"pooled", "same"}, {"turned"});
  n.node("Add", {"aligned", "turned"}, {"both"});
  n.scores("both", 12);
  expect_judged(n, {"RoiAlign", "isobit.RoiAlignGrad", "MaxRoiPool", "isobit.MaxRoiPoolGrad"});
}

TEST_F(JudgedImported, Determinants) {
  Network n;
  n.initializer("a.weight", weights({90, 64}, 3));
  n.node("Flatten", {"x"}, {"flat"});
  n.node("Gemm", {"flat", "a.weight"}, {"a"}).with("transB", 1);
  n.constant("shape", ints({kBatch, 10, 3, 3}));
  n.node("Reshape", {"a", "shape"}, {"matrices"});
  n.node("Det", {"matrices"}, {"det"});
  n.scores("det", 10);
  expect_judged(n, {"Det"});
}

// What indices and conditions say: whole operands, single elements of them, and lines.
TEST_F(JudgedImported, IndicesAndConditions) {
  Network n;
  n.conv("x", "a", 1, 2);
  n.node("MaxPool", {"a"}, {"pooled", "places"}).with("kernel_shape", Ints{2, 2}).with("strides", Ints{2, 2});
  n.node("MaxUnpool", {"pooled", "places"}, {"unpooled"}).with("kernel_shape", Ints{2, 2}).with("strides", Ints{2, 2});
  n.constant("zero", onnx::floats({1}, {0}));
  n.node("Greater", {"unpooled", "zero"}, {"is_positive"});
  n.initializer("slope", weights({1}, 4));
  n.node("Mul", {"unpooled", "slope"}, {"leaked"});
  n.node("Where", {"is_positive", "unpooled", "leaked"}, {"chosen"});
  n.constant("some", ints({3, -1, 0, 3}));
  n.node("Gather", {"chosen", "some"}, {"gathered"}).with("axis", 3);
  n.constant("three", ints({3}));
  n.node("TopK", {"gathered", "three"}, {"largest", "ranks"}).with("axis", 2);
  n.node("GatherElements", {"gathered", "ranks"}, {"again"}).with("axis", 2);
  n.node("Add", {"largest", "again"}, {"sum"});
  n.constant("along", ints({2}));
  n.node("CumSum", {"sum", "along"}, {"summed"});
  n.node("ScatterElements", {"gathered", "ranks", "summed"}, {"put"}).with("axis", 2).with("reduction", "add");
  n.node("ReduceMax", {"put"}, {"most"}).with("keepdims", 1);
  n.node("Sub", {"put", "most"}, {"less"});
  n.node("LRN", {"less"}, {"normal"}).with("size", 3);
  n.scores("normal", 64);
  expect_judged(n, {"MaxUnpool", "Where", "Gather", "isobit.GatherGrad", "isobit.TopKGrad", "GatherElements",
                    "isobit.GatherElementsGrad", "CumSum", "ScatterElements", "ReduceMax", "LRN"});
}

// What exporters write: attention and normalisations in parts, a recurrent layer, shapes computed in the graph.
TEST_F(JudgedImported, WhatExportersWrite) {
  Network n;
  n.constant("rows", ints({kBatch, 8, 8}));
  n.node("Reshape", {"x", "rows"}, {"tokens"});
  n.initializer("scale", weights({8}, 1)).initializer("shift", weights({8}, 2));
  n.node("LayerNormalization", {"tokens", "scale", "shift"}, {"normal"}).with("axis", -1);
  n.initializer("q", weights({8, 8}, 3)).initializer("k", weights({8, 8}, 4)).initializer("v", weights({8, 8}, 5));
  for (const std::string part : {"q", "k", "v"}) n.node("MatMul", {"normal", part}, {part + ".of"});
  n.node("Transpose", {"k.of"}, {"k.turned"}).with("perm", Ints{0, 2, 1});
  n.node("MatMul", {"q.of", "k.turned"}, {"products"});
  n.node("Softmax", {"products"}, {"shares"}).with("axis", -1);
  n.node("MatMul", {"shares", "v.of"}, {"attended"});
  n.node("Shape", {"attended"}, {"shape"});
  n.node("ConstantOfShape", {"shape"}, {"ones"}).with("value", onnx::floats({1}, {1}));
  n.node("Add", {"attended", "ones"}, {"moved"});
  n.initializer("w", weights({1, 9, 8}, 6)).initializer("r", weights({1, 9, 3}, 7));
  n.node("GRU", {"moved", "w", "r"}, {"states"}).with("hidden_size", 3);
  n.node("Einsum", {"states", "shares"}, {"mixed"}).with("equation", "tdbh,tbk->tkh");
  n.scores("mixed", 24);
  expect_judged(n, {"LayerNormalization", "Softmax", "MatMul"});
}

TEST_F(JudgedImported, PartsThatAreFrozen) {
  Network n;
  n.conv("x", "a", 1, 2);
  n.node("Relu", {"a"}, {"active"});
  n.scores("active", 128);
  expect_judged(n, {"Relu", "Gemm"}, "\nfreeze = [\"a.*\"]");
}

// Trained networks, on their own data; one is made for batches of 1.
TEST_F(JudgedImported, RealNetworks) {
  const char* shared = std::getenv("ISOBIT_SHARED_DATA");
  const fs::path data = shared != nullptr ? shared : "";
  const std::map<std::string, std::string> networks = {
      {"mnist-cnn.onnx", text_of("dataset = \"mnist\"\npath = \"", (data / "mnist").string(), "\"\nbatch = 1")},
      {"resnet20-cifar10.onnx",
       text_of("dataset = \"cifar10\"\nfiles = [\"", (data / "cifar10/lossless_train_0_3999.bin").string(),
               "\"]\ntest_files = [\"", (data / "cifar10/jpegsrc_test_batch.bin").string(), "\"]\nbatch = 1")}};
  int found = 0;
  for (const auto& [file, of_data] : networks) {
    if (!fs::exists(data / "models" / file)) continue;
    ++found;
    SCOPED_TRACE(file);
    const train::Job job = job_of(text_of("onnx = \"", (data / "models" / file).string(), "\""), of_data,
                                  "lr = 0.01\nmomentum = 0.9", "correct-1");
    const auto opened = open_network(job, {});
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_GT(judge_a_step(job, *opened).elements, 30);
  }
  if (found == 0) GTEST_SKIP() << "skipped: no data";
}

}  // namespace
}  // namespace isobit::run
