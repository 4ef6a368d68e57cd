// If, Loop and Scan as they run.
#include "isobit/runtime/control_for_test.h"
#include "isobit/runtime/promises.h"

namespace isobit::runtime {
namespace {

using namespace testing;

using Inner = std::shared_ptr<const Graph>;

// Of a row of three: its negative, or its half.
Inner minus() {
  return inner_graph({f32({3})}, [](Graph& h, const Ids& in) { return Ids{h.emit("Neg", in, {}, "minus")}; });
}
Inner half() {
  return inner_graph({f32({3})}, [](Graph& h, const Ids& in) {
    const ValueId two = h.add_initializer("two", Tensor::scalar(2.0f));
    return Ids{h.emit("Div", {in[0], two}, {}, "half")};
  });
}

class Control : public Runs {
 protected:
  ValueId branch(ValueId cond, ValueId x, Inner if_true, Inner if_false) {
    return g.emit("If", {cond, x}, {{"then_branch", std::move(if_true)}, {"else_branch", std::move(if_false)}}, "y");
  }
  // x = x + y, and x each time.
  Inner adding() {
    return inner_graph({i64({}), boolean(), f32({3}), f32({3})}, [](Graph& h, const Ids& in) {
      const ValueId next = h.emit("Add", {in[2], in[3]}, {}, "next");
      return Ids{in[1], next, next};
    });
  }
  std::vector<ValueId> loop(const Ids& inputs, Inner body, int64_t carried, size_t outputs) {
    return g.emit_all("Loop", inputs, {{"body", std::move(body)}, {"carried", carried}},
                      std::vector<std::string>(outputs, "looped"));
  }
};

TEST_F(Control, TheBranchOfTheConditionIsRun) {
  const ValueId cond = in(boolean()), x = in(f32({3}));
  g.add_output(branch(cond, x, minus(), half()));
  EXPECT_TRUE(identical(run({truth(true), row({1, 2, 3})})[0], row({-1, -2, -3})));
  EXPECT_TRUE(identical(run({truth(false), row({1, 2, 3})})[0], row({0.5f, 1, 1.5f})));
  EXPECT_TRUE(Executor(g).planned_peak_bytes()) << "both branches give one shape: planned like any other operator";
}

// Any byte but 0 is true.
TEST_F(Control, AnyByteButZeroIsTrue) {
  const ValueId cond = in(boolean({1})), x = in(f32({3}));
  g.add_output(branch(cond, x, minus(), half()));
  Tensor two(DType::kBool, {1});
  *static_cast<uint8_t*>(two.raw()) = 2;
  EXPECT_TRUE(identical(run({two, row({1, 2, 3})})[0], row({-1, -2, -3})));
}

TEST_F(Control, BranchesOfDifferentShapesAreRunNodeByNode) {
  const Inner twice = inner_graph({f32({3})}, [](Graph& h, const Ids& in) {
    return Ids{h.emit("Concat", {in[0], in[0]}, {{"axis", int64_t{0}}}, "twice")};
  });
  const ValueId cond = in(boolean()), x = in(f32({3})), y = branch(cond, x, minus(), twice);
  g.add_output(g.emit("Neg", {y}, {}, "z"));
  EXPECT_FALSE(Executor(g).planned_peak_bytes());
  EXPECT_TRUE(Executor(g).status());
  EXPECT_TRUE(identical(run({truth(true), row({1, 2, 3})})[0], row({1, 2, 3})));
  EXPECT_TRUE(identical(run({truth(false), row({1, 2, 3})})[0], row({-1, -2, -3, -1, -2, -3})));
}

TEST_F(Control, ALoopCarriesAndStacks) {
  const ValueId trips = in(i64({})), cond = in(boolean()), x = in(f32({3})), y = in(f32({3}));
  for (const ValueId o : loop({trips, cond, x, y}, adding(), 1, 2)) g.add_output(o);
  const auto out = run({number(3), truth(true), row({0, 1, 2}), row({1, 1, 10})});
  EXPECT_TRUE(identical(out[0], row({3, 4, 32})));
  EXPECT_TRUE(identical(out[1], row({1, 2, 12, 2, 3, 22, 3, 4, 32}).reshaped({3, 3})));
  for (const auto& [most, goes_on] : {std::pair<int64_t, bool>{0, true}, {-7, true}, {3, false}}) {
    const auto none = run({number(most), truth(goes_on), row({0, 1, 2}), row({1, 1, 10})});
    EXPECT_TRUE(identical(none[0], row({0, 1, 2}))) << most;
    EXPECT_TRUE(identical(none[1], Tensor(DType::kFloat32, {0, 3}))) << most;
  }
}

// Counts down; the condition is whether zero has not been reached.
Inner counting_down(const Ints& condition_dims = {}) {
  return inner_graph({i64({}), boolean(condition_dims), f32({})}, [&](Graph& h, const Ids& in) {
    const ValueId one = h.add_initializer("one", Tensor::scalar(1.0f)), next = h.emit("Sub", {in[2], one}, {}, "next");
    ValueId goes_on = h.emit("Cast", {next}, {{"to", static_cast<int64_t>(DType::kBool)}}, "goes_on");
    if (!condition_dims.empty()) goes_on = h.emit("Reshape", {goes_on}, {{"shape", condition_dims}}, "one");
    return Ids{goes_on, next, in[0]};
  });
}

TEST_F(Control, ALoopEndsWhenItsConditionDoes) {
  for (const Ints& dims : {Ints{}, Ints{1}}) {
    g = Graph();
    const ValueId cond = in(boolean()), x = in(f32({}));
    for (const ValueId o : loop({kNoValue, cond, x}, counting_down(dims), 1, 2)) g.add_output(o);
    const auto out = run({truth(true), Tensor::scalar(4.0f)});
    EXPECT_TRUE(identical(out[0], Tensor::scalar(0.0f)));
    const int64_t iterations[] = {0, 1, 2, 3};
    EXPECT_TRUE(identical(out[1], Tensor::of<int64_t>({4}, iterations)));
  }
}

TEST_F(Control, WithoutAConditionThatOfTheBodyIsNotLookedAt) {
  const ValueId trips = in(i64({})), x = in(f32({}));
  g.add_output(loop({trips, kNoValue, x}, counting_down(), 1, 1)[0]);
  EXPECT_TRUE(identical(run({number(6), Tensor::scalar(4.0f)})[0], Tensor::scalar(-2.0f)));
}

TEST_F(Control, ALoopThatDoesNotEndStopsAtTheLimit) {
  const ValueId cond = in(boolean()), x = in(f32({}));
  g.add_output(loop({kNoValue, cond, x}, counting_down(), 1, 1)[0]);
  limits.trips = 100;
  expect_says(error({truth(true), Tensor::scalar(0.5f)}), "node 'looped' (Loop): more than 100 trips in one run");
  EXPECT_EQ(error({truth(true), Tensor::scalar(100.0f)}), "") << "as many as are allowed";
  Executor executor(g, kernel_table(), limits);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(executor.run(ctx, feeds({truth(true), Tensor::scalar(90.0f)}))) << "they are counted anew in each run";
  }
}

// A loop within a loop: trips of both count together.
TEST_F(Control, NestedLoopsShareTheLimit) {
  const Inner inner = adding();
  const Inner outer = inner_graph({i64({}), boolean(), f32({3}), i64({}), f32({3})}, [&](Graph& h, const Ids& in) {
    const auto made =
        h.emit_all("Loop", {in[3], in[1], in[2], in[4]}, {{"body", inner}, {"carried", int64_t{1}}}, {"inner"});
    return Ids{in[1], made[0]};
  });
  const ValueId trips = in(i64({})), x = in(f32({3})), often = in(i64({})), y = in(f32({3}));
  g.add_output(loop({trips, kNoValue, x, often, y}, outer, 1, 1)[0]);
  limits.trips = 13;
  const auto of = [&](int64_t out, int64_t within) {
    return std::vector<Tensor>{number(out), row({0, 0, 0}), number(within), row({1, 2, 3})};
  };
  EXPECT_TRUE(identical(run(of(3, 3))[0], row({9, 18, 27})));
  expect_says(error(of(4, 3)), "node 'looped' (Loop), trip 3: body: node 'inner' (Loop): more than 13 trips");
}

TEST_F(Control, ACarriedValueMayGrow) {
  const Inner body = inner_graph({i64({}), boolean(), f32({1}), f32({1})}, [](Graph& h, const Ids& in) {
    return Ids{in[1], h.emit("Concat", {in[2], in[3]}, {{"axis", int64_t{0}}}, "more")};
  });
  const ValueId trips = in(i64({})), x = in(f32({1})), y = in(f32({1}));
  const ValueId grown = loop({trips, kNoValue, x, y}, body, 1, 1)[0];
  g.add_output(g.emit("Neg", {grown}, {}, "minus"));
  EXPECT_TRUE(identical(run({number(3), row({1}), row({2})})[0], row({-1, -2, -2, -2})));
  EXPECT_TRUE(identical(run({number(0), row({1}), row({2})})[0], row({-1})));
}

TEST_F(Control, WhatIsStackedHasOneShape) {
  const Inner body = inner_graph({i64({}), boolean(), f32({1})}, [](Graph& h, const Ids& in) {
    const ValueId more = h.emit("Concat", {in[2], in[2]}, {{"axis", int64_t{0}}}, "more");
    return Ids{in[1], more, more};
  });
  const ValueId trips = in(i64({})), x = in(f32({1}));
  for (const ValueId o : loop({trips, kNoValue, x}, body, 1, 2)) g.add_output(o);
  EXPECT_TRUE(identical(run({number(1), row({1})})[1], row({1, 1}).reshaped({1, 2})));
  expect_says(error({number(2), row({1})}), "trip 1: an element of 'more' has shape [4], expected [2]");
}

TEST_F(Control, AScanGoesThroughItsSequences) {
  const Inner body = inner_graph({f32({2}), f32({2}), f32({2})}, [](Graph& h, const Ids& in) {
    const ValueId next = h.emit("Add", {in[0], in[1]}, {}, "next");
    return Ids{next, h.emit("Mul", {next, in[2]}, {}, "each")};
  });
  const Tensor sequence = row({1, 2, 3, 4, 5, 6}).reshaped({3, 2});
  const auto scanned = [&](int64_t in_axis, int64_t out_axis, int64_t in_direction, int64_t out_direction, Tensor fed) {
    g = Graph();
    const ValueId state = in(f32({2})), x = in(f32(fed.shape().dims())), factor = in(f32({2}));
    for (const ValueId o : g.emit_all("Scan", {state, x, factor},
                                      {{"body", body},
                                       {"carried", int64_t{1}},
                                       {"num_scan_inputs", int64_t{1}},
                                       {"scan_input_axes", Ints{in_axis}},
                                       {"scan_output_axes", Ints{out_axis}},
                                       {"scan_input_directions", Ints{in_direction}},
                                       {"scan_output_directions", Ints{out_direction}}},
                                      {"state", "all"})) {
      g.add_output(o);
    }
    return run({row({0, 0}), fed, row({1, 10})});
  };
  const auto forward = scanned(0, 0, 0, 0, sequence);
  EXPECT_TRUE(identical(forward[0], row({9, 12})));
  EXPECT_TRUE(identical(forward[1], row({1, 20, 4, 60, 9, 120}).reshaped({3, 2})));
  EXPECT_TRUE(identical(scanned(0, 0, 1, 0, sequence)[1], row({5, 60, 8, 100, 9, 120}).reshaped({3, 2})));
  EXPECT_TRUE(identical(scanned(0, 0, 0, 1, sequence)[1], row({9, 120, 4, 60, 1, 20}).reshaped({3, 2})));
  EXPECT_TRUE(identical(scanned(0, 1, 0, 0, sequence)[1], row({1, 4, 9, 20, 60, 120}).reshaped({2, 3})));
  const Tensor turned = row({1, 3, 5, 2, 4, 6}).reshaped({2, 3});
  EXPECT_TRUE(identical(scanned(1, -2, 0, 0, turned)[1], forward[1]));
  const auto empty = scanned(0, 0, 0, 0, Tensor(DType::kFloat32, {0, 2}));
  EXPECT_TRUE(identical(empty[0], row({0, 0})));
  EXPECT_TRUE(identical(empty[1], Tensor(DType::kFloat32, {0, 2})));
}

// A sequence without bytes may have more elements than there is time for.
TEST_F(Control, AScanOfNothingStopsAtTheLimit) {
  const Inner body = inner_graph({f32({0})}, [](Graph&, const Ids& in) { return in; });
  const ValueId x = in(f32({int64_t{1} << 40, 0}));
  g.add_output(g.emit("Scan", {x}, {{"body", body}, {"num_scan_inputs", int64_t{1}}}, "y"));
  limits.trips = 50;
  expect_says(error({Tensor(DType::kFloat32, {int64_t{1} << 40, 0})}), "more than 50 trips");
}

TEST_F(Control, AnErrorNamesTheNodeAndTheOneAroundIt) {
  const Inner picks = inner_graph({f32({3}), i64({1})}, [](Graph& h, const Ids& in) {
    return Ids{h.emit("Gather", {in[0], in[1]}, {}, "picked")};
  });
  const Inner first = inner_graph({f32({3}), i64({1})}, [](Graph& h, const Ids& in) {
    return Ids{h.emit("isobit.Block", {in[0]}, {{"starts", Ints{0}}, {"counts", Ints{1}}}, "first")};
  });
  const ValueId cond = in(boolean()), x = in(f32({3})), at = in(i64({1}));
  g.add_output(g.emit("If", {cond, x, at}, {{"then_branch", picks}, {"else_branch", first}}, "chosen"));
  const int64_t bad[] = {7};
  const Tensor place = Tensor::of<int64_t>({1}, bad);
  const std::string message = error({truth(true), row({1, 2, 3}), place});
  expect_says(message, "node 'chosen' (If): then_branch: ");
  expect_says(message, "'picked'");
  EXPECT_EQ(error({truth(false), row({1, 2, 3}), place}), "");
}

// Shapes that only a branch which is not run does not take.
TEST_F(Control, ABranchThatIsNotRunNeedNotFit) {
  const Inner turned = inner_graph({f32({2, 3})}, [](Graph& h, const Ids& in) {
    return Ids{h.emit("Transpose", in, {{"perm", Ints{1, 0}}}, "turned")};
  });
  const Inner same = inner_graph({f32({2, 3})}, [](Graph&, const Ids& in) { return in; });
  const ValueId cond = in(boolean()), x = in(f32({3}));
  g.add_output(branch(cond, x, turned, same));
  EXPECT_TRUE(identical(run({truth(false), row({1, 2, 3})})[0], row({1, 2, 3})));
  expect_says(error({truth(true), row({1, 2, 3})}), "then_branch: node 'turned' (Transpose)");
}

// What a caller holds, and what the graph around needs later, is not written over from within.
TEST_F(Control, CapturedValuesStayAsTheyAre) {
  const ValueId cond = in(boolean()), x = in(f32({3}));
  const ValueId a = g.emit("Abs", {x}, {}, "a"), y = branch(cond, a, minus(), half());
  g.add_output(g.emit("Add", {a, y}, {}, "sum"));
  const Tensor held = row({1, 2, 3});
  EXPECT_TRUE(identical(run({truth(true), held})[0], row({0, 0, 0})));
  EXPECT_TRUE(identical(held, row({1, 2, 3})));
}

TEST_F(Control, ObserversSeeOneOperator) {
  struct Names final : Observer {
    Status after_stage(const NodeRun& n) override {
      seen.push_back(n.node.op);
      return {};
    }
    std::vector<std::string> seen;
  } names;
  const ValueId cond = in(boolean()), x = in(f32({3}));
  g.add_output(branch(cond, x, minus(), half()));
  run({truth(true), row({1, 2, 3})}, {.observer = &names});
  EXPECT_EQ(names.seen, std::vector<std::string>{"If"});
}

TEST_F(Control, AStageCannotLookInside) {
  struct Nothing final : Stage {
    Status apply(size_t, KernelCall&) override { return {}; }
    Status apply_again(size_t, KernelCall&) override { return {}; }
  } nothing;
  const ValueId cond = in(boolean()), x = in(f32({3}));
  g.add_output(branch(cond, x, minus(), half()));
  expect_says(error({truth(true), row({1, 2, 3})}, {.stage = &nothing}), "node 'y' (If): it runs a graph of its own");
}

TEST_F(Control, PromisesAreThoseOfTheInnerNodes) {
  const ValueId cond = in(boolean()), x = in(f32({3}));
  g.add_output(branch(cond, x, minus(), half()));
  EXPECT_TRUE(check_promises(g, platform::arithmetic_of("ordered-1")));
  EXPECT_TRUE(check_promises(g, platform::arithmetic_of("correct-1")));
  const Status logged = check_promises(g, platform::arithmetic_of("logged-1"));
  ASSERT_FALSE(logged);
  expect_says(logged.error().message, "node 'y' (If): it runs a graph of its own");
}

TEST_F(Control, EveryInstructionSetAndNumberOfThreadsGivesTheSame) {
  const ValueId trips = in(i64({})), cond = in(boolean()), x = in(f32({3})), y = in(f32({3}));
  for (const ValueId o : loop({trips, cond, x, y}, adding(), 1, 2)) g.add_output(o);
  const std::vector<Tensor> given = {number(9), truth(true), row({0.1f, 0.2f, 0.3f}), row({0.7f, 1e-5f, 1e6f})};
  const auto expected = run(given);
  for (const kernels::Isa isa : kernels::available_isas()) {
    for (const int threads : {1, 3}) {
      ThreadPool other(threads);
      ctx = {isa, &other};
      const auto found = run(given);
      for (size_t o = 0; o < expected.size(); ++o) EXPECT_TRUE(identical(found[o], expected[o])) << name_of(isa);
    }
  }
}

}  // namespace
}  // namespace isobit::runtime
