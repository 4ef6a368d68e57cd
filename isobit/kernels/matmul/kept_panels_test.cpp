// Products whose operand stays: what is kept changes no bit, and is kept as the header says.
#include "isobit/kernels/matmul/kept_panels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "isobit/base/scratch.h"
#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/conv/reference.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/matmul/reference.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::Values;

template <class T>
std::vector<T> numbers(int64_t n, uint64_t seed) {
  return testing::random_values<T>(static_cast<size_t>(n), Values::kUnit, seed);
}

struct Sizes {
  int64_t m, n, k;
  bool transposed = false;
  int64_t batch = 1;
  bool a_transposed = false;
};

const std::vector<Sizes> kProducts = {
    {8, 8, 600, true},
    {8, 10, 512, true},
    {3, 20, 2000},
    {1, 1000, 700},
    {64, 96, 300, true},
    {64, 96, 300},
    {200, 33, 257},
    {13, 2100, 270, true},
    {2300, 18, 300},
    {5, 7, 3},
    {2100, 17, 65},
    {20, 35, 4500},
    {16, 16, 1},
    {9, 50, 300, false, 6},
    {70, 34, 0},
    {31, 40, 70, true, 20},
    {16, 8, 512, true, 1, true},
    {24, 24, 512, true, 1, true},

};

// f(context) on every instruction set but the reference, by different numbers of threads.
template <class F>
void on_all(F&& f) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const Isa isa : available_isas()) {
      if (isa != Isa::kReference) f(KernelContext{isa, &pool});
    }
  }
}

// Seven calls, from call 4 on with another b.
template <class T>
void check_product(const Sizes& s) {
  constexpr size_t kCalls = 7;
  const std::vector<T> b[2] = {numbers<T>(s.k * s.n, 7), numbers<T>(s.k * s.n, 8)}, bias = numbers<T>(s.n, 9);
  std::vector<T> a[kCalls], wanted[kCalls];
  auto args_of = [&](size_t call, std::vector<T>& c) {
    c.assign(static_cast<size_t>(s.batch * s.m * s.n), T(-7));
    MatmulArgs<T> args{.m = s.m, .n = s.n, .k = s.k, .a = a[call].data(), .a_row_stride = s.k, .b = b[call / 4].data()};
    if (s.a_transposed) args.a_row_stride = 1, args.a_col_stride = s.m;
    args.b_row_stride = s.transposed ? 1 : s.n;
    args.b_col_stride = s.transposed ? s.k : 1;
    args.c = c.data();
    args.c_row_stride = s.n;
    args.bias = bias.data();
    args.batch = s.batch;
    args.a_batch_stride = s.m * s.k;
    args.c_batch_stride = s.m * s.n;
    return args;
  };
  for (size_t call = 0; call < kCalls; ++call) {
    a[call] = numbers<T>(s.batch * s.m * s.k, 100 + call);
    reference::matmul(args_of(call, wanted[call]));
  }
  on_all([&](const KernelContext& ctx) {
    KeptPanels kept;
    for (size_t call = 0; call < kCalls; ++call) {
      std::vector<T> c;
      MatmulArgs<T> args = args_of(call, c);
      args.kept_b = &kept;
      matmul(ctx, args);
      ASSERT_TRUE(testing::same_bits(wanted[call], c)) << s.m << "x" << s.n << "x" << s.k << ", call " << call;
      const size_t least = s.k > 0 && call % 4 != 0 ? static_cast<size_t>(s.k * s.n) * sizeof(T) : 0;
      EXPECT_GE(kept.bytes(), least) << "call " << call;
      EXPECT_EQ(kept.bytes() > 0, least > 0) << "call " << call;
    }
  });
}

TEST(KeptPanels, OfProductsChangeNoBit) {
  for (const Sizes& s : kProducts) {
    check_product<float>(s);
    check_product<double>(s);
  }
}

// Whoever lays out and whoever reads may have different numbers of rows, which decide how much is laid out at a time of
// what is not kept.
template <class T>
void check_rows(std::vector<int64_t> rows) {
  const int64_t n = 600, k = 300, most = *std::ranges::max_element(rows);
  const std::vector<T> a = numbers<T>(most * k, 1), b = numbers<T>(k * n, 2);
  auto args_of = [&](int64_t m, std::vector<T>& c) {
    c.assign(static_cast<size_t>(m * n), T(-7));
    return MatmulArgs<T>{.m = m,
                         .n = n,
                         .k = k,
                         .a = a.data(),
                         .a_row_stride = k,
                         .b = b.data(),
                         .b_row_stride = n,
                         .c = c.data(),
                         .c_row_stride = n};
  };
  std::vector<T> wanted;
  reference::matmul(args_of(most, wanted));
  on_all([&](const KernelContext& ctx) {
    KeptPanels kept;
    for (const int64_t m : rows) {
      std::vector<T> c;
      MatmulArgs<T> args = args_of(m, c);
      args.kept_b = &kept;
      matmul(ctx, args);
      ASSERT_TRUE(testing::same_bits(std::vector<T>(wanted.begin(), wanted.begin() + m * n), c)) << m << " rows";
    }
  });
}

TEST(KeptPanels, ServeCallsWithOtherNumbersOfRows) {
  check_rows<float>({250, 250, 20, 250});
  check_rows<float>({20, 20, 250, 20});
  check_rows<double>({120, 120, 20, 120});
}

