// What is computed before a run, and what is left for it.
#include "isobit/runtime/fold.h"

#include "isobit/graph/passes/rebuild.h"
#include "isobit/runtime/control_for_test.h"
#include "isobit/runtime/specialise.h"

namespace isobit::runtime {
namespace {

using namespace testing;

class Fold : public Runs {
 protected:
  ValueId integers(std::vector<int64_t> values) {
    return g.add_initializer("integers", Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
  }
  ValueId joined(ValueId a, ValueId b) { return g.emit("Concat", {a, b}, {{"axis", int64_t{0}}}, "joined"); }
  Graph folded(const FoldOptions& options = {}) const {
    auto made = fold(g, options);
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return *std::move(made);
  }
};

TEST_F(Fold, IntegersOfConstantsAreComputed) {
  const ValueId a = integers({1, 2}), b = integers({3}), all = joined(a, b), x = in(f32({4, 2})),
                places = g.emit("Gather", {all, integers({2, 0})}, {}, "places"),
                rows = g.emit("Gather", {x, places}, {}, "rows");
  g.add_output(rows);
  const Graph made = folded();
  ASSERT_EQ(made.nodes().size(), 1u);
  EXPECT_EQ(made.nodes()[0].name, "rows");
  EXPECT_EQ(made.nodes()[0].inputs, (Ids{x, places}));
  EXPECT_EQ(made.value_count(), g.value_count());
  for (ValueId id = 0; id < g.value_count(); ++id) EXPECT_EQ(made.value(id).name, g.value(id).name);
  const int64_t three_one[] = {3, 1};
  EXPECT_TRUE(identical(*made.initializer(places), Tensor::of<int64_t>({2}, three_one)));
  const Tensor fed = row({0, 1, 2, 3, 4, 5, 6, 7}).reshaped({4, 2});
  EXPECT_TRUE(identical(Executor(made).run(ctx, {{x, fed}}).value()[0], run({fed})[0]));
}

TEST_F(Fold, RealNumbersOnlyWhenAskedFor) {
  const ValueId one = g.add_initializer("one", row({1, 2})), sum = g.emit("Add", {one, one}, {}, "sum"),
                whole = g.emit("Cast", {sum}, {{"to", static_cast<int64_t>(DType::kInt64)}}, "whole");
  g.add_output(whole);
  EXPECT_EQ(folded().nodes().size(), 2u) << "the sum stays, and so does what follows from it";
  const Graph made = folded({.reals = true});
  EXPECT_TRUE(made.nodes().empty());
  EXPECT_TRUE(identical(*made.initializer(sum), row({2, 4})));
  const auto out = Executor(made).run(ctx, {});
  ASSERT_TRUE(out) << out.error().message;
  EXPECT_TRUE(identical((*out)[0], run({})[0])) << "an output of the graph may be a constant";
}

TEST_F(Fold, WhatFollowsFromAnInputStays) {
  const ValueId x = in(i64({2}));
  g.add_output(joined(x, integers({1})));
  EXPECT_EQ(folded().nodes().size(), 1u);
}

TEST_F(Fold, WhatIsLargeStays) {
  const ValueId a = integers(std::vector<int64_t>(100, 1)), b = integers({1});
  g.add_output(joined(a, b));
  EXPECT_EQ(folded({.most_bytes = 8 * 101}).nodes().size(), 0u);
  EXPECT_EQ(folded({.most_bytes = 8 * 100}).nodes().size(), 1u) << "the output";
  g.add_output(g.emit("Gather", {a, b}, {}, "small"));
  EXPECT_EQ(folded({.most_bytes = 8 * 99}).nodes().size(), 2u) << "an operand";
}

TEST_F(Fold, WhatIsLargeTogetherStays) {
  const ValueId a = integers({1, 2}), b = integers({3, 4});
  for (int i = 0; i < 3; ++i) g.add_output(joined(a, b));
  EXPECT_EQ(folded({.most_bytes_together = 64}).nodes().size(), 1u) << "two of 32 bytes";
  EXPECT_EQ(folded().nodes().size(), 0u);
}

TEST_F(Fold, WhatDependsOnThePlatformStays) {
  const ValueId m = g.add_initializer("m", row({1, 2, 3, 4}).reshaped({2, 2}));
  g.add_output(g.emit("MatMul", {m, m}, {}, "product"));
  EXPECT_EQ(folded({.reals = true}).nodes().size(), 1u);
}

TEST_F(Fold, WhatRunsGraphsStays) {
  const auto same = inner_graph({i64({2})}, [](Graph&, const Ids& inputs) { return inputs; });
  const ValueId yes = g.add_initializer("yes", truth(true)), a = integers({1, 2});
  g.add_output(g.emit("If", {yes, a}, {{"then_branch", same}, {"else_branch", same}}, "y"));
  EXPECT_EQ(folded().nodes().size(), 1u);
}

TEST_F(Fold, AnErrorIsLeftForTheRun) {
  g.add_output(g.emit("Gather", {integers({1, 2}), integers({5})}, {}, "picked"));
  EXPECT_EQ(folded().nodes().size(), 1u);
  expect_says(error({}), "'picked'");
}

TEST_F(Fold, AnOperatorWithoutAKernelIsLeftForTheRun) {
  g.add_output(joined(integers({1}), integers({2})));
  const KernelTable none;
  const auto made = fold(g, {}, none);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->nodes().size(), 1u);
}

TEST_F(Fold, AViewOfAConstantIsOne) {
  const ValueId flat = g.emit("Reshape", {integers({1, 2, 3, 4})}, {{"shape", Ints{2, 2}}}, "square");
  g.add_output(flat);
  const Graph made = folded();
  EXPECT_TRUE(made.nodes().empty());
  EXPECT_EQ(made.initializer(flat)->shape(), (Shape{2, 2}));
}

// An input that is the same in every run.
TEST_F(Fold, ASpecialisedGraphKnowsItsConstants) {
  const ValueId x = in(f32({-1})), places = in(i64({-1})), all = joined(places, places);
  g.add_output(g.emit("Gather", {x, all}, {}, "picked"));
  const int64_t two[] = {2};
  const Tensor constant = Tensor::of<int64_t>({1}, two);
  const std::vector<GivenInput> given = {{DType::kFloat32, {3}}, {DType::kInt64, {1}, &constant}};
  const auto made = specialise(g, given);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->inputs(), Ids{x});
  EXPECT_EQ(made->nodes().size(), 1u);
  EXPECT_TRUE(is_static(*made));
  EXPECT_EQ(made->value(made->outputs()[0]).dims, Ints{2});
}

}  // namespace
}  // namespace isobit::runtime
