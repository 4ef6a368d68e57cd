// Nodes that are computed at once where nobody looks between them: the bits are those of one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/testing.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/naive_executor_for_test.h"
#include "isobit/runtime/plan.h"

namespace isobit::runtime {
namespace {

using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;

constexpr int64_t kStacked = 64, kTerms = 8, kRows = 128, kColumns = 144;

Executor::Feeds feeds_of(const Graph& g) {
  Executor::Feeds all;
  for (const ValueId id : g.inputs()) {
    Tensor t(g.value(id).dtype, g.value(id).shape());
    const auto fill = [&]<class T>(T) {
      const auto n = static_cast<size_t>(t.elements());
      std::ranges::copy(kernels::testing::random_values<T>(n, kernels::testing::Values::kUnit, 1 + n), t.data<T>());
    };
    t.dtype() == DType::kFloat32 ? fill(float{}) : fill(double{});
    all.emplace_back(id, t);
  }
  return all;
}

// relu(x)^T y for each of a stack, summed; then something that could lie where the operands were.
struct Stack {
  explicit Stack(const Ints& sum_dims = {kRows, kColumns}, DType dtype = DType::kFloat32) {
    x = g.add_input("x", dtype, {kStacked, kTerms, kRows});
    y = g.add_input("y", dtype, {kStacked, kTerms, kColumns});
    relu = g.emit("Relu", {x}, {}, "relu");
    products = g.emit("MatMul", {relu, y}, {{"transA", int64_t{1}}, {"transB", int64_t{0}}}, "products");
    sum = g.emit("isobit.SumTo", {products}, {{"shape", sum_dims}}, "sum");
    g.add_output(g.emit("Neg", {sum}, {}, "negative"));
  }

  Executor::Feeds feeds() const { return feeds_of(g); }

  Graph g;
  ValueId x, y, relu, products, sum;
};

// The kernels, but for products and sums that are computed for themselves.
KernelTable only_chains() {
  KernelTable table = kernel_table();
  for (const char* op : {"MatMul", "isobit.SumTo"}) {
    Kernel& kernel = table[op];
    kernel.bind = {};
    kernel.run = [](KernelCall&) -> Status { return unreadable("computed apart"); };
  }
  return table;
}

class Watcher : public Observer {
 public:
  explicit Watcher(bool values) : values_(values) {}
  bool wants_values() const override { return values_; }
  Status after_stage(const NodeRun& run) override {
    seen.push_back(run.node.op);
    for (const graph::Node* node : run.following) seen.back() += "+" + node->op;
    return {};
  }
  std::vector<std::string> seen;

