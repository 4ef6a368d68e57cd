// What a training asks of an import: parameters as inputs, one output of several, nodes in training form.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "isobit/numerics/half.h"
#include "isobit/onnx/model_for_test.h"

namespace isobit::onnx {
namespace {

using Names = std::vector<std::string>;

Names names_of(const graph::Graph& g, const std::vector<graph::ValueId>& ids) {
  Names names;
  for (const graph::ValueId id : ids) names.push_back(id == graph::kNoValue ? "none" : g.value(id).name);
  return names;
}

ImportOptions opened(Form form = Form::kAsWritten) {
  ImportOptions options;
  options.opens_parameters = true;
  options.form.form = form;
  return options;
}

// y = (x w + b) * scale, masked.
ModelForTest affine() {
  ModelForTest m;
  m.input("x", {2, 3});
  m.initializer("unused", floats({2}, {1, 2})).initializer("b", floats({3}, {1, 2, 3}));
  m.initializer("w", floats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})).initializer("scale", Tensor::scalar(0.5f));
  m.initializer("mask", floats({3}, {0, -std::numeric_limits<float>::infinity(), 0}));
  m.node("MatMul", {"x", "w"}, {"xw"});
  m.node("Add", {"xw", "b"}, {"sum"});
  m.node("Mul", {"sum", "scale"}, {"scaled"});
  m.node("Add", {"scaled", "mask"}, {"y"});
  m.output("y");
  return m;
}

TEST(OpenedParameters, AreInputsInTheOrderOfTheirUse) {
  const auto found = affine().imported(opened());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(names_of(found->graph, found->graph.inputs()), (Names{"x", "w", "b"}));
  EXPECT_EQ(names_of(found->graph, found->parameters), (Names{"w", "b"}));
  EXPECT_EQ(found->constants, (Names{"scale", "mask"})) << "a scalar, and one that is not finite";
  const auto closed = affine().imported();
  EXPECT_EQ(names_of(closed->graph, closed->parameters), (Names{"w", "b", "scale", "mask"}));
  EXPECT_EQ(names_of(closed->graph, closed->graph.inputs()), Names{"x"});
}

TEST(OpenedParameters, NeedNoData) {
  Model model = decode_model(affine().bytes(), "m.onnx").value();
  drop_weights(model, 8);
  for (const TensorDef& t : model.graph.initializers) {
    EXPECT_EQ(t.dropped, t.name == "w" || t.name == "b") << t.name;
  }
  const auto found = import_model(model, opened());
  ASSERT_TRUE(found) << found.error().message;
  const auto whole = affine().imported(opened());
  EXPECT_EQ(operators(found->graph), operators(whole->graph));
  EXPECT_EQ(names_of(found->graph, found->graph.inputs()), names_of(whole->graph, whole->graph.inputs()));
  const auto refused = import_model(model);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("its data were dropped"), std::string::npos) << refused.error().message;
}

TEST(OpenedParameters, AreTakenOutUnderTheirNames) {
  Model model = decode_model(affine().bytes(), "m.onnx").value();
  const std::vector<NamedTensor> weights = take_weights(model);
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0].name, "unused");
  EXPECT_EQ(weights[1].name, "b");
  EXPECT_TRUE(identical(weights[1].tensor, floats({3}, {1, 2, 3})));
}

TEST(OpenedParameters, OfHalvesAreFedAsFloat32AndRounded) {
  ModelForTest m;
  m.input("x", {2}, kFloat16);
  Tensor w(DType::kFloat16, {2});
  for (int i = 0; i < 2; ++i) w.data<Float16>()[i] = numerics::rounded_to_float16(i + 0.5);
  m.initializer("w", w);
  m.node("Mul", {"x", "w"}, {"y"});
  m.output("y");
  const auto found = m.imported(opened());
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(names_of(found->graph, found->parameters), Names{"w"});
  EXPECT_EQ(found->graph.value(found->parameters[0]).dtype, DType::kFloat32);
  EXPECT_EQ(operators(found->graph)[0], "Cast");
  Model model = decode_model(m.bytes(), "m.onnx").value();
  EXPECT_TRUE(identical(take_weights(model)[0].tensor, floats({2}, {0.5f, 1.5f})));
}

TEST(OpenedParameters, ANaNIsNoWeightOfATraining) {
  ModelForTest m;
  m.input("x", {2}).initializer("w", floats({2}, {1, std::numeric_limits<float>::quiet_NaN()}));
  m.node("Mul", {"x", "w"}, {"y"});
  m.output("y");
  EXPECT_TRUE(m.imported());
  const auto refused = m.imported(opened());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("'w'"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("NaN"), std::string::npos) << refused.error().message;
}

