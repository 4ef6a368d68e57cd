// What a training asks of an import: parameters as inputs, and one output of several.
#include <gtest/gtest.h>

#include <limits>

#include "isobit/numerics/half.h"
#include "isobit/onnx/training_for_test.h"

namespace isobit::onnx {
namespace {

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

// What is made of an input or of a half must not take the name of a weight, which would begin with another's values.
TEST(OpenedParameters, KeepTheirNamesOrAreRefused) {
  ModelForTest input;
  input.input("x", {2}, kFloat16).initializer("x/float16", floats({2}, {1, 2}));
  input.node("Cast", {"x"}, {"wide"}).with("to", kFloat);
  input.node("Mul", {"wide", "x/float16"}, {"y"});
  input.output("y");
  ImportOptions fed = opened();
  fed.types["x"] = DType::kFloat32;
  const auto kept = input.imported(fed);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(names_of(kept->graph, kept->parameters), Names{"x/float16"});

  ModelForTest half;
  Tensor w(DType::kFloat16, {2});
  w.data<Float16>()[0] = w.data<Float16>()[1] = numerics::rounded_to_float16(1.5);
  half.input("x", {2}, kFloat16).initializer("w", w).initializer("w/rounded", floats({2}, {1, 2}));
  half.node("Mul", {"x", "w"}, {"xw"});
  half.node("Cast", {"xw"}, {"wide"}).with("to", kFloat);
  half.node("Mul", {"wide", "w/rounded"}, {"y"});
  half.output("y");
  const auto refused = half.imported(opened());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("initializer 'w/rounded'"), std::string::npos) << refused.error().message;
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

TEST(LiftedWeights, OfAnIfWhoseConditionIsKnownStayConstantsWhereTheirNameMeansTwoThings) {
  ModelForTest m;
  m.input("x", {3});
  Tensor yes(DType::kBool, Shape{});
  *static_cast<uint8_t*>(yes.raw()) = 1;
  m.initializer("condition", yes);
  schema::GraphProto branch[2];
  for (auto& b : branch) {
    set_tensor(*b.add_initializer(), "w", floats({3}, {4, 5, 6}));
    add_node(b, "Mul", {"x", "w"}, {"xw"});
    b.add_output()->set_name("xw");
  }
  m.node("If", {"condition"}, {"y"}).with("then_branch", branch[0]).with("else_branch", branch[1]);
  m.output("y");
  Model model = decode_model(m.bytes(), "m.onnx").value();
  lift_weights(model);
  const auto found = import_model(model, opened());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(names_of(found->graph, found->parameters), Names{});
  EXPECT_EQ(found->constants, Names{"w"});
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