 private:
  bool values_;
};

const std::vector<std::string> kNodes = {"Relu", "MatMul", "isobit.SumTo", "Neg"};

TEST(Chain, ASumOfAStackOfProductsIsComputedAtOnceToTheSameBits) {
  for (const Ints& dims : {Ints{kRows, kColumns}, Ints{1, kRows, kColumns}}) {
    const Stack stack(dims);
    const KernelTable table = only_chains();
    for (const kernels::Isa isa : kernels::available_isas()) {
      ThreadPool pool(2);
      const kernels::KernelContext ctx{isa, &pool};
      const auto apart = testing::run_naively(stack.g, ctx, stack.feeds()).value();
      Executor executor(stack.g, table), usual(stack.g);
      Watcher times(false), values(true);
      for (int run = 0; run < 2; ++run) {
        const auto at_once = executor.run(ctx, stack.feeds());
        ASSERT_TRUE(at_once) << at_once.error().message;
        EXPECT_TRUE(identical((*at_once)[0], apart.at(stack.g.outputs()[0]))) << name_of(isa);
      }
      ASSERT_TRUE(executor.run(ctx, stack.feeds(), {.observer = &times}));
      EXPECT_EQ(times.seen, (std::vector<std::string>{"Relu", "MatMul+isobit.SumTo", "Neg"}));
      const auto looked_at = usual.run(ctx, stack.feeds(), {.observer = &values}).value();
      EXPECT_TRUE(identical(looked_at[0], apart.at(stack.g.outputs()[0])));
      EXPECT_EQ(values.seen, kNodes);
    }
  }
}

class Idle final : public Stage {
 public:
  Status apply(size_t, KernelCall&) override { return {}; }
  Status apply_again(size_t, KernelCall&) override { return {}; }
};

class WithStatistics final : public Observer {
 public:
  bool wants_values() const override { return false; }
  bool wants_statistics() const override { return true; }
};

// Of an arithmetic that computes its products itself: never asked here.
class Products final : public kernels::InnerProducts<float> {
 public:
  Status matmul(const kernels::MatmulArgs<float>&) override { return {}; }
  Status conv_forward(const kernels::ConvShape&, const float*, const float*, const float*, float*) override {
    return {};
  }
  Status conv_grad_src(const kernels::ConvShape&, const float*, const float*, float*) override { return {}; }
  Status conv_grad_weights(const kernels::ConvShape&, const float*, const float*, float*) override { return {}; }
};

// An observer of values or statistics, a stage, or products of an arithmetic's own.
TEST(Chain, IsComputedApartWhereSomebodyLooksBetween) {
  const Stack stack;
  const KernelTable table = only_chains();
  ThreadPool pool(1);
  Executor executor(stack.g, table);
  Watcher values(true);
  WithStatistics statistics;
  Idle stage;
  Products products;
  kernels::KernelContext ctx{kernels::best_isa(), &pool};
  const auto run = [&](RunOptions options) { return executor.run(ctx, stack.feeds(), options); };
  EXPECT_EQ(run({.observer = &values}).error().message, "computed apart");
  EXPECT_EQ(run({.observer = &statistics}).error().message, "computed apart");
  EXPECT_EQ(run({.stage = &stage}).error().message, "computed apart");
  EXPECT_TRUE(run({})) << "and at once again afterwards";
  ctx.products_f32 = &products;
  EXPECT_EQ(run({}).error().message, "computed apart");
}

// What the two lay out together finds no room, and each of them does: no error.
TEST(Chain, IsComputedApartWhereMemoryIsShort) {
  const Stack stack;
  KernelTable table = kernel_table();
  int tried = 0;
  table["MatMul"].bind_chain = [&](std::span<const KernelSite> sites) -> RunChain {
    if (sites[1].node.op != "isobit.SumTo") return {};
    return [&](std::span<KernelCall* const>) -> Status {
      ++tried;
      throw std::bad_alloc();
    };
  };
  ThreadPool pool(1);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  Executor executor(stack.g, table), usual(stack.g);
  const auto apart = executor.run(ctx, stack.feeds());
  ASSERT_TRUE(apart);
  EXPECT_EQ(tried, 1);
  EXPECT_TRUE(identical((*apart)[0], usual.run(ctx, stack.feeds()).value()[0]));
}

bool has_chain(const Graph& g) {
  const Plan plan = make_plan(g, kernel_table()).value();
  return std::ranges::any_of(plan.steps, [](const PlanStep& s) { return static_cast<bool>(s.at_once); });
}

TEST(Chain, IsOneWhereNothingElseReadsTheProducts) {
  EXPECT_TRUE(has_chain(Stack().g));
  EXPECT_FALSE(has_chain(Stack({kStacked, 1, kColumns}).g)) << "summed over another axis";
  EXPECT_FALSE(has_chain(Stack({kColumns}).g)) << "summed over two axes";
  EXPECT_FALSE(has_chain(Stack({kRows, kColumns}, DType::kFloat64).g));
  Stack shown;
  shown.g.add_output(shown.products);
  EXPECT_FALSE(has_chain(shown.g));
  Stack read;
  read.g.add_output(read.g.emit("Neg", {read.products}, {}, "read"));
  EXPECT_FALSE(has_chain(read.g));
}

TEST(Chain, KeepsItsOperandsUntilTheSecondNodeIsDone) {
  const Stack stack;
  const Plan plan = make_plan(stack.g, kernel_table()).value();
  const auto block = [&](ValueId id) {
    return plan.blocks[static_cast<size_t>(plan.block_of[static_cast<size_t>(id)])];
  };
  EXPECT_EQ(block(stack.relu).end, 2);
  EXPECT_EQ(block(stack.y).end, 2);
}

// A convolution of neg(x), what is made of it, and something that could lie where the operands were.
struct Ended {
  // Images of several blocks, of which one is written while another is to be read.
  explicit Ended(DType dtype = DType::kFloat32, const Ints& dims = {2, 4, 150, 90}) {
    x = g.add_input("x", dtype, dims);
    Tensor kept(dtype, Shape({4, 4, 3, 3}));
    for (int64_t i = 0; i < kept.elements(); ++i) {
      const double w = std::sin(static_cast<double>(i));
      dtype == DType::kFloat32 ? void(kept.data<float>()[i] = static_cast<float>(w)) : void(kept.data<double>()[i] = w);
    }
    weights = g.add_initializer("weights", kept);
    bias = g.add_input("bias", dtype, {4});
    image = g.emit("Neg", {x}, {}, "image");
  }
  ValueId conv(ValueId of) {
    return g.emit("Conv", {of, weights, bias}, {{"pads", Ints{1, 1, 1, 1}}, {"kernel_shape", Ints{3, 3}}}, "conv");
  }
  ValueId add(ValueId a, ValueId b) { return g.emit("Add", {a, b}, {}, "added"); }
  ValueId relu(ValueId a) { return g.emit("Relu", {a}, {}, "relu"); }
  void end(ValueId a) { g.add_output(g.emit("Neg", {a}, {}, "negative")); }