TEST(ChosenOutputs, LeaveOutWhatTheyDoNotNeed) {
  ModelForTest m;
  m.input("x", {2}).input("other", {2}).initializer("w", floats({2}, {1, 2})).initializer("v", floats({2}, {1, 2}));
  m.node("Mul", {"x", "w"}, {"y"});
  m.node("Mul", {"other", "v"}, {"z"});
  m.output("y").output("z");
  ImportOptions options = opened();
  options.outputs = {"z"};
  const auto found = m.imported(options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(names_of(found->graph, found->graph.inputs()), (Names{"other", "v"}));
  EXPECT_EQ(names_of(found->graph, found->graph.outputs()), Names{"z"});
  const Model model = decode_model(m.bytes(), "m.onnx").value();
  EXPECT_EQ(needed_inputs(model).size(), 2u);
  ASSERT_EQ(needed_inputs(model, {"z"}).size(), 1u);
  EXPECT_EQ(needed_inputs(model, {"z"})[0].name, "other");
  options.outputs = {"zz"};
  const auto refused = m.imported(options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no output 'zz', expected 'y' or 'z'"), std::string::npos)
      << refused.error().message;
}

// What only a branch uses is needed, too.
TEST(ChosenOutputs, SeeIntoGraphsOfNodes) {
  ModelForTest m;
  m.input("x", {2}).input("condition", {1}, kBool);
  m.node("Relu", {"x"}, {"kept"});
  m.node("Neg", {"x"}, {"left_out"});
  schema::GraphProto branch[2];
  for (schema::GraphProto& b : branch) {
    b.set_name("branch");
    add_node(b, "Identity", {"kept"}, {"inner"});
    b.add_output()->set_name("inner");
  }
  m.node("If", {"condition"}, {"y"}).with("then_branch", branch[0]).with("else_branch", branch[1]);
  m.output("y").output("left_out");
  ImportOptions options;
  options.outputs = {"y"};
  const auto found = m.imported(options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(operators(found->graph), (Names{"Relu", "If"}));
}

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

// y = x a or x b; both branches have another "same" besides, one more has a scalar.
ModelForTest branched() {
  ModelForTest m(15);
  m.input("x", {2, 3}).input("condition", {1}, kBool).initializer("w", floats({3}, {1, 2, 3}));
  schema::GraphProto branch[2];
  for (int i = 0; i < 2; ++i) {
    const std::string own = i == 0 ? "a" : "b";
    branch[i].set_name(own);
    set_tensor(*branch[i].add_initializer(), own, floats({3}, {4, 5, 6}));
    set_tensor(*branch[i].add_initializer(), "same", floats({3}, {7, 8, static_cast<float>(i)}));
    set_tensor(*branch[i].add_initializer(), own + ".scale", Tensor::scalar(0.5f));
    add_node(branch[i], "Mul", {"x", own}, {own + ".1"});
    add_node(branch[i], "Mul", {own + ".1", "same"}, {own + ".2"});
    add_node(branch[i], "Mul", {own + ".2", own + ".scale"}, {own + ".3"});
    branch[i].add_output()->set_name(own + ".3");
  }
  m.node("Mul", {"x", "w"}, {"unused"});
  m.node("If", {"condition"}, {"y"}).with("then_branch", branch[0]).with("else_branch", branch[1]);
  m.output("y");
  return m;
}

TEST(LiftedWeights, OfBranchesAreParametersUnlessTheirNameMeansTwoThings) {
  Model model = decode_model(branched().bytes(), "m.onnx").value();
  const Model before = model;
  lift_weights(model);
  const auto found = import_model(model, opened());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(names_of(found->graph, found->parameters), (Names{"w", "a", "b"}));
  EXPECT_EQ(found->constants, (Names{"a.scale", "b.scale", "same"}));
  const auto kept = import_model(before, opened());
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(names_of(kept->graph, kept->parameters), Names{"w"}) << "a copy of the model is as it was";
  const std::vector<NamedTensor> weights = take_weights(model);
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[2].name, "b");
  EXPECT_TRUE(identical(weights[2].tensor, floats({3}, {4, 5, 6})));
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

TEST(Inputs, OfOtherFloatsAreConverted) {
  ModelForTest m;
  m.input("x", {2}, kFloat16).node("Relu", {"x"}, {"y"});
  m.output("y");
  ImportOptions options;
  options.types = {{"x", DType::kFloat32}};
  const auto found = m.imported(options);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->graph.value(found->graph.inputs()[0]).dtype, DType::kFloat32);
  EXPECT_EQ(operators(found->graph)[0], "Cast");
  options.types = {{"x", DType::kInt64}};
  EXPECT_FALSE(m.imported(options));
}

}  // namespace
}  // namespace isobit::onnx
