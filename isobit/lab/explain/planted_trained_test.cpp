// Causes that a test has planted in networks that somebody trained.
#include <cstdlib>

#include "isobit/lab/explain/planted_case_for_test.h"
#include "isobit/lab/inference.h"
#include "isobit/onnx/import.h"
#include "isobit/runtime/specialise.h"

namespace isobit::lab::explain {
namespace {

using testing::Case;
using testing::PlantedCause;

class PlantedTrainedTest : public PlantedCause {
 protected:
  // False where there are no data.
  bool open(const std::string& name) {
    const char* folder = std::getenv("ISOBIT_SHARED_DATA");
    if (folder == nullptr || !fs::is_directory(folder)) return false;
    request_.replay.inference.model = fs::path(folder) / "models" / name;
    EXPECT_TRUE(fs::exists(model())) << model();
    begin();
    return true;
  }
  // What operators of this name make, in order.
  std::vector<std::string> made_by(const std::string& op) const {
    std::vector<std::string> values;
    for (const auto& n : nodes_) {
      if (n.op == op) values.push_back(n.outputs[0]);
    }
    return values;
  }
};

TEST_F(PlantedTrainedTest, InResnet20) {
  if (!open("resnet20-cifar10.onnx")) GTEST_SKIP() << "skipped: no data";
  const std::vector<std::string> convolutions = made_by("Conv"), products = made_by("Gemm"),
                                 means = made_by("AveragePool");
  ASSERT_EQ(convolutions.size(), 19u);
  ASSERT_EQ(products.size(), 1u);
  ASSERT_EQ(means.size(), 1u);
  for (const Case& c : testing::product_cases(products)) expect_named(c);
  expect_named({Kind::kSummationOrder, means[0], {}, testing::sums({.mean = true})});
  for (const size_t place : {0, 4, 11}) {
    const char* algorithm = place == 4 ? "winograd2" : "winograd4";
    expect_named(
        {Kind::kConvolutionAlgorithm, convolutions[place], {}, testing::convolution_by(algorithm), false, algorithm});
  }
}

// A detector of voices, whose graphs within graphs no part of it may hold: recorded as it runs as a whole.
class PlantedDetectorTest : public PlantedTrainedTest {
 protected:
  void record(const std::string& name, const platform::Platform& p, backends::Backend& backend) override {
    ThreadPool pool(1);
    const auto inputs = inputs_of(request_.replay.inference, pool).value();
    onnx::ImportOptions options;
    std::vector<Shape> shapes;
    for (const NamedTensor& input : inputs) {
      options.shapes[input.name] = input.tensor.shape().dims();
      shapes.push_back(input.tensor.shape());
    }
    const onnx::Imported imported = onnx::import_model(onnx::load_model(model()).value(), options).value();
    const graph::Graph graph = runtime::specialise(imported.graph, shapes).value();
    platform::Engine engine(p);
    const auto context = engine.context_for(platform::arithmetic_of("float32")).value();
    const auto program = backend.compile(graph, context).value();
    std::vector<backends::Program::Feed> feeds;
    for (size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(graph.inputs()[i], inputs[i].tensor);
    std::vector<Tensor> outputs(graph.outputs().size());
    records::RunRecord run;
    testing::Seen seen(0, run.values, &tensors_);
    ASSERT_TRUE(program->run(feeds, outputs, {.observer = &seen}).has_value());
    run.subject = subject_;
    run.platform = {name, p.library, {{"arithmetic", "float32"}}, {}, 0};
    run.tapped = true;
    run.values.back().is_output = true;
    runs_.push_back(std::move(run));
  }
};

TEST_F(PlantedDetectorTest, InSileroVad) {
  request_.replay.inference.extents = {{"batch", 1}, {"sequence", 576}};
  request_.replay.inference.inputs = {{"sr", Tensor::scalar<int64_t>(16000)}};
  if (!open("silero_vad_16k_op15.onnx")) GTEST_SKIP() << "skipped: no data";
  const std::vector<std::string> convolutions = made_by("Conv");
  ASSERT_EQ(convolutions.size(), 6u);
  expect_named({Kind::kFusedMultiplyAdd, convolutions[0], {}, testing::plain_loop()});
  expect_named({Kind::kElementaryFunction, made_by("Sqrt").at(0), {}, testing::one_ulp_off()});
  expect_named({Kind::kElementaryFunction, made_by("Pow").at(0), {}, testing::one_ulp_off()});
}

TEST_F(PlantedTrainedTest, InACnnOfDigits) {
  if (!open("mnist-cnn.onnx")) GTEST_SKIP() << "skipped: no data";
  const std::vector<std::string> products = made_by("MatMul");
  ASSERT_EQ(products.size(), 1u);
  for (const Case& c : testing::product_cases(products)) expect_named(c);
}

}  // namespace
}  // namespace isobit::lab::explain
