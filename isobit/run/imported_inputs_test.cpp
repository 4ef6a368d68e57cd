// Which input of a file each input of the data feeds, and the target of a network that computes its loss itself.
#include <gtest/gtest.h>

#include "isobit/run/imported_network.h"
#include "isobit/run/onnx_for_test.h"

namespace isobit::run {
namespace {

using models::ModelInput;
using testing::Folder;

// scores = (reference - photo) w, of samples [2].
onnx::ModelForTest difference() {
  onnx::ModelForTest m(17);
  m.input("reference", {-1, 2}).input("photo", {-1, 2});
  m.initializer("w", onnx::floats({2, 3}, {1, 2, 3, 4, 5, 6}));
  m.node("Sub", {"reference", "photo"}, {"difference"});
  m.node("MatMul", {"difference", "w"}, {"scores"});
  m.output("scores");
  return m;
}

// The inputs of the file in the order of those of the data, or why they do not belong together.
std::string fed(const std::vector<ModelInput>& data) {
  const Folder folder("imported_inputs");
  testing::write_model(folder / "m.onnx", difference());
  const auto network = ImportedNetwork::open(folder / "m.onnx", {}, {}).value();
  models::ModelConfig config;
  config.builder = models::kFromFile;
  config.batch = 4;
  config.inputs = data;
  const auto model = network->build(config);
  if (!model) return model.error().message;
  std::string names;
  for (const graph::ValueId id : model->inputs) names += model->graph.value(id).name + " ";
  return names;
}

ModelInput input(const std::string& name) { return {name, DType::kFloat32, {2}, false}; }
ModelInput target() { return {"target", DType::kFloat32, {2}, true}; }

TEST(ImportedInputs, NamesDecideAndOneThatIsLeftOverBelongsToTheOther) {
  EXPECT_EQ(fed({input("photo"), input("reference")}), "photo reference ");
  EXPECT_EQ(fed({input("photo"), input("image")}), "photo reference ");
  EXPECT_EQ(fed({input("target"), input("photo")}), "reference photo ");
}

// Also where one of them is called as the target of a loss would be.
TEST(ImportedInputs, OfTwoThatAreLeftOverNothingIsGuessed) {
  for (const char* second : {"other", "target"}) {
    EXPECT_NE(fed({input("image"), input(second)}).find("name them alike (data.inputs)"), std::string::npos) << second;
  }
}

TEST(ImportedInputs, ATargetIsTheLastOneThatIsLeftOver) {
  EXPECT_EQ(fed({input("image"), target()}), "reference photo ");
  EXPECT_EQ(fed({input("photo"), target()}), "photo reference ");
  EXPECT_NE(fed({input("image"), input("photo"), target()}).find("name them alike"), std::string::npos);
}

}  // namespace
}  // namespace isobit::run
