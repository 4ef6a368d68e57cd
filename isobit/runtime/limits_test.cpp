// Limits on memory and trips hold for whatever a graph asks for, and name the node and the option.
#include "isobit/base/scratch.h"
#include "isobit/runtime/control_for_test.h"
#include "isobit/runtime/fold.h"

namespace isobit::runtime {
namespace {

using namespace testing;

using Inner = std::shared_ptr<const Graph>;

class Limited : public Runs {
 protected:
  // A value of so many floats that only a run knows to be so long.
  ValueId open(ValueId x, int64_t extent) {
    const ValueId wide = g.emit("Reshape", {x}, {{"shape", Ints{-1, 1}}}, "wide");
    return g.emit("Expand", {wide}, {{"shape", Ints{1, extent}}}, "long");
  }
};

// Every value is alive until the last node; comparing each with each would take long.
TEST_F(Limited, GraphsOfVeryManyValuesArePlannedInTime) {
  const ValueId x = in(f32({2}));
  std::vector<ValueId> values;
  for (int i = 0; i < 40000; ++i) values.push_back(g.emit("Neg", {x}, {}, "v"));
  const ValueId all = g.emit("Concat", values, {{"axis", int64_t{0}}}, "all");
  ValueId y = g.emit("ReduceMax", {all}, {{"keepdims", int64_t{0}}}, "most");
  for (int i = 0; i < 100; ++i) y = g.emit("Exp", {g.emit("Log", {y}, {}, "log")}, {}, "exp");
  g.add_output(y);
  limits.total_bytes = 8 << 20;
  const Tensor one = run({row({-1, -1})})[0];
  EXPECT_EQ(one.data<float>()[0], 1.0f);
}

// A tensor without elements may have as many rows as nobody can go through.
TEST_F(Limited, EmptyTensorsAreHeldToTheLimitByTheirOtherDimensions) {
  const ValueId x = in(f32({0}));
  g.add_output(g.emit("Expand", {x}, {{"shape", Ints{int64_t{1} << 40, 0}}}, "empty"));
  limits.tensor_bytes = 1 << 20;
  const std::string message = error({row({})});
  expect_says(message, "node 'empty' (Expand): output 'empty' of shape [1099511627776, 0] has 4.4 TB");
  expect_says(message, "--max-tensor");
  limits = {};
  EXPECT_EQ(error({row({})}), "");
}

// With a limit on the total alone, too, and before anything is planned.
TEST_F(Limited, SizesThatCannotBeCountedNameTheNodeUnderAnyLimit) {
  const ValueId x = in(f32({-1}));
  g.add_output(open(x, int64_t{1} << 61));
  limits.total_bytes = 1 << 20;
  expect_says(error({row({1, 2, 3, 4})}), "node 'long' (Expand): ");
}

// Inner graphs keep their memory from trip to trip, and give it back with their node.
TEST_F(Limited, GraphsThatHaveRunHoldNothing) {
  const auto large = [](const char* name) {
    return inner_graph({f32({4})}, [name](Graph& h, const Ids& in) {
      const ValueId column = h.emit("Reshape", {in[0]}, {{"shape", Ints{4, 1}}}, "column"),
                    wide = h.emit("Expand", {column}, {{"shape", Ints{4, 1 << 16}}}, name);
      return Ids{h.emit("ReduceMax", {wide}, {{"axes", Ints{1}}, {"keepdims", int64_t{0}}}, "least")};
    });
  };
  const ValueId condition = in(boolean()), x = in(f32({4}));
  ValueId y = x;
  for (const char* name : {"a", "b", "c", "d"}) {
    y = g.emit("If", {condition, y}, {{"then_branch", large(name)}, {"else_branch", large(name)}}, name);
  }
  g.add_output(y);
  limits.total_bytes = (1 << 20) + (1 << 19);  // one branch, not two
  Executor executor(g, kernel_table(), limits);
  for (int i = 0; i < 3; ++i) {
    MemoryUse memory;
    const auto out = executor.run(ctx, feeds({truth(i != 1), row({1, 2, 3, 4})}), {.memory = &memory});
    ASSERT_TRUE(out) << out.error().message;
    EXPECT_TRUE(identical((*out)[0], row({1, 2, 3, 4})));
    EXPECT_GE(memory.peak_bytes, size_t{1} << 20);
    EXPECT_LE(memory.peak_bytes, limits.total_bytes);
  }
}

// What kernels need beside values counts as well.
TEST_F(Limited, ScratchOfKernelsCounts) {
  constexpr size_t kNeeded = 8 << 20;
  KernelTable table = kernel_table();
  table["Neg"].bind = nullptr;
  table["Neg"].run = [](KernelCall& call) -> Status {
    const ScratchVector<char> much(kNeeded);
    call.out().data<float>()[0] = static_cast<float>(much.size());
    return {};
  };
  const ValueId x = in(f32({1}));
  g.add_output(g.emit("Neg", {x}, {}, "hungry"));
  scratch::trim();
  const auto outcome = [&](uint64_t total) {
    Executor executor(g, table, {.total_bytes = total});
    const auto out = executor.run(ctx, feeds({row({1})}));
    if (!out) {
      EXPECT_EQ(out.error().code, ErrorCode::kUnreadable);
    }
    return out ? "" : out.error().message;
  };
  EXPECT_EQ(outcome(2 * kNeeded), "");
  scratch::trim();
  const std::string message = outcome(kNeeded / 2);
  expect_says(message, "node 'hungry' (Neg): its kernel needs more memory than is left of 4.2 MB for a run");
  expect_says(message, "--max-memory");
  EXPECT_EQ(outcome(2 * kNeeded), "") << "a run that has ended limits nobody";
  scratch::trim();
  EXPECT_NO_THROW(scratch::give_back(scratch::take(kNeeded), kNeeded));
}

TEST_F(Limited, ConstantsThatAPartComputesCount) {
  const Inner body = inner_graph({i64({}), boolean(), f32({-1})}, [](Graph& h, const Ids& in) {
    const ValueId shape = h.emit("Shape", {in[2]}, {}, "shape"),
                  many = h.emit("Expand", {shape}, {{"shape", Ints{1 << 14}}}, "many"),
                  more = h.emit("Add", {many, many}, {}, "more"),
                  last = h.emit("ReduceMax", {more}, {{"keepdims", int64_t{0}}}, "last"),
                  real = h.emit("Cast", {last}, {{"to", static_cast<int64_t>(DType::kFloat32)}}, "real");
    return Ids{in[1], h.emit("Add", {in[2], real}, {}, "sum")};
  });
  const ValueId x = in(f32({4}));
  g.add_output(g.emit("Loop", {g.add_initializer("trips", number(2)), kNoValue, x},
                      {{"body", body}, {"carried", int64_t{1}}}, "loop"));
  EXPECT_TRUE(identical(run({row({1, 2, 3, 4})})[0], row({17, 18, 19, 20})));
  limits.total_bytes = 1 << 17;
  expect_says(error({row({1, 2, 3, 4})}), "node 'loop' (Loop), trip 0: body: ");
}

// A node of many operations on small tensors is left for the run, which can be interrupted.
TEST_F(Limited, FoldingEndsWithItsBudgetOfWork) {
  ValueId v = g.add_initializer("v", Tensor::zeros(DType::kInt64, {1 << 14}));
  const ValueId axis = g.add_initializer("axis", number(0));
  for (int i = 0; i < 3; ++i) v = g.emit("CumSum", {v, axis}, {}, "sums");
  g.add_output(v);
  const auto left = [&](uint64_t work) {
    FoldOptions options;
    options.most_work = work;
    const auto made = fold(g, options);
    EXPECT_TRUE(made);
    return made ? made->nodes().size() : 0;
  };
  EXPECT_EQ(left(uint64_t{1} << 60), 0u);
  EXPECT_EQ(left((uint64_t{2} << 28) + (1 << 20)), 1u) << "each takes the square of its extent";
  EXPECT_EQ(left(1 << 20), 3u);
}

TEST_F(Limited, ShapesThatCannotBeCountedAreNotFolded) {
  const ValueId x = g.add_input("x", DType::kFloat32, {int64_t{1} << 40, int64_t{1} << 40});
  g.add_output(g.emit("Size", {x}, {}, "size"));
  const auto made = fold(g);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->nodes().size(), 1u);
}

}  // namespace
}  // namespace isobit::runtime
