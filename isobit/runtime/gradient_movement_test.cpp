// Gradients of operators that move elements.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isobit/runtime/gradient_check_for_test.h"

namespace isobit::runtime {
namespace {

using graph::Attributes;
using graph::ValueId;
using Ints = std::vector<int64_t>;

graph::Attribute text(const char* value) { return std::string(value); }

// One operand, and an int64 list behind each further input.
void check(const std::string& op, const Ints& dims, const Attributes& attributes,
           const std::vector<Ints>& constants = {}) {
  SCOPED_TRACE(op);
  GradientCheck c;
  std::vector<ValueId> operands = {c.input(dims)};
  for (const Ints& numbers : constants) {
    operands.push_back(c.constant(Tensor::of<int64_t>(Shape{static_cast<int64_t>(numbers.size())}, numbers)));
  }
  c.check(c.emit(op, operands, attributes));
}

Tensor indices(Ints dims, const Ints& values) { return Tensor::of<int64_t>(Shape(std::move(dims)), values); }

TEST(Gradient, OtherShapes) {
  check("Transpose", {2, 3, 4}, {});
  check("Reshape", {2, 6}, {}, {{3, -1}});
  check("Flatten", {2, 3, 4}, {{"axis", int64_t{-1}}});
  check("Squeeze", {1, 3, 1}, {});
  check("Squeeze", {1, 3, 1}, {}, {{-1}});
  check("Unsqueeze", {3, 2}, {{"axes", Ints{1, -1}}});
  check("Expand", {3, 1}, {}, {{2, 1, 4}});
  check("Tile", {2, 3, 1}, {{"repeats", Ints{3, 1, 2}}});
  check("Tile", {2, 3}, {}, {{2, 2}});
  check("Tile", {}, {{"repeats", Ints{}}});
}

TEST(Gradient, Permutations) {
  for (const char* mode : {"DCR", "CRD"}) {
    check("DepthToSpace", {2, 8, 2, 3}, {{"blocksize", int64_t{2}}, {"mode", text(mode)}});
  }
  check("SpaceToDepth", {2, 3, 4, 6}, {{"blocksize", int64_t{2}}});
  check("Trilu", {2, 3, 4}, {{"k", int64_t{1}}});
  check("Trilu", {4, 3}, {{"upper", int64_t{0}}}, {{-1}});
  GradientCheck c;
  const ValueId x = c.input({4, 3, 2});
  c.check(c.emit("ReverseSequence", {x, c.constant(indices({3}, {2, 4, 0}))}));
}

TEST(Gradient, Slices) {
  check("Slice", {4, 7},
        {{"starts", Ints{-1, 1}}, {"ends", Ints{-100, 6}}, {"axes", Ints{0, -1}}, {"steps", Ints{-2, 2}}});
  check("Slice", {4, 5}, {}, {{1}, {3}, {1}});
  for (const Ints& sizes : {Ints{1, 2, 3}, Ints{0, 6, 0}}) {
    GradientCheck c;
    const ValueId x = c.input({2, 6});
    const auto parts =
        c.graph_so_far().emit_all("Split", {x}, {{"axis", int64_t{1}}, {"split", sizes}}, {"a", "b", "c"});
    GradientCheck::used().insert("Split");
    c.check(c.emit("Concat", {parts[2], parts[0], parts[1]}, {{"axis", int64_t{-1}}}));
  }
}

// Nothing flows from one part, which is nobody's operand, nor from one that is not there.
TEST(Gradient, PartsOfASplitThatNothingFlowsFrom) {
  GradientCheck c;
  const ValueId x = c.input({7});
  const auto parts = c.graph_so_far().emit_all("Split", {x}, {}, {"a", "", "b", "c"});
  c.check(c.emit("Concat", {parts[3], parts[0]}, {{"axis", int64_t{0}}}));
}

TEST(Gradient, Pads) {
  check("Pad", {2, 5}, {{"pads", Ints{1, -1, 0, 2}}});
  check("Pad", {2, 5}, {{"axes", Ints{1}}}, {{-2, 3}});
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    check("Pad", {3, 4}, {{"pads", Ints{4, 3, 2, -1}}, {"mode", text(mode)}});
  }
  for (const Ints& one : {Ints{}, Ints{1}}) {
    GradientCheck c;
    const ValueId x = c.input({2, 5}), value = c.input(one);
    c.check(c.emit("Pad", {x, graph::kNoValue, value}, {{"pads", Ints{1, -1, 0, 2}}}));
  }
  check("CenterCropPad", {4, 5}, {{"shape", Ints{1, 8}}});
  check("CenterCropPad", {4, 5}, {{"axes", Ints{1}}}, {{2}});
}

TEST(Gradient, Gathers) {
  for (int64_t axis : {0, 1, -1}) {
    GradientCheck c;
    const ValueId x = c.input({3, 4, 5});
    c.check(c.emit("Gather", {x, c.constant(indices({2, 3}, {2, 0, -1, 2, 1, -3}))}, {{"axis", axis}}));
  }
  {
    GradientCheck c;  // the last row of a table, by an index from its end
    const ValueId x = c.input({5, 3});
    c.check(c.emit("Gather", {x, c.constant(Tensor::scalar(int64_t{-1}))}));
  }
  {
    GradientCheck c;
    const ValueId x = c.input({3, 4});
    c.check(c.emit("GatherElements", {x, c.constant(indices({2, 6}, {0, 3, 1, -1, 0, 0, 2, 2, -4, 1, 3, 3}))},
                   {{"axis", int64_t{1}}}));
  }
  {
    GradientCheck c;
    const ValueId x = c.input({3, 4, 2});
    c.check(c.emit("GatherND", {x, c.constant(indices({3, 2}, {0, 3, -1, 1, 0, 3}))}));
  }
  GradientCheck c;
  const ValueId x = c.input({2, 4, 2});
  c.check(c.emit("GatherND", {x, c.constant(indices({2, 3, 1}, {0, 3, 0, 1, -1, 1}))}, {{"batch_dims", int64_t{1}}}));
}

TEST(Gradient, Scatters) {
  for (const char* reduction : {"none", "add"}) {
    const Attributes how = {{"reduction", text(reduction)}};
    // Where elements are replaced each is named once at most.
    const bool twice = std::string(reduction) == "add";
    {
      GradientCheck c;
      const ValueId data = c.input({3, 4}), updates = c.input({2, 4});
      const ValueId at = c.constant(indices({2, 4}, {0, 2, 1, -1, twice ? 0 : 1, 0, 2, 0}));
      c.check(c.emit("ScatterElements", {data, at, updates}, how));
    }
    {
      GradientCheck c;
      const ValueId data = c.input({4, 3}), updates = c.input({2, 3});
      c.check(c.emit("ScatterND", {data, c.constant(indices({2, 1}, {-1, twice ? 3 : 1})), updates}, how));
    }
  }
}

// Of products where there are zeros, one at a place and several; of extremes where all numbers differ.
TEST(Gradient, ScattersThatCombine) {
  for (const char* reduction : {"mul", "max", "min"}) {
    for (const int zeros : {0, 1, 2, 3}) {
      SCOPED_TRACE(reduction);
      const bool product = std::string(reduction) == "mul";
      if (zeros > 0 && !product) continue;
      GradientCheck c;
      const ValueId data = c.input({3, 2}, -2, 2), updates = c.input({3, 2}, -2, 2);
      const ValueId at = c.constant(indices({3, 2}, {0, 2, 0, 0, -3, 2}));
      if (zeros > 0) c.set(1, 0, 0);
      if (zeros > 1) c.set(1, 2, 0);
      if (zeros > 2) c.set(0, 5, 0);
      c.check(c.emit("ScatterElements", {data, at, updates}, {{"reduction", text(reduction)}}));
    }
    GradientCheck c;
    const ValueId data = c.input({4, 3}), updates = c.input({3, 3});
    c.check(c.emit("ScatterND", {data, c.constant(indices({3, 1}, {-1, 3, 1})), updates},
                   {{"reduction", text(reduction)}}));
  }
}

TEST(Gradient, PartsThatAreReplaced) {
  for (const char* mode : {"linear", "circular"}) {
    GradientCheck c;
    const ValueId past = c.input({2, 3, 5, 2}), update = c.input({2, 3, 2, 2});
    const Ints begin = {std::string(mode) == "linear" ? 3 : 4, 1};
    c.check(c.emit("TensorScatter", {past, update, c.constant(indices({2}, begin))}, {{"mode", text(mode)}}));
  }
  GradientCheck c;
  const ValueId past = c.input({2, 4}), update = c.input({2, 4});
  c.check(c.emit("TensorScatter", {past, update}, {{"axis", int64_t{1}}}));
}

TEST(Gradient, OfTheTwoValuesOfAMark) {
  GradientCheck c;
  const ValueId values = c.input({2});
  const ValueId at = c.constant(indices({2, 2}, {0, -1, 7, 2}));
  c.check(c.emit("OneHot", {at, graph::kNoValue, values}, {{"depth", int64_t{3}}, {"axis", int64_t{1}}}));
}

// What has no gradient is an error that says why, and not a wrong number.
std::string refusal(const std::string& op, std::vector<ValueId> operands, graph::Graph& g, const Attributes& attributes,
                    ValueId target) {
  const ValueId y = g.emit(op, std::move(operands), attributes, "y");
  const ValueId loss = g.emit("ReduceSum", {y}, {{"keepdims", int64_t{0}}}, "loss");
  const ValueId targets[] = {target};
  const auto grads = graph::append_gradients(g, loss, targets);
  return grads ? "" : grads.error().message;
}

TEST(Gradient, UsesWithoutAGradientAreRefused) {
  {
    graph::Graph g;
    const ValueId x = g.add_input("x", DType::kFloat32, {4}), keep = g.add_input("keep", DType::kBool, {4});
    EXPECT_NE(refusal("Compress", {x, keep}, g, {}, x).find("the shape of 'y' is not known"), std::string::npos);
  }
  {
    graph::Graph g;
    const ValueId bytes = g.add_input("b", DType::kUint8, {4}), scale = g.add_input("s", DType::kFloat32, {});
    EXPECT_NE(refusal("DequantizeLinear", {bytes, scale}, g, {}, scale).find("is trained before it is quantized"),
              std::string::npos);
  }
  {
    graph::Graph g;
    const ValueId x = g.add_input("x", DType::kFloat32, {-1, 4});
    EXPECT_NE(refusal("Neg", {x}, g, {}, x).find("the shape of 'y' is not known before the run"), std::string::npos);
  }
  graph::Graph g;
  const ValueId x = g.add_input("x", DType::kFloat32, Ints(40, 1));
  EXPECT_NE(refusal("Tile", {x}, g, {{"repeats", Ints(40, 1)}}, x).find("no gradient for 40 axes"), std::string::npos);
}

TEST(Gradient, ValuesThatCannotBeCountedAreRefused) {
  graph::Graph g;
  const int64_t many = int64_t{1} << 40;
  const ValueId x = g.add_input("x", DType::kFloat32, {many, 1}), y = g.add_input("y", DType::kFloat32, {1, many});
  const ValueId sum = g.emit("Add", {x, y}, {}, "sum");
  EXPECT_NE(refusal("Slice", {sum}, g, {{"starts", Ints{0, 0}}, {"ends", Ints{1, 1}}}, x).find("value 'sum'"),
            std::string::npos);
}

}  // namespace
}  // namespace isobit::runtime