  // The nodes as they run, after the same bits as those of one node after the other.
  std::vector<std::string> run() const {
    ThreadPool pool(2);
    Executor executor(g);
    std::vector<std::string> seen;
    for (const kernels::Isa isa : kernels::available_isas()) {
      const kernels::KernelContext ctx{isa, &pool};
      const auto apart = testing::run_naively(g, ctx, feeds_of(g)).value();
      Watcher times(false), values(true);
      for (Watcher* watcher : {&times, &values, &times, &times}) {
        watcher->seen.clear();
        const auto outputs = executor.run(ctx, feeds_of(g), {.observer = watcher});
        EXPECT_TRUE(outputs && identical((*outputs)[0], apart.at(g.outputs()[0]))) << name_of(isa);
      }
      seen = times.seen;
    }
    return seen;
  }

  Graph g;
  ValueId x, weights, bias, image;
};

using Seen = std::vector<std::string>;

TEST(Chain, AConvolutionTakesWhatIsAddedAndReluWithIt) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64}) {
    Ended both(dtype), other_way(dtype), sum(dtype), relu(dtype);
    both.end(both.relu(both.add(both.conv(both.image), both.x)));
    EXPECT_EQ(both.run(), (Seen{"Neg", "Conv+Add+Relu", "Neg"}));
    other_way.end(other_way.relu(other_way.add(other_way.x, other_way.conv(other_way.image))));
    EXPECT_EQ(other_way.run(), (Seen{"Neg", "Conv+Add+Relu", "Neg"}));
    sum.end(sum.add(sum.conv(sum.image), sum.x));
    EXPECT_EQ(sum.run(), (Seen{"Neg", "Conv+Add", "Neg"}));
    relu.end(relu.relu(relu.conv(relu.image)));
    EXPECT_EQ(relu.run(), (Seen{"Neg", "Conv+Relu", "Neg"}));
  }
}

// What is added dies there, and is what the convolution reads: its places are not taken while that does.
TEST(Chain, WritesOverNothingThatItReads) {
  Ended left, right, viewed, longer;
  left.end(left.add(left.image, left.conv(left.image)));
  EXPECT_EQ(left.run(), (Seen{"Neg", "Conv+Add", "Neg"}));
  right.end(right.add(right.conv(right.image), right.image));
  EXPECT_EQ(right.run(), (Seen{"Neg", "Conv+Add", "Neg"}));
  longer.end(longer.relu(longer.add(longer.image, longer.conv(longer.image))));
  EXPECT_EQ(longer.run(), (Seen{"Neg", "Conv+Add+Relu", "Neg"}));
  const ValueId flat = viewed.g.emit("Reshape", {viewed.image}, {{"shape", Ints{2, 4, 150, 90}}}, "flat");
  viewed.end(viewed.add(flat, viewed.conv(viewed.image)));
  EXPECT_EQ(viewed.run(), (Seen{"Neg", "Reshape", "Conv+Add", "Neg"}));
}

TEST(Chain, OfThreeKeepsWhatIsReadUntilItsEnd) {
  Ended e;
  const ValueId other = e.g.emit("Exp", {e.x}, {}, "other"), conv = e.conv(e.image), sum = e.add(other, conv),
                relu = e.relu(sum);
  e.end(relu);
  const Plan plan = make_plan(e.g, kernel_table()).value();
  ASSERT_EQ(plan.steps[2].in_chain, 3);
  const auto number = [&](ValueId id) { return plan.block_of[static_cast<size_t>(id)]; };
  const auto block = [&](ValueId id) { return plan.blocks[static_cast<size_t>(number(id))]; };
  EXPECT_GE(block(e.image).end, 4);
  EXPECT_GE(block(other).end, 4) << "what is added";
  EXPECT_EQ(number(conv), number(sum)) << "the sum lies where the convolution would, as it does apart";
  EXPECT_EQ(number(sum), number(relu));
  EXPECT_NE(number(sum), number(other));
}

