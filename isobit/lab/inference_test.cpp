#include "isobit/lab/inference.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "isobit/onnx/model_for_test.h"

namespace isobit::lab {
namespace {

using onnx::ModelForTest;

class Infer : public ::testing::Test {
 protected:
  Infer() : folder_(fs::temp_directory_path() / ("isobit_infer_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    request_.model = folder_ / "m.onnx";
  }
  ~Infer() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  void write(const ModelForTest& model) { model.write(request_.model); }
  // y = x w + b with x of [batch, 3], w of [3, 2].
  static ModelForTest linear() {
    ModelForTest model;
    model.input("x", {-1, 3});
    model.graph()
        .mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param("batch");
    model.initializer("w", onnx::floats({3, 2}, {1, 2, 3, 4, 5, 6})).initializer("b", onnx::floats({2}, {10, 20}));
    model.node("MatMul", {"x", "w"}, {"xw"});
    model.node("Add", {"xw", "b"}, {"y"});
    return model.output("y");
  }
  Expected<Inference> infer_on(const char* platform) const {
    platform::Engine engine(platform::parse_platform(platform).value());
    return infer(request_, engine);
  }
  std::string error_on_portable() const {
    const auto done = infer_on("ordered@portable/1t");
    return done ? "no error" : done.error().message;
  }

  fs::path folder_;
  InferenceRequest request_;
};

TEST_F(Infer, GivenInputsByNameAndByPlace) {
  write(linear());
  for (const char* name : {"x", ""}) {
    request_.inputs = {{name, onnx::floats({2, 3}, {1, 0, 0, 1, 1, 1})}};
    const auto done = infer_on("ordered@portable/1t");
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(done->outputs.size(), 1U);
    EXPECT_EQ(done->outputs[0].name, "y");
    EXPECT_TRUE(identical(done->outputs[0].tensor, onnx::floats({2, 2}, {11, 22, 19, 32})));
    EXPECT_EQ(done->inputs[0].name, "x");
  }
}

TEST_F(Infer, DrawnInputsDependOnSeedAndShapeAlone) {
  write(linear());
  request_.extents = {{"batch", 5}};
  const auto first = infer_on("ordered@portable/1t"), again = infer_on("ordered/2t");
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->inputs[0].tensor.shape(), (Shape{5, 3}));
  EXPECT_TRUE(identical(first->inputs[0].tensor, again->inputs[0].tensor));
  EXPECT_TRUE(identical(first->outputs[0].tensor, again->outputs[0].tensor));
  request_.seed = 2;
  const auto other = infer_on("ordered@portable/1t");
  ASSERT_TRUE(other);
  EXPECT_FALSE(identical(first->inputs[0].tensor, other->inputs[0].tensor));
  request_.extents.clear();
  const auto one = infer_on("ordered@portable/1t");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->inputs[0].tensor.shape(), (Shape{1, 3}));
}

TEST_F(Infer, AnExtentThatAGivenInputContradictsIsRefused) {
  write(linear());
  request_.inputs.push_back({"x", Tensor(DType::kFloat32, Shape{5, 3})});
  request_.extents = {{"batch", 5}};
  EXPECT_TRUE(infer_on("ordered@portable/1t"));
  request_.extents = {{"batch", 4}};
  const auto refused = infer_on("ordered@portable/1t");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("found batch=4, but the input 'x' has 5 there"), std::string::npos)
      << refused.error().message;
}

TEST_F(Infer, TheSameBitsOnEveryPlatformUnderBothArithmetics) {
  write(linear());
  request_.extents = {{"batch", 7}};
  request_.repeat = 2;
  for (const char* arithmetic : {"ordered-1", "correct-1"}) {
    request_.arithmetic = arithmetic;
    std::optional<Tensor> expected;
    for (const platform::Platform& p : platform::available_platforms()) {
      if (!p.is_ordered()) continue;
      platform::Engine engine(p);
      const auto done = infer(request_, engine);
      ASSERT_TRUE(done) << p.text() << ": " << done.error().message;
      EXPECT_EQ(done->seconds.size(), 2U);
      if (!expected) expected = done->outputs[0].tensor.clone();
      EXPECT_TRUE(identical(*expected, done->outputs[0].tensor)) << p.text();
    }
  }
}

