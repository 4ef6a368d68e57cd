// Types that follow from graphs within a node, and types of which not even the rank is known.
#include <gtest/gtest.h>

#include "isobit/graph/inner_graph_for_test.h"
#include "isobit/graph/passes/rebuild.h"
#include "isobit/graph/passes/retype.h"

namespace isobit::graph {
namespace {

class InferredTypes : public ::testing::Test {
 protected:
  ValueId in(const Type& type) { return g.add_input("x", type.dtype, type.dims); }
  ValueId unknown(DType dtype = DType::kFloat32) { return g.add_input("x", dtype, kUnknownRank); }
  // The types of the outputs of a node.
  std::vector<Type> types(const std::string& op, const Ids& inputs, const Attributes& attributes = {},
                          size_t outputs = 1) {
    const auto added = g.add_node(op, inputs, attributes, std::vector<std::string>(outputs, "y"));
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
    std::vector<Type> found;
    if (added) {
      for (const ValueId id : *added) found.push_back({g.value(id).dtype, g.value(id).dims});
    }
    return found;
  }
  std::string refusal(const std::string& op, const Ids& inputs, const Attributes& attributes = {}) {
    const auto added = g.add_node(op, inputs, attributes, {"y"});
    return added ? "" : added.error().message;
  }
  Graph g;
};

using Types = std::vector<Type>;

const Type kNothingKnown = f32(kUnknownRank);

TEST_F(InferredTypes, AValueOfUnknownRankIsNotStatic) {
  const Value& value = g.value(unknown());
  EXPECT_FALSE(value.has_rank());
  EXPECT_FALSE(value.is_static());
  EXPECT_TRUE(g.value(in(f32({-1}))).has_rank());
}

TEST_F(InferredTypes, WhatAllRanksAgreeOnIsKnown) {
  EXPECT_EQ(types("Relu", {unknown()}), Types{kNothingKnown});
  EXPECT_EQ(types("Cast", {unknown()}, {{"to", static_cast<int64_t>(DType::kInt64)}}), Types{i64(kUnknownRank)});
  EXPECT_EQ(types("Flatten", {unknown()}), Types{f32({-1, -1})});
  EXPECT_EQ(types("Gemm", {unknown(), in(f32({3, 4}))}), Types{f32({-1, 4})}) << "it takes rank 2 alone";
  EXPECT_EQ(types("isobit.GlobalNorm", {unknown()}), Types{f32({})});
  EXPECT_EQ(types("Add", {unknown(), in(f32({3}))}), Types{kNothingKnown});
}

TEST_F(InferredTypes, SeveralInputsOfUnknownRankMayHaveDifferentOnes) {
  EXPECT_EQ(types("Add", {unknown(), unknown()}), Types{kNothingKnown});
  EXPECT_EQ(types("Concat", {unknown(), unknown(), unknown()}, {{"axis", int64_t{0}}}), Types{kNothingKnown});
  const ValueId one = unknown();
  EXPECT_EQ(types("Concat", {one, one, one}, {{"axis", int64_t{0}}}), Types{kNothingKnown});
}

TEST_F(InferredTypes, WhatNoRankFitsIsRefused) {
  EXPECT_NE(refusal("Relu", {unknown(DType::kBool)}).find("fits with none: input 0"), std::string::npos);
  EXPECT_NE(refusal("Add", {unknown(), in(f64({3}))}).find("has type float64"), std::string::npos);
  EXPECT_NE(refusal("Transpose", {unknown()}, {{"perm", Ints{1, 1}}}).find("fits with none"), std::string::npos);
}

Attributes branches(const std::function<Ids(Graph&, const Ids&)>& if_true,
                    const std::function<Ids(Graph&, const Ids&)>& if_false) {
  return {{"then_branch", inner_graph({f32({2, 3})}, if_true)}, {"else_branch", inner_graph({f32({2, 3})}, if_false)}};
}
Ids as_it_is(Graph&, const Ids& inputs) { return inputs; }
Ids flat(Graph& graph, const Ids& inputs) { return {graph.emit("Reshape", inputs, {{"shape", Ints{-1}}}, "flat")}; }
Ids turned(Graph& graph, const Ids& inputs) {
  return {graph.emit("Transpose", inputs, {{"perm", Ints{1, 0}}}, "turned")};
}

TEST_F(InferredTypes, BranchesGiveWhatTheyHaveInCommon) {
  const ValueId cond = in(boolean()), x = in(f32({2, 3}));
  EXPECT_EQ(types("If", {cond, x}, branches(as_it_is, as_it_is)), Types{f32({2, 3})});
  EXPECT_EQ(types("If", {cond, x}, branches(as_it_is, turned)), Types{f32({-1, -1})});
  EXPECT_EQ(types("If", {cond, x}, branches(as_it_is, flat)), Types{kNothingKnown});
  EXPECT_EQ(types("If", {cond, in(f32({3, 3}))}, branches(as_it_is, turned)), Types{f32({3, 3})});
  EXPECT_EQ(types("If", {cond, unknown()}, branches(as_it_is, as_it_is)), Types{kNothingKnown});
}

TEST_F(InferredTypes, AConstantConditionSaysWhichBranch) {
  const ValueId yes = g.add_initializer("yes", truth(true)), no = g.add_initializer("no", truth(false)),
                x = in(f32({2, 3}));
  EXPECT_EQ(types("If", {yes, x}, branches(as_it_is, flat)), Types{f32({2, 3})});
  EXPECT_EQ(types("If", {no, x}, branches(as_it_is, flat)), Types{f32({6})});
}

// An operand whose shape one branch does not take may still come, when the other one is run.
TEST_F(InferredTypes, ABranchThatTakesOtherShapesIsLeftOpen) {
  const ValueId cond = in(boolean()), x = in(f32({2, 3, 4}));
  EXPECT_EQ(types("If", {cond, x}, branches(as_it_is, turned)), Types{kNothingKnown});
  EXPECT_NE(refusal("If", {cond, in(boolean({2, 3}))},
                    branches(as_it_is,
                             [](Graph& graph, const Ids& inputs) { return Ids{graph.emit("Exp", inputs, {}, "exp")}; }))
                .find("else_branch: node 'exp' (Exp)"),
            std::string::npos);
}

Attributes loop(const std::function<Ids(Graph&, const Ids&)>& body, int64_t carried = 1) {
  return {{"body", inner_graph({i64({}), boolean(), f32({1, 3})}, body)}, {"carried", carried}};
}
Ids growing(Graph& graph, const Ids& in) {
  return {in[1], graph.emit("Concat", {in[2], in[2]}, {{"axis", int64_t{0}}}, "more")};
}
Ids steady(Graph& graph, const Ids& in) { return {in[1], graph.emit("Relu", {in[2]}, {}, "next"), in[2]}; }

TEST_F(InferredTypes, WhatAShapeBecomesFromTripToTripIsNotKnown) {
  const ValueId trips = in(i64({})), x = in(f32({1, 3}));
  EXPECT_EQ(types("Loop", {trips, kNoValue, x}, loop(growing)), Types{kNothingKnown});
  EXPECT_EQ(types("Loop", {trips, kNoValue, x}, loop(steady), 2), (Types{f32({1, 3}), f32({-1, 1, 3})}));
}

TEST_F(InferredTypes, TripsAreKnownWhenNothingElseEndsALoop) {
  const ValueId five = g.add_initializer("five", Tensor::scalar(int64_t{5})), x = in(f32({1, 3}));
  EXPECT_EQ(types("Loop", {five, kNoValue, x}, loop(steady), 2)[1], f32({5, 1, 3}));
  EXPECT_EQ(types("Loop", {five, in(boolean()), x}, loop(steady), 2)[1], f32({-1, 1, 3}));
  const ValueId none = g.add_initializer("none", Tensor::scalar(int64_t{-5}));
  EXPECT_EQ(types("Loop", {none, kNoValue, x}, loop(steady), 2)[1], f32({0, 1, 3}));
}

TEST_F(InferredTypes, GraphsWithinGraphsEnd) {
  std::shared_ptr<const Graph> inner = inner_graph({f32({2})}, as_it_is);
  for (int depth = 1; depth <= Graph::kMostNested + 1; ++depth) {
    Graph outer;
    const ValueId cond = outer.add_initializer("cond", truth(true)), x = outer.add_input("x", DType::kFloat32, {2});
    EXPECT_EQ(outer.nested(), 0);
    const auto added = outer.add_node("If", {cond, x}, {{"then_branch", inner}, {"else_branch", inner}}, {"y"}, "deep");
    ASSERT_EQ(added.has_value(), depth <= Graph::kMostNested) << depth;
    if (!added) {
      EXPECT_NE(added.error().message.find("node 'deep' (If): graphs in attributes lie 9 deep"), std::string::npos);
      return;
    }
    EXPECT_EQ(outer.nested(), depth);
    outer.add_output((*added)[0]);
    inner = std::make_shared<const Graph>(std::move(outer));
    // As many inputs as a branch has: the condition is a constant.
    ASSERT_EQ(inner->inputs().size(), 1u);
  }
}

// Graphs that nodes run are retyped with the graph: their constants, too.
TEST_F(InferredTypes, InnerGraphsAreRetyped) {
  const auto scaled = [](Graph& graph, const Ids& inputs) {
    const ValueId factor = graph.add_initializer("factor", Tensor::scalar(2.0f));
    return Ids{graph.emit("Mul", {inputs[0], factor}, {}, "scaled")};
  };
  g.add_output(g.emit("If", {in(boolean()), in(f32({2, 3}))}, branches(scaled, as_it_is), "y"));
  const auto wide = retype(g, kInFloat64);
  ASSERT_TRUE(wide) << wide.error().message;
  EXPECT_EQ(wide->value(wide->outputs()[0]).dtype, DType::kFloat64);
  const auto& inner = *std::get<std::shared_ptr<const Graph>>(wide->nodes()[0].attributes.items().at("then_branch"));
  EXPECT_EQ(inner.initializers()[0].tensor.dtype(), DType::kFloat64);
}

// An attribute that names a type, or has one, is in the way of no other type.
TEST_F(InferredTypes, TypesInAttributesAreRetyped) {
  const auto number = [](DType dtype) { return static_cast<int64_t>(dtype); };
  const ValueId whole = in(i64({2, 2}));
  const ValueId real = g.emit("Cast", {whole}, {{"to", number(DType::kFloat32)}}, "real");
  const ValueId zeros = g.emit("ConstantOfShape", {}, {{"shape", std::vector<int64_t>{2, 2}}}, "zeros");
  const ValueId halves =
      g.emit("ConstantOfShape", {}, {{"shape", std::vector<int64_t>{2, 2}}, {"value", Tensor::scalar(0.5f)}}, "halves");
  const ValueId one = g.emit("EyeLike", {whole}, {{"dtype", number(DType::kFloat32)}}, "one");
  g.add_output(g.emit("Sum", {real, zeros, halves, one}, {}, "sum"));
  g.add_output(g.emit("Cast", {real}, {{"to", number(DType::kInt32)}}, "back"));
  const auto wide = retype(g, kInFloat64);
  ASSERT_TRUE(wide) << wide.error().message;
  for (const ValueId id : {real, zeros, halves, one, wide->outputs()[0]}) {
    EXPECT_EQ(wide->value(id).dtype, DType::kFloat64) << wide->value(id).name;
  }
  EXPECT_EQ(wide->value(wide->outputs()[1]).dtype, DType::kInt32);
  const auto& half = std::get<Tensor>(wide->nodes()[2].attributes.items().at("value"));
  EXPECT_TRUE(identical(half, Tensor::scalar(0.5)));
  const auto narrow = retype(*wide, {.from = DType::kFloat64, .to = DType::kFloat32});
  ASSERT_TRUE(narrow) << narrow.error().message;
  EXPECT_EQ(narrow->value(narrow->outputs()[0]).dtype, DType::kFloat32);
}

TEST_F(InferredTypes, AGraphIsRebuiltWithConstantsInPlaceOfInputsAndNodes) {
  const ValueId x = in(f32({2})), y = in(f32({2})), a = g.emit("Relu", {x}, {}, "a"), b = g.emit("Neg", {y}, {}, "b");
  g.add_output(g.emit("Add", {a, b}, {}, "sum"));
  const Tensor given = Tensor::zeros(DType::kFloat32, {2});
  Rebuilding rule;
  rule.input = [&](size_t) -> Expected<InferContext::Type> { return InferContext::Type{DType::kFloat32, {2}}; };
  rule.known_input = [&](size_t i) { return i == 1 ? &given : nullptr; };
  rule.computed = [&](const Graph& made, const Node& node) -> Expected<std::vector<Tensor>> {
    if (node.op != "Neg") return std::vector<Tensor>{};
    EXPECT_NE(made.initializer(y), nullptr) << "what was rebuilt before can be seen";
    return std::vector<Tensor>{given};
  };
  const auto made = rebuild(g, rule);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->inputs(), Ids{x});
  ASSERT_EQ(made->nodes().size(), 2u);
  EXPECT_EQ(made->nodes()[1].inputs, (Ids{a, b}));
  EXPECT_NE(made->initializer(b), nullptr);
  EXPECT_EQ(made->value(b).name, "b");
  EXPECT_EQ(made->outputs(), g.outputs());
}

}  // namespace
}  // namespace isobit::graph
