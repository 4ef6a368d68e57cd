// Nodes in the form that a training, or an inference from its state, has of them.
#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/numerics/half.h"
#include "isobit/onnx/training_for_test.h"

namespace isobit::onnx {
namespace {

// Two batch norms, the first of which another input follows.
ModelForTest normed(bool training_mode) {
  ModelForTest m(15);
  m.input("x", {4, 3, 2, 2});
  for (const char* norm : {"a", "b"}) {
    for (const char* what : {"scale", "bias", "mean", "var"}) {
      m.initializer(std::string(norm) + "." + what, floats({3}, {1, 1, 1}));
    }
  }
  std::string at = "x";
  for (const std::string norm : {"a", "b"}) {
    const bool outputs = training_mode && norm == "b";
    Names out = {norm};
    if (outputs) out.insert(out.end(), {"b.new_mean", "b.new_var"});
    auto node = m.node("BatchNormalization", {at, norm + ".scale", norm + ".bias", norm + ".mean", norm + ".var"}, out);
    node.with("momentum", 0.75f).with("epsilon", 1e-3f);
    if (outputs) node.with("training_mode", 1);
    at = norm;
  }
  m.output("b");
  return m;
}

TEST(TrainingForm, OfBatchNormUsesTheBatchAndUpdatesWhatItKeeps) {
  for (const bool written_for_training : {false, true}) {
    const auto found = normed(written_for_training).imported(opened(Form::kTraining));
    ASSERT_TRUE(found) << found.error().message;
    const Names one = {"isobit.BatchStatistics", "isobit.BatchNormApply", "isobit.RunningUpdate",
                       "isobit.RunningUpdate"};
    Names both = one;
    both.insert(both.end(), one.begin(), one.end());
    EXPECT_EQ(operators(found->graph), both);
    EXPECT_EQ(names_of(found->graph, found->parameters), (Names{"a.scale", "a.bias", "b.scale", "b.bias"}));
    ASSERT_EQ(found->statistics.size(), 4u);
    EXPECT_EQ(found->graph.value(found->statistics[0].value).name, "a.mean");
    EXPECT_EQ(found->graph.value(found->statistics[1].updated).name, "a.var.next");
    EXPECT_EQ(found->report.batch_norms, (Names{"a", "b"}));
    EXPECT_TRUE(found->report.inference.empty());
    for (const graph::Node& node : found->graph.nodes()) {
      if (node.op == "isobit.RunningUpdate") {
        EXPECT_EQ(node.attributes.real("momentum", -1), 0.75);
      } else if (node.op == "isobit.BatchNormApply") {
        EXPECT_EQ(static_cast<float>(node.attributes.real("epsilon", -1)), 1e-3f);
      }
      EXPECT_FALSE(node.attributes.has("count"));
    }
  }
}

TEST(TrainingForm, AnUnbiasedVarianceCountsTheValuesOfAChannel) {
  ImportOptions options = opened(Form::kTraining);
  options.form.unbiased_variance = true;
  const auto found = normed(false).imported(options);
  ASSERT_TRUE(found) << found.error().message;
  int counted = 0;
  for (const graph::Node& node : found->graph.nodes()) {
    if (!node.attributes.has("count")) continue;
    ++counted;
    EXPECT_EQ(node.attributes.integer("count", 0), 4 * 2 * 2);
  }
  EXPECT_EQ(counted, 2);
}

TEST(InferenceForm, OfBatchNormUsesWhatIsKeptWhateverTheFileSays) {
  for (const bool written_for_training : {false, true}) {
    const auto found = normed(written_for_training).imported(opened(Form::kInference));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(operators(found->graph), (Names{"BatchNormalization", "BatchNormalization"}));
    for (const graph::Node& node : found->graph.nodes()) {
      EXPECT_EQ(static_cast<float>(node.attributes.real("epsilon", -1)), 1e-3f);
    }
    ASSERT_EQ(found->statistics.size(), 4u);
    for (const RunningStatistic& s : found->statistics) EXPECT_EQ(s.updated, graph::kNoValue);
    EXPECT_EQ(names_of(found->graph, found->parameters), (Names{"a.scale", "a.bias", "b.scale", "b.bias"}));
  }
}

TEST(TrainingForm, BatchNormsThatAreKeptStayAsInInference) {
  ImportOptions options = opened(Form::kTraining);
  options.form.keeps = [](const std::string& name) { return name == "a.var"; };
  const auto found = normed(false).imported(options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(operators(found->graph)[0], "BatchNormalization");
  EXPECT_EQ(operators(found->graph)[1], "isobit.BatchStatistics");
  EXPECT_EQ(found->report.batch_norms, Names{"b"});
  ASSERT_EQ(found->report.inference.size(), 1u);
  EXPECT_EQ(found->report.inference[0].first, "a");
  EXPECT_EQ(found->statistics[0].updated, graph::kNoValue);
  EXPECT_NE(found->statistics[2].updated, graph::kNoValue);
}

// One batch norm used twice: the second update goes on from the first.
TEST(TrainingForm, SharedStatisticsAreUpdatedOneAfterAnother) {
  ModelForTest m(15);
  m.input("x", {4, 3});
  for (const char* what : {"scale", "bias", "mean", "var"}) m.initializer(what, floats({3}, {1, 1, 1}));
  m.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"});
  m.node("BatchNormalization", {"y", "scale", "bias", "mean", "var"}, {"z"});
  m.output("z");
  const auto found = m.imported(opened(Form::kTraining));
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->statistics.size(), 2u);
  const graph::Graph& g = found->graph;
  const auto makes = [&](graph::ValueId id) {
    return std::ranges::find_if(g.nodes(), [&](const graph::Node& n) { return n.outputs[0] == id; });
  };
  const auto last = makes(found->statistics[0].updated);
  ASSERT_NE(last, g.nodes().end());
  const auto first = makes(last->inputs[0]);
  ASSERT_NE(first, g.nodes().end());
  EXPECT_EQ(first->inputs[0], found->statistics[0].value);
}

TEST(TrainingForm, OfDropoutDropsByTheJobsSeed) {
  for (const int64_t opset : {7, 13}) {
    ModelForTest m(opset);
    m.input("x", {4});
    if (opset < 12) {
      m.node("Dropout", {"x"}, {"a"}).with("ratio", 0.25f);
      m.node("Dropout", {"a"}, {"y"});
    } else {
      Tensor mode(DType::kBool, {});
      *static_cast<uint8_t*>(mode.raw()) = 1;
      m.initializer("ratio", Tensor::scalar(0.25f)).initializer("mode", mode);
      m.node("Dropout", {"x", "ratio", "mode"}, {"a"});
      m.node("Dropout", {"a"}, {"y"});
    }
    m.output("y");
    ImportOptions options = opened(Form::kTraining);
    options.form.seed = 7;
    const auto found = m.imported(options);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(operators(found->graph), (Names{"isobit.Dropout", "isobit.Dropout"}));
    EXPECT_EQ(names_of(found->graph, {found->step}), Names{"step"});
    const auto& nodes = found->graph.nodes();
    for (int64_t i = 0; i < 2; ++i) {
      const graph::Attributes& a = nodes[static_cast<size_t>(i)].attributes;
      EXPECT_EQ(a.integer("seed", 0), 7);
      EXPECT_EQ(a.integer("node", -1), i);
      EXPECT_EQ(a.real("ratio", 0), i == 0 ? 0.25 : 0.5);
    }
    EXPECT_EQ(found->report.dropouts, (Names{"a", "y"}));
    const auto inference = m.imported(opened(Form::kInference));
    ASSERT_TRUE(inference) << inference.error().message;
    EXPECT_EQ(operators(inference->graph), (Names{"Identity", "Identity"}));
    EXPECT_EQ(inference->step, graph::kNoValue);
  }
}

TEST(TrainingForm, WithinABranchNothingDrops) {
  ModelForTest m(13);
  m.input("x", {2}).input("condition", {1}, kBool);
  schema::GraphProto branch[2];
  for (schema::GraphProto& b : branch) {
    b.set_name("branch");
    add_node(b, "Dropout", {"x"}, {"inner"});
    b.add_output()->set_name("inner");
  }
  m.node("If", {"condition"}, {"y"}).with("then_branch", branch[0]).with("else_branch", branch[1]);
  m.output("y");
  const auto found = m.imported(opened(Form::kTraining));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->report.dropouts.empty());
  ASSERT_FALSE(found->report.inference.empty());
  EXPECT_NE(found->report.inference[0].second.find("graph of another node"), std::string::npos);
}

TEST(TrainingForm, RunningStatisticsOfABranchAreNoParameters) {
  ModelForTest m(15);
  m.input("x", {4, 3}).input("condition", {1}, kBool);
  for (const char* what : {"scale", "bias", "mean", "var"}) m.initializer(what, floats({3}, {1, 1, 1}));
  schema::GraphProto branch[2];
  add_node(branch[0], "BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"normed"});
  branch[0].add_output()->set_name("normed");
  add_node(branch[1], "Identity", {"x"}, {"same"});
  branch[1].add_output()->set_name("same");
  m.node("If", {"condition"}, {"y"}).with("then_branch", branch[0]).with("else_branch", branch[1]);
  m.output("y");
  for (const Form form : {Form::kTraining, Form::kInference}) {
    const auto found = m.imported(opened(form));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(names_of(found->graph, found->parameters), (Names{"scale", "bias"}));
    ASSERT_EQ(found->statistics.size(), 2u);
    EXPECT_EQ(found->graph.value(found->statistics[1].value).name, "var");
    EXPECT_EQ(found->statistics[1].updated, graph::kNoValue);
    EXPECT_EQ(found->report.inference.size(), form == Form::kTraining ? 1u : 0u);
  }
}

TEST(TrainingForm, RunningStatisticsOfHalvesAreNoParameters) {
  ModelForTest m(15);
  m.input("x", {4, 3}, kFloat16);
  Tensor ones(DType::kFloat16, {3});
  for (int i = 0; i < 3; ++i) ones.data<Float16>()[i] = numerics::rounded_to_float16(1.0f);
  for (const char* what : {"scale", "bias", "mean", "var"}) m.initializer(what, ones);
  m.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"y"});
  m.output("y");
  const auto found = m.imported(opened(Form::kTraining));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(names_of(found->graph, found->parameters), (Names{"scale", "bias"}));
  ASSERT_EQ(found->statistics.size(), 2u);
  EXPECT_EQ(found->graph.value(found->statistics[0].value).name, "mean");
  EXPECT_EQ(found->graph.value(found->statistics[0].value).dtype, DType::kFloat32);
}

}  // namespace
}  // namespace isobit::onnx
