// Proof by exhaustion that the cr_ functions are correctly rounded: every float32 against the C library's float64
// function (another author's algorithm, errors of a few units of 2^-53), and against MPFR where that value lies within
// a margin of a rounding boundary that is hundreds of times its error. One test per function: --gtest_filter='*/exp'.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_oracle.h"

namespace isobit::numerics {
namespace {

constexpr int kBlock = 1 << 14;

using OverBlock = void (*)(const float* x, float* y);

// The loops that a kernel would write.
template <int kFunction>
void over_block(const float* x, float* y) {
  for (int i = 0; i < kBlock; ++i) {
    if constexpr (kFunction == 0) y[i] = impl::cr_exp(x[i]);
    if constexpr (kFunction == 1) y[i] = impl::cr_log(x[i]);
    if constexpr (kFunction == 2) y[i] = impl::cr_tanh(x[i]);
    if constexpr (kFunction == 3) y[i] = impl::cr_erf(x[i]);
    if constexpr (kFunction == 4) y[i] = impl::cr_sin(x[i]);
    if constexpr (kFunction == 5) y[i] = impl::cr_cos(x[i]);
    if constexpr (kFunction == 6) y[i] = impl::cr_sqrt(x[i]);
    if constexpr (kFunction == 7) y[i] = impl::cr_rsqrt(x[i]);
    if constexpr (kFunction == 8) y[i] = impl::cr_sigmoid(x[i]);
    if constexpr (kFunction == 9) y[i] = impl::cr_gelu_erf(x[i]);
    if constexpr (kFunction == 10) y[i] = impl::cr_gelu_tanh(x[i]);
    if constexpr (kFunction == 11) y[i] = impl::cr_expm1(x[i]);
    if constexpr (kFunction == 12) y[i] = impl::cr_log1p(x[i]);
    if constexpr (kFunction == 13) y[i] = impl::cr_tan(x[i]);
    if constexpr (kFunction == 14) y[i] = impl::cr_asin(x[i]);
    if constexpr (kFunction == 15) y[i] = impl::cr_acos(x[i]);
    if constexpr (kFunction == 16) y[i] = impl::cr_atan(x[i]);
    if constexpr (kFunction == 17) y[i] = impl::cr_sinh(x[i]);
    if constexpr (kFunction == 18) y[i] = impl::cr_cosh(x[i]);
    if constexpr (kFunction == 19) y[i] = impl::cr_asinh(x[i]);
    if constexpr (kFunction == 20) y[i] = impl::cr_acosh(x[i]);
    if constexpr (kFunction == 21) y[i] = impl::cr_atanh(x[i]);
    if constexpr (kFunction == 22) y[i] = impl::cr_softplus(x[i]);
    if constexpr (kFunction == 23) y[i] = impl::cr_mish(x[i]);
  }
}
// In the order of oracle::kFunctions.
constexpr OverBlock kOurs[] = {over_block<0>,  over_block<1>,  over_block<2>,  over_block<3>,  over_block<4>,
                               over_block<5>,  over_block<6>,  over_block<7>,  over_block<8>,  over_block<9>,
                               over_block<10>, over_block<11>, over_block<12>, over_block<13>, over_block<14>,
                               over_block<15>, over_block<16>, over_block<17>, over_block<18>, over_block<19>,
                               over_block<20>, over_block<21>, over_block<22>, over_block<23>};
static_assert(std::size(kOurs) == std::size(oracle::kFunctions));

struct Tally {
  std::atomic<uint64_t> checked{0};
  std::atomic<uint64_t> near_ties{0};
  std::atomic<uint64_t> misrounded{0};
  std::mutex print;
};

void check_block(int function, uint32_t first, Tally& tally) {
  const oracle::Function& f = oracle::kFunctions[function];
  static thread_local std::vector<float> x(kBlock), y(kBlock);
  for (int i = 0; i < kBlock; ++i) x[i] = f32_from_bits(first + static_cast<uint32_t>(i));
  kOurs[function](x.data(), y.data());
  uint64_t near_ties = 0;
  for (int i = 0; i < kBlock; ++i) {
    const float expected = oracle::correctly_rounded(f, x[i], &near_ties);
    if (bits_of(expected) != bits_of(y[i]) && tally.misrounded.fetch_add(1) < 100) {
      std::lock_guard lock(tally.print);
      std::printf("%s(0x%08x = %a): found 0x%08x, expected 0x%08x\n", f.name, bits_of(x[i]), x[i], bits_of(y[i]),
                  bits_of(expected));
    }
  }
  tally.checked += kBlock;
  tally.near_ties += near_ties;
}

class FunctionsExhaustive : public testing::TestWithParam<int> {};

TEST_P(FunctionsExhaustive, CorrectlyRounded) {
  Tally tally;
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    for (;;) {
      const uint64_t block = next.fetch_add(1);
      if (block * kBlock >> 32) break;
      check_block(GetParam(), static_cast<uint32_t>(block * kBlock), tally);
    }
    mpfr_free_cache();
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  std::printf("%s: inputs checked %" PRIu64 ", near ties sent to MPFR %" PRIu64 ", misrounded %" PRIu64 "\n",
              oracle::kFunctions[GetParam()].name, tally.checked.load(), tally.near_ties.load(),
              tally.misrounded.load());
  EXPECT_EQ(tally.checked.load(), uint64_t{1} << 32);
  EXPECT_EQ(tally.misrounded.load(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, FunctionsExhaustive, testing::Range(0, static_cast<int>(std::size(kOurs))),
                         [](const testing::TestParamInfo<int>& i) {
                           return std::string(oracle::kFunctions[i.param].name);
                         });

}  // namespace
}  // namespace isobit::numerics
