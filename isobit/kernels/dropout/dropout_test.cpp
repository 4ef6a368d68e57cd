#include "isobit/kernels/dropout/dropout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "isobit/kernels/testing.h"
#include "isobit/numerics/philox.h"

namespace isobit::kernels {
namespace {

using testing::for_each_context;
using testing::random_values;
using testing::same_bits;
using testing::Values;

template <class T>
class Dropout : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Dropout, Types);

// Element by element from the bare generator, packing written out.
template <class T>
std::vector<T> oracle(const DropoutArgs& a, const std::vector<T>& src) {
  std::vector<T> dst;
  const std::array<uint32_t, 2> key{static_cast<uint32_t>(a.seed), static_cast<uint32_t>(a.seed >> 32)};
  for (size_t i = 0; i < src.size(); ++i) {
    const uint64_t word = (static_cast<uint64_t>(a.node) << 42) + static_cast<uint64_t>(a.first) + i;
    const uint64_t block = word / 4;
    const auto r =
        numerics::philox4x32_10({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), a.step, 5u}, key);
    // kept iff bits / 2^32 >= p, both sides exact in binary64
    const bool kept = static_cast<double>(r[word % 4]) * 0x1p-32 >= a.p;
    dst.push_back(kept ? numerics::canonical(src[i] * static_cast<T>(1.0 / (1.0 - a.p))) : T(0));
  }
  return dst;
}

TYPED_TEST(Dropout, EveryIsaAndThreadCountAgainstTheBareGenerator) {
  using T = TypeParam;
  for (double p : {0.0, 0.1, 0.5, 0.999, 1e-9, 1 - 0x1p-53}) {
    for (int64_t n : {0, 1, 3, 5, 255, 257, 30011}) {
      const std::vector<T> src = random_values<T>(static_cast<size_t>(n), Values::kSpecial, 21);
      for (int64_t first : {int64_t{0}, int64_t{6}, (int64_t{1} << 42) - n}) {
        const DropoutArgs args{0x123456789abcdef0ull, 17, 4194303, p, first};
        const std::vector<T> expected = oracle(args, src);
        for_each_context([&](const KernelContext& ctx, const std::string& name) {
          std::vector<T> dst = src;
          dropout(ctx, args, n, dst.data(), dst.data());
          EXPECT_TRUE(same_bits(expected, dst)) << name << " p " << p << " n " << n << " first " << first;
        });
      }
    }
  }
}

TEST(DropoutMask, DependsOnSeedStepAndNodeOnly) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const std::vector<float> ones(4096, 1.0f);
  auto mask = [&](DropoutArgs args) {
    std::vector<float> dst(ones.size());
    dropout(ctx, args, 4096, ones.data(), dst.data());
    return dst;
  };
  const DropoutArgs args{1, 2, 3, 0.25};
  EXPECT_EQ(mask(args), mask(args));
  EXPECT_NE(mask(args), mask({2, 2, 3, 0.25}));
  EXPECT_NE(mask(args), mask({1, 3, 3, 0.25}));
  EXPECT_NE(mask(args), mask({1, 2, 4, 0.25}));
}

TEST(DropoutMask, OfAPartIsThatPartOfTheMask) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const int64_t n = 5000;
  const std::vector<float> ones(static_cast<size_t>(n), 1.0f);
  std::vector<float> whole(ones.size()), parts(ones.size());
  dropout(ctx, {7, 1, 0, 0.5}, n, ones.data(), whole.data());
  for (int64_t first = 0; first < n; first += 1250) {
    dropout(ctx, {7, 1, 0, 0.5, first}, 1250, ones.data() + first, parts.data() + first);
  }
  EXPECT_EQ(parts, whole);
}

TEST(DropoutMask, KeepsAboutOneMinusP) {
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const int64_t n = 1 << 20;
  const std::vector<float> ones(static_cast<size_t>(n), 1.0f);
  std::vector<float> dst(ones.size());
  for (double p : {0.1, 0.5, 0.9}) {
    dropout(ctx, {7, 1, 0, p}, n, ones.data(), dst.data());
    double kept = 0;
    for (float x : dst) kept += x != 0;
    // Six standard deviations.
    EXPECT_NEAR(kept / static_cast<double>(n), 1 - p, 6 * std::sqrt(p * (1 - p) / static_cast<double>(n)));
  }
}

}  // namespace
}  // namespace isobit::kernels
