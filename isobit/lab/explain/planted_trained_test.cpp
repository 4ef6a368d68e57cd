// Causes that a test has planted in networks that somebody trained.
#include <cstdlib>

#include "isobit/lab/explain/planted_case_for_test.h"

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

TEST_F(PlantedTrainedTest, InACnnOfDigits) {
  if (!open("mnist-cnn.onnx")) GTEST_SKIP() << "skipped: no data";
  const std::vector<std::string> products = made_by("MatMul");
  ASSERT_EQ(products.size(), 1u);
  for (const Case& c : testing::product_cases(products)) expect_named(c);
}

}  // namespace
}  // namespace isobit::lab::explain