TEST_F(Infer, LimitsNameWhatIsOverThemAndTheirOption) {
  write(linear());
  const auto says = [&](const char* words) {
    const std::string message = error_on_portable();
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  request_.extents = {{"batch", 1 << 20}};
  request_.max_tensor = 1 << 20;
  says("input 'x' of shape [1048576, 3]: ");
  says("(--max-tensor)");
  request_.max_tensor = 14 << 20;
  EXPECT_EQ(error_on_portable(), "no error");
  request_.max_memory = 14 << 20;
  says("--max-memory");
  request_.max_memory = 64 << 20;
  EXPECT_EQ(error_on_portable(), "no error");
  request_.max_memory = 1000;
  says("m.onnx: ");
  says("--max-memory");
}

TEST_F(Infer, WhatDoesNotFitIsNamed) {
  write(linear());
  request_.inputs = {{"z", onnx::floats({1, 3}, {1, 2, 3})}};
  EXPECT_NE(error_on_portable().find("no input 'z', expected one of: 'x'"), std::string::npos);
  request_.inputs = {{"x", onnx::floats({1, 3}, {1, 2, 3})}, {"x", onnx::floats({1, 3}, {1, 2, 3})}};
  EXPECT_NE(error_on_portable().find("'x' is given twice"), std::string::npos);
  request_.inputs = {{"", onnx::floats({1, 3}, {1, 2, 3})}, {"", onnx::floats({1, 3}, {1, 2, 3})}};
  EXPECT_NE(error_on_portable().find("more inputs than the model has"), std::string::npos);
  request_.inputs = {{"x", onnx::floats({1, 4}, {1, 2, 3, 4})}};
  EXPECT_NE(error_on_portable().find("found shape [1, 4], expected float32 [batch, 3]"), std::string::npos)
      << error_on_portable();
  request_.inputs = {{"x", onnx::ints({1, 2, 3})}};
  EXPECT_NE(error_on_portable(), "no error");
  request_.inputs.clear();
  request_.extents = {{"rows", 2}};
  EXPECT_NE(error_on_portable().find("expected one of: batch"), std::string::npos);
  request_.extents = {{"batch", INT64_MAX / 2}};
  EXPECT_NE(error_on_portable(), "no error");
  request_.extents.clear();
  request_.arithmetic = "none";
  EXPECT_NE(error_on_portable(), "no error");
  request_.model = folder_ / "absent.onnx";
  EXPECT_NE(error_on_portable(), "no error");
}

// An inner product rounded to float32 and then to a half would be rounded twice.
TEST_F(Infer, HalvesAreRefusedWhereSumsAreRoundedOnce) {
  ModelForTest model;
  model.input("x", {2, 3}, onnx::kFloat16).input("w", {3, 2}, onnx::kFloat16);
  model.node("MatMul", {"x", "w"}, {"y"});
  write(model.output("y"));
  EXPECT_TRUE(infer_on("ordered@portable/1t"));
  request_.arithmetic = "correct-1";
  EXPECT_NE(error_on_portable().find("value 'x' is float16, which correct-1 does not take"), std::string::npos)
      << error_on_portable();
}

TEST_F(Infer, InputsForOthersAreThoseOfARun) {
  write(linear());
  request_.seed = 5;
  request_.extents = {{"batch", 4}};
  ThreadPool pool(1);
  const auto inputs = inputs_of(request_, pool);
  ASSERT_TRUE(inputs) << inputs.error().message;
  const auto ran = infer_on("ordered@portable/1t");
  ASSERT_TRUE(ran);
  ASSERT_EQ(inputs->size(), 1U);
  EXPECT_EQ((*inputs)[0].name, "x");
  EXPECT_TRUE(identical((*inputs)[0].tensor, ran->inputs[0].tensor));
  request_.inputs = {{"x", onnx::floats({2, 2}, {1, 2, 3, 4})}};
  EXPECT_EQ(inputs_of(request_, pool).error().code, ErrorCode::kUnreadable);
}

TEST_F(Infer, InputsOfAModelThatIsobitDoesNotHave) {
  ModelForTest model;
  model.input("x", {2, 3}).node("NoSuchOperator", {"x"}, {"y"});
  write(model.output("y"));
  ThreadPool pool(1);
  const auto inputs = inputs_of(request_, pool);
  ASSERT_TRUE(inputs) << inputs.error().message;
  EXPECT_EQ((*inputs)[0].tensor.shape().dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_FALSE(infer_on("ordered@portable/1t"));
}

}  // namespace
}  // namespace isobit::lab
