#include "isobit/kernels/matmul/summed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "isobit/kernels/reduce/reduce.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::Values;

struct Stack {
  int64_t batch, m, n, k;
  bool a_transposed = true, b_transposed = false;
};

// What a stack of products is made of; c is not set.
struct Operands {
  std::vector<float> a, b;
  MatmulArgs<float> args;

  explicit Operands(const Stack& s) {
    args = {.m = s.m, .n = s.n, .k = s.k, .batch = s.batch};
    args.a_row_stride = s.a_transposed ? 1 : s.k;
    args.a_col_stride = s.a_transposed ? s.m : 1;
    args.b_row_stride = s.b_transposed ? 1 : s.n;
    args.b_col_stride = s.b_transposed ? s.k : 1;
    args.a_batch_stride = s.m * s.k;
    args.b_batch_stride = s.k * s.n;
    a.resize(static_cast<size_t>(s.batch * s.m * s.k));
    b.resize(static_cast<size_t>(s.batch * s.k * s.n));
    args.a = a.data();
    args.b = b.data();
  }
};

// The products, and then their sum, by the two kernels that define it.
std::vector<float> by_definition(const KernelContext& ctx, MatmulArgs<float> args) {
  std::vector<float> stack(static_cast<size_t>(args.batch * args.m * args.n));
  std::vector<float> sum(static_cast<size_t>(args.m * args.n));
  args.c = stack.data();
  args.c_row_stride = args.n;
  args.c_batch_stride = args.m * args.n;
  matmul(ctx, args);
  reduce_sum(ctx, AxisView{.axis = args.batch, .inner = args.m * args.n}, stack.data(), sum.data());
  return sum;
}

void check(const Operands& operands, const std::string& what) {
  ThreadPool pool(1);
  const std::vector<float> expected = by_definition({Isa::kReference, &pool}, operands.args);
  testing::for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<float> sum(expected.size(), 7);
    sum_of_products(ctx, operands.args, sum.data());
    EXPECT_TRUE(testing::same_bits(expected, sum)) << what << " " << name;
  });
}

const Stack kStacks[] = {{1, 1, 1, 1},
                         {5, 9, 17, 3},
                         {3, 48, 50, 8, false, true},
                         {40, 7, 100, 2, false},
                         {2, 33, 129, 256, true, true},
                         {9, 0, 4, 2},
                         {300, 20, 16, 5},
                         {6, 200, 40, 4}};

TEST(SumOfProducts, IsWhatTheProductsAddUpTo) {
  for (const Stack& stack : kStacks) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      Operands operands(stack);
      operands.a = testing::random_values<float>(operands.a.size(), kind, 1);
      operands.b = testing::random_values<float>(operands.b.size(), kind, 2);
      operands.args.a = operands.a.data();
      operands.args.b = operands.b.data();
      check(operands, std::to_string(static_cast<int>(kind)) + " k=" + std::to_string(stack.k));
    }
  }
}

// Products of few bits and far apart: sums between two floats, where no bound decides, and sums of zeros.
TEST(SumOfProducts, SettlesTiesAndZeros) {
  for (const Stack& stack : kStacks) {
    Operands operands(stack);
    std::mt19937_64 random(3);
    for (float& x : operands.a) x = static_cast<float>(static_cast<int64_t>(random() % 5) - 2);
    for (float& x : operands.b) x = std::ldexp(static_cast<float>(random() % 3), random() % 2 == 0 ? 0 : 24);
    check(operands, "ties, k=" + std::to_string(stack.k));
    // All but one product are zero, as of a sequence of which one place counts.
    const auto first = static_cast<ptrdiff_t>(stack.k * stack.n);
    std::fill(operands.b.begin() + std::min<ptrdiff_t>(first, std::ssize(operands.b)), operands.b.end(), 0.0F);
    check(operands, "zeros, k=" + std::to_string(stack.k));
  }
}

// Finite sums whose magnitudes together are none, sums that are infinite, and NaN.
TEST(SumOfProducts, TellsInfinitiesFromLargeSums) {
  for (const float scale : {0x1p126F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    Operands operands({64, 20, 33, 8});
    std::mt19937_64 random(4);
    for (float& x : operands.a) x = random() % 7 == 0 ? scale : 0.25F;
    for (float& x : operands.b) x = static_cast<float>(static_cast<int64_t>(random() % 3) - 1);
    check(operands, "scale " + std::to_string(scale));
  }
}

// So many terms that not all lines of both sides are laid out at once.
TEST(SumOfProducts, IsTheSameInRectangles) {
  Operands operands({1500, 100, 90, 24});
  operands.a = testing::random_values<float>(operands.a.size(), Values::kUnit, 5);
  operands.b = testing::random_values<float>(operands.b.size(), Values::kUnit, 6);
  operands.args.a = operands.a.data();
  operands.args.b = operands.b.data();
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    const KernelContext ctx{best_isa(), &pool};
    std::vector<float> sum(100 * 90, 7);
    sum_of_products(ctx, operands.args, sum.data());
    EXPECT_TRUE(testing::same_bits(by_definition(ctx, operands.args), sum)) << threads;
  }
}

TEST(SumOfProducts, IsForManyProductsOfFewTerms) {
  EXPECT_TRUE(worth_summing({.m = 384, .n = 1152, .k = 8, .batch = 197}));
  EXPECT_FALSE(worth_summing({.m = 384, .n = 1152, .k = 197, .batch = 8}));
  EXPECT_FALSE(worth_summing({.m = 8, .n = 4096, .k = 8, .batch = 197}));
  EXPECT_FALSE(worth_summing({.m = 512, .n = 512, .k = 8, .batch = 4}));
  EXPECT_FALSE(worth_summing({.m = 384, .n = 1152, .k = 8, .batch = kMostStacked + 1}));
}

}  // namespace
}  // namespace isobit::kernels