// Random networks: convolutions, sums of what is there, and Relu, in any order.
TEST(Chain, OfRandomNetworksHasTheBitsOfOneNodeAfterTheOther) {
  std::mt19937 random(11);
  int chains = 0;
  for (int network = 0; network < 40; ++network) {
    Ended e(network % 4 == 0 ? DType::kFloat64 : DType::kFloat32, {2, 4, 40, 21});
    std::vector<ValueId> there = {e.x, e.image};
    const auto any = [&] { return there[random() % there.size()]; };
    for (int node = 0; node < 12; ++node) {
      const ValueId last = there.back();
      const uint32_t kind = random() % 3;
      there.push_back(kind == 0   ? e.conv(any())
                      : kind == 1 ? (random() % 2 ? e.add(last, any()) : e.add(any(), last))
                                  : e.relu(last));
    }
    e.end(there.back());
    for (const std::string& node : e.run()) chains += node.find('+') != std::string::npos;
    if (HasFailure()) return;
  }
  EXPECT_GT(chains, 40);
}

TEST(Chain, IsLeftToALibraryOfFloat64) {
  class Counted final : public kernels::InnerProducts<double> {
   public:
    Status matmul(const kernels::MatmulArgs<double>&) override { return {}; }
    Status conv_forward(const kernels::ConvShape& s, const double*, const double*, const double*,
                        double* dst) override {
      std::fill_n(dst, s.n * s.oc * s.oh() * s.ow(), 1.0);
      ++convolutions;
      return {};
    }
    Status conv_grad_src(const kernels::ConvShape&, const double*, const double*, double*) override { return {}; }
    Status conv_grad_weights(const kernels::ConvShape&, const double*, const double*, double*) override { return {}; }
    int convolutions = 0;
  };
  Ended e(DType::kFloat64);
  e.end(e.relu(e.conv(e.image)));
  ThreadPool pool(1);
  Counted library;
  kernels::KernelContext ctx{kernels::best_isa(), &pool};
  ctx.products_f64 = &library;
  Executor executor(e.g);
  EXPECT_TRUE(executor.run(ctx, feeds_of(e.g)));
  EXPECT_EQ(library.convolutions, 1);
}

TEST(Chain, HasNoNodeThatRunsAgain) {
  Ended e;
  const ValueId conv = e.conv(e.image);
  e.end(e.relu(conv));
  StepList list{list_steps(e.g, kernel_table()).value(), {conv}};
  PlanStep again = list.steps[1];
  again.again = true;
  again.outputs = {static_cast<ValueId>(e.g.value_count())};
  list.steps.push_back(again);
  EXPECT_FALSE(place_values(e.g, list).value().steps[1].at_once);
  list.steps.pop_back();
  EXPECT_TRUE(place_values(e.g, list).value().steps[1].at_once);
}

TEST(Chain, NeedsKnownShapes) {
  Ended e(DType::kFloat32, {-1, 4, 9, 9});
  e.end(e.relu(e.conv(e.image)));
  EXPECT_EQ(make_plan(e.g, kernel_table()).error().code, ErrorCode::kUnreadable);
}

TEST(Chain, EndsWhereSomethingElseIsMeant) {
  Ended twice, wide, shown, other;
  const ValueId c = twice.conv(twice.image);
  twice.end(twice.relu(twice.add(c, c)));
  EXPECT_EQ(twice.run(), (Seen{"Neg", "Conv", "Add", "Relu", "Neg"}));
  const ValueId row = wide.g.add_input("row", DType::kFloat32, {90});
  wide.end(wide.relu(wide.add(wide.conv(wide.image), row)));
  EXPECT_EQ(wide.run(), (Seen{"Neg", "Conv", "Add", "Relu", "Neg"})) << "broadcast";
  const ValueId s = shown.add(shown.conv(shown.image), shown.x);
  shown.end(shown.relu(s));
  shown.g.add_output(s);
  EXPECT_EQ(shown.run(), (Seen{"Neg", "Conv+Add", "Relu", "Neg"})) << "the sum is looked at";
  other.end(other.g.emit("Sigmoid", {other.conv(other.image)}, {}, "sigmoid"));
  EXPECT_EQ(other.run(), (Seen{"Neg", "Conv", "Sigmoid", "Neg"}));
}

}  // namespace
}  // namespace isobit::runtime