std::vector<ConvShape> convolutions() {
  std::vector<ConvShape> all;
  auto add = [&](int64_t n, int64_t ic, int64_t size, int64_t oc, int64_t taps, int64_t stride, int64_t groups) {
    ConvShape s;
    s.n = n, s.ic = ic, s.ih = s.iw = size, s.oc = oc, s.kh = s.kw = taps, s.stride_h = s.stride_w = stride;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = taps / 2;
    s.groups = groups;
    all.push_back(s);
  };
  for (const int64_t n : {1, 2, 9, 17}) {
    add(n, 64, 7, 70, 1, 1, 1);
    add(n, 40, 14, 33, 3, 1, 1);
    add(n, 3, 20, 24, 7, 2, 1);
    add(n, 32, 9, 48, 1, 2, 1);
    add(n, 8, 11, 8, 3, 1, 4);
    add(n, 20, 4, 300, 3, 2, 1);
    add(n, 64, 7, 130, 3, 1, 1);  // vectors along the weights
    add(n, 300, 7, 200, 1, 1, 1);
    add(n, 48, 14, 136, 3, 2, 1);
  }
  add(1, 512, 4, 1, 3, 1, 1);  // more threads than vectors
  add(1, 512, 5, 8, 3, 1, 1);
  return all;
}

template <class T>
void check_convolution(const ConvShape& s) {
  constexpr size_t kCalls = 3;
  const std::vector<T> weights = numbers<T>(s.oc * (s.ic / s.groups) * s.kh * s.kw, 5), bias = numbers<T>(s.oc, 6);
  std::vector<T> src[kCalls], wanted[kCalls];
  for (size_t call = 0; call < kCalls; ++call) {
    src[call] = numbers<T>(s.n * s.ic * s.ih * s.iw, 10 + call);
    wanted[call].assign(static_cast<size_t>(s.n * s.oc * s.oh() * s.ow()), T(-7));
    reference::conv_forward(s, src[call].data(), weights.data(), bias.data(), wanted[call].data());
  }
  on_all([&](const KernelContext& ctx) {
    KeptPanels kept;
    for (size_t call = 0; call < kCalls; ++call) {
      std::vector<T> dst(wanted[call].size(), T(-7));
      conv_forward(ctx, s, src[call].data(), weights.data(), bias.data(), dst.data(), &kept);
      ASSERT_TRUE(testing::same_bits(wanted[call], dst))
          << s.n << " images of " << s.ic << " x " << s.ih << ", " << s.kh << " taps, call " << call;
    }
    const size_t least = s.n == 1 ? weights.size() * sizeof(T) : 0;  // many images may lie in the lanes
    EXPECT_GE(kept.bytes(), least) << s.oc << " of " << s.ic;
  });
}

TEST(KeptPanels, OfConvolutionsChangeNoBit) {
  for (const ConvShape& s : convolutions()) {
    check_convolution<float>(s);
    check_convolution<double>(s);
  }
}

TEST(KeptPanels, BeginAnewOnOtherThreadsAndInstructionSets) {
  const Sizes s{50, 90, 300};
  const std::vector<float> a = numbers<float>(s.m * s.k, 1), b = numbers<float>(s.k * s.n, 2);
  std::vector<float> c(static_cast<size_t>(s.m * s.n)), wanted = c;
  MatmulArgs<float> args{.m = s.m, .n = s.n, .k = s.k, .a = a.data(), .a_row_stride = s.k, .b = b.data()};
  args.b_row_stride = args.c_row_stride = s.n;
  args.c = wanted.data();
  reference::matmul(args);
  KeptPanels kept;
  args.kept_b = &kept;
  args.c = c.data();
  for (int round = 0; round < 3; ++round) {
    for (const Isa isa : available_isas()) {
      for (const int threads : {1, 2, 4}) {
        ThreadPool pool(threads);
        for (int call = 0; call < 1 + round; ++call) {
          c.assign(c.size(), -7);
          matmul({isa, &pool}, args);
          ASSERT_TRUE(testing::same_bits(wanted, c));
        }
      }
    }
  }
}

struct OneProduct {
  static constexpr Sizes kSizes = {50, 2000, 300};
  std::vector<float> a = numbers<float>(kSizes.m * kSizes.k, 1), b = numbers<float>(kSizes.k * kSizes.n, 2);
  std::vector<float> c = std::vector<float>(static_cast<size_t>(kSizes.m * kSizes.n)), wanted = c;
  KeptPanels kept;
  ThreadPool pool{1};
  MatmulArgs<float> args{.m = kSizes.m, .n = kSizes.n, .k = kSizes.k, .a = a.data(), .a_row_stride = kSizes.k};

  OneProduct() {
    args.b = b.data();
    args.b_row_stride = args.c_row_stride = kSizes.n;
    args.c = wanted.data();
    reference::matmul(args);
    args.c = c.data();
    args.kept_b = &kept;
  }
  void call() {
    c.assign(c.size(), -7);
    matmul({Isa::kPortable, &pool}, args);
    EXPECT_TRUE(testing::same_bits(wanted, c));
  }
};

TEST(KeptPanels, WithoutMemoryNothingIsKept) {
  OneProduct one;
  one.call();
  scratch::trim();
  const size_t before = scratch::set_limit(scratch::held_bytes() + (1 << 20) + (1 << 19));
  for (int call = 0; call < 3; ++call) one.call();
  scratch::set_limit(before);
  EXPECT_EQ(one.kept.bytes(), 0u);
}

TEST(KeptPanels, GoWhereTheirMemoryIsNeeded) {
  OneProduct one;
  for (int call = 0; call < 3; ++call) one.call();
  ASSERT_GT(one.kept.bytes(), 0u);
  const size_t before = scratch::set_limit(scratch::held_bytes());
  { const ScratchVector<char> needed(1 << 20); }
  scratch::set_limit(before);
  EXPECT_EQ(one.kept.bytes(), 0u);
  for (int call = 0; call < 3; ++call) one.call();
  EXPECT_EQ(one.kept.bytes(), 0u) << "it was needed elsewhere once";
}

}  // namespace
}  // namespace isobit::kernels
