// Shapes that are computed from shapes, which are known before a run, and shapes that are computed from data.
#include "isobit/runtime/control_for_test.h"
#include "isobit/runtime/specialise.h"

namespace isobit::runtime {
namespace {

using namespace testing;

Tensor numbers(std::vector<int64_t> values) {
  return Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values);
}

class DataShapes : public Runs {
 protected:
  ValueId constant(std::vector<int64_t> values) { return g.add_initializer("constant", numbers(std::move(values))); }
  // x as rows of six, by what is computed from its shape.
  ValueId rows_of_six(ValueId x) {
    const ValueId shape = g.emit("Shape", {x}, {}, "shape"),
                  first = g.emit("Gather", {shape, constant({0})}, {}, "first"),
                  all = g.emit("Concat", {first, constant({6})}, {{"axis", int64_t{0}}}, "all");
    return g.emit("Reshape", {x, all}, {}, "rows");
  }
  // The places of what is not 0, as a row: of unknown length.
  ValueId places(ValueId x) {
    return g.emit("Reshape", {g.emit("NonZero", {x}, {}, "places")}, {{"shape", Ints{-1}}}, "flat");
  }
};

TEST_F(DataShapes, WhatIsComputedFromShapesIsKnownBeforeTheRun) {
  const ValueId x = in(f32({-1, 2, 3}));
  g.add_output(g.emit("Neg", {rows_of_six(x)}, {}, "minus"));
  const std::vector<Shape> shapes = {Shape{4, 2, 3}};
  const auto own = specialise(g, shapes);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_TRUE(is_static(*own));
  ASSERT_EQ(own->nodes().size(), 2u) << "a Reshape and a Neg";
  EXPECT_EQ(own->value(own->outputs()[0]).dims, (Ints{4, 6}));
  for (const int64_t n : {1, 4, 1}) {
    const Tensor out = run({Tensor::zeros(DType::kFloat32, {n, 2, 3})})[0];
    EXPECT_EQ(out.shape(), (Shape{n, 6}));
  }
}

TEST_F(DataShapes, OfInputsOfKnownShapeThePlanIsMadeAtOnce) {
  const ValueId x = in(f32({4, 2, 3}));
  g.add_output(g.emit("Neg", {rows_of_six(x)}, {}, "minus"));
  const Executor executor(g);
  ASSERT_TRUE(executor.planned_peak_bytes());
  EXPECT_EQ(*executor.planned_peak_bytes(), 96u);
}

TEST_F(DataShapes, AShapeMayBeFed) {
  const ValueId x = in(f32({6})), shape = in(i64({2}));
  g.add_output(g.emit("Reshape", {x, shape}, {}, "shaped"));
  Executor executor(g);
  EXPECT_FALSE(executor.planned_peak_bytes());
  const Tensor six = row({1, 2, 3, 4, 5, 6});
  for (const Ints& wanted : {Ints{2, 3}, Ints{3, 2}, Ints{3, 2}, Ints{-1, 1}}) {
    const auto out = executor.run(ctx, feeds({six, numbers(wanted)}));
    ASSERT_TRUE(out) << out.error().message;
    const int64_t rows = wanted[0] < 0 ? 6 : wanted[0];
    EXPECT_TRUE(identical((*out)[0], six.reshaped({rows, wanted[1]})));
  }
  expect_says(error({six, numbers({4, 2})}), "node 'shaped' (Reshape): ");
}

// An operand that says where and reaches no shape: every type is known before the run, and yet it is waited for.
TEST_F(DataShapes, WhatReachesNoShapeIsWaitedForToo) {
  const ValueId x = in(f32({2, 2})), diagonal = in(i64({}));
  g.add_output(g.emit("Trilu", {x, diagonal}, {{"upper", int64_t{1}}}, "upper"));
  ASSERT_TRUE(g.value(g.outputs()[0]).is_static());
  EXPECT_FALSE(is_static(g));
  const Tensor square = row({1, 2, 3, 4}).reshaped({2, 2});
  Executor executor(g);
  const auto upper = [&](int64_t k) { return executor.run(ctx, feeds({square, number(k)})).value()[0]; };
  EXPECT_TRUE(identical(upper(0), row({1, 2, 0, 4}).reshaped({2, 2})));
  EXPECT_TRUE(identical(upper(1), row({0, 2, 0, 0}).reshaped({2, 2})));
  EXPECT_TRUE(identical(upper(-1), square));
}

TEST_F(DataShapes, AsManyRowsAsTheDataSay) {
  const ValueId x = in(f32({4})), table = in(f32({4, 2}));
  const ValueId picked = g.emit("Gather", {table, places(x)}, {}, "picked");
  g.add_output(g.emit("Neg", {picked}, {}, "minus"));
  const Tensor rows = row({1, 2, 3, 4, 5, 6, 7, 8}).reshaped({4, 2});
  EXPECT_TRUE(identical(run({row({0, 7, 0, 1}), rows})[0], row({-3, -4, -7, -8}).reshaped({2, 2})));
  EXPECT_EQ(run({row({0, 0, 0, 0}), rows})[0].shape(), (Shape{0, 2}));
}

class Watching final : public Observer {
 public:
  bool wants_statistics() const override { return true; }
  Status before_stage(const NodeRun& n) override {
    if (!n.outputs[0].defined() || n.outputs[0].dtype() != DType::kFloat32) return {};
    before.push_back(n.outputs[0].clone());
    for (const Tensor& t : n.statistics) statistics.push_back(t.shape());
    return {};
  }
  std::vector<Tensor> before;
  std::vector<Shape> statistics;
};

class Doubling final : public Stage {
 public:
  Status apply(size_t index, KernelCall& call) override {
    indices.push_back(index);
    for (Tensor& t : call.outputs) {
      if (!t.defined() || t.dtype() != DType::kFloat32) continue;
      for (float& x : t.span<float>()) x *= 2;
    }
    return {};
  }
  Status apply_again(size_t index, KernelCall& call) override { return apply(index, call); }
  void begin_run(const Graph& graph) override { begun = &graph; }
  const Graph* begun = nullptr;
  std::vector<size_t> indices;
};

TEST_F(DataShapes, StagesAndObserversAreCalledAsAlways) {
  const ValueId x = in(f32({4})), table = in(f32({4, 2}));
  const ValueId picked = g.emit("Gather", {table, places(x)}, {}, "picked");
  g.add_output(g.emit("Softmax", {g.emit("Neg", {picked}, {}, "minus")}, {}, "soft"));
  Watching watching;
  Doubling doubling;
  const Tensor rows = row({1, 1, 3, 3, 5, 5, 7, 7}).reshaped({4, 2});
  const Tensor out = run({row({0, 7, 0, 1}), rows}, {.observer = &watching, .stage = &doubling})[0];
  EXPECT_TRUE(identical(out, row({1, 1, 1, 1}).reshaped({2, 2}))) << "twice a half";
  ASSERT_EQ(watching.before.size(), 3u);
  EXPECT_TRUE(identical(watching.before[1], row({-6, -6, -14, -14}).reshaped({2, 2}))) << "of what was doubled";
  EXPECT_NE(doubling.begun, nullptr);
  EXPECT_EQ(doubling.indices, (std::vector<size_t>{0, 2, 3, 4})) << "not the view";
  EXPECT_EQ(watching.statistics, (std::vector<Shape>{Shape{2}, Shape{2}})) << "maxima and sums of the rows of the run";
}

// Data that make a shape may ask for anything.
TEST_F(DataShapes, AHostileShapeIsRefusedBeforeMemoryIsTaken) {
  const ValueId shape = in(i64({2}));
  g.add_output(g.emit("ConstantOfShape", {shape}, {}, "filled"));
  limits.tensor_bytes = 1 << 20;
  EXPECT_EQ(run({numbers({3, 2})})[0].shape(), (Shape{3, 2}));
  expect_says(error({numbers({1 << 20, 1 << 20})}), "node 'filled' (ConstantOfShape): output 'filled' of shape");
  expect_says(error({numbers({int64_t{1} << 62, 8})}), "node 'filled' (ConstantOfShape): ");
  expect_says(error({numbers({-1, 8})}), "node 'filled' (ConstantOfShape): ");
}

TEST_F(DataShapes, AShapeOfManyNumbersIsRefused) {
  const ValueId shape = in(i64({-1}));
  g.add_output(g.emit("ConstantOfShape", {shape}, {}, "filled"));
  for (const size_t n : {size_t{100}, size_t{1} << 17, size_t{1} << 18}) {
    expect_says(error({numbers(std::vector<int64_t>(n, 1))}), "node 'filled' (ConstantOfShape): ");
  }
}

// A graph within a graph knows the constants that it captures: its shapes are planned.
TEST_F(DataShapes, ALoopReshapesByWhatItCaptures) {
  const auto body = inner_graph({i64({}), boolean(), f32({6}), i64({2})}, [](Graph& h, const Ids& in) {
    const ValueId square = h.emit("Reshape", {in[2], in[3]}, {}, "square"),
                  turned = h.emit("Transpose", {square}, {{"perm", Ints{1, 0}}}, "turned");
    return Ids{in[1], h.emit("Reshape", {turned}, {{"shape", Ints{-1}}}, "flat")};
  });
  for (const bool known : {true, false}) {
    g = Graph();
    const ValueId trips = in(i64({})), x = in(f32({6})), shape = known ? constant({2, 3}) : in(i64({2}));
    g.add_output(g.emit("Loop", {trips, kNoValue, x, shape}, {{"body", body}, {"carried", int64_t{1}}}, "turned"));
    EXPECT_EQ(Executor(g).planned_peak_bytes().has_value(), known);
    std::vector<Tensor> given = {number(2), row({1, 2, 3, 4, 5, 6})};
    if (!known) given.push_back(numbers({2, 3}));
    EXPECT_TRUE(identical(run(given)[0], row({1, 5, 4, 3, 2, 6}))) << known;
  }
}

// What nobody knows before: how many numbers are left after each trip.
TEST_F(DataShapes, ALoopOverWhatIsLeft) {
  const auto body = inner_graph({i64({}), boolean(), f32({-1})}, [](Graph& h, const Ids& in) {
    const ValueId one = h.add_initializer("one", row({1})), less = h.emit("Sub", {in[2], one}, {}, "less"),
                  left = h.emit("Relu", {less}, {}, "left"), places = h.emit("NonZero", {left}, {}, "places"),
                  flat = h.emit("Reshape", {places}, {{"shape", Ints{-1}}}, "flat");
    return Ids{in[1], h.emit("Gather", {left, flat}, {}, "kept")};
  });
  const ValueId trips = in(i64({})), x = in(f32({-1}));
  const ValueId kept = g.emit("Loop", {trips, kNoValue, x}, {{"body", body}, {"carried", int64_t{1}}}, "kept");
  g.add_output(g.emit("Size", {kept}, {}, "size"));
  g.add_output(kept);
  const auto out = run({number(2), row({1, 5, 2, 3})});
  EXPECT_TRUE(identical(out[0], number(2)));
  EXPECT_TRUE(identical(out[1], row({3, 1})));
  EXPECT_TRUE(identical(run({number(9), row({1, 5, 2, 3})})[0], number(0)));
}

}  // namespace
}  // namespace isobit::runtime
