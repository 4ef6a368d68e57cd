// Proof by exhaustion that the cr_ functions are correctly rounded: every float32 against the C library's float64
// function (another author's algorithm, errors of a few units of 2^-53), and against MPFR where that value lies within
// a margin of a rounding boundary that is hundreds of times its error. One test per function: --gtest_filter='*/exp'.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "isobit/numerics/functions_impl.h"
#include "isobit/numerics/functions_oracle.h"

namespace isobit::numerics {
namespace {

constexpr int kBlock = 1 << 14;

struct Function {
  const char* name;
  void (*ours)(const float* x, float* y);  // kBlock elements
  double (*approximate)(double);
  double margin;  // relative; far above the error of `approximate`
  oracle::Exact exact;
};

#define ISOBIT_OVER_BLOCK(name)                                    \
  void name##_block(const float* x, float* y) {                    \
    for (int i = 0; i < kBlock; ++i) y[i] = impl::cr_##name(x[i]); \
  }
ISOBIT_OVER_BLOCK(exp)
ISOBIT_OVER_BLOCK(log)
ISOBIT_OVER_BLOCK(tanh)
ISOBIT_OVER_BLOCK(erf)
ISOBIT_OVER_BLOCK(sin)
ISOBIT_OVER_BLOCK(cos)
ISOBIT_OVER_BLOCK(sqrt)
ISOBIT_OVER_BLOCK(rsqrt)
ISOBIT_OVER_BLOCK(sigmoid)
ISOBIT_OVER_BLOCK(gelu_erf)
ISOBIT_OVER_BLOCK(gelu_tanh)

struct Tally {
  std::atomic<uint64_t> checked{0};
  std::atomic<uint64_t> near_ties{0};
  std::atomic<uint64_t> misrounded{0};
  std::mutex print;
};

void check_block(const Function& f, uint32_t first, Tally& tally) {
  static thread_local std::vector<float> x(kBlock), y(kBlock);
  for (int i = 0; i < kBlock; ++i) x[i] = f32_from_bits(first + static_cast<uint32_t>(i));
  f.ours(x.data(), y.data());
  uint64_t near_ties = 0;
  for (int i = 0; i < kBlock; ++i) {
    const double value = f.approximate(static_cast<double>(x[i]));
    const double margin = value * f.margin;
    float expected = static_cast<float>(value - margin);
    if (is_nan(x[i])) {
      expected = nan_f32();
    } else if (!is_finite(expected)) {
      expected = canonical(static_cast<float>(value));  // inf, 0 * inf and the like: no margin
    } else if (expected != static_cast<float>(value + margin)) {
      expected = oracle::exact_f32(f.exact, x[i]);
      ++near_ties;
    }
    if (bits_of(expected) != bits_of(y[i]) && tally.misrounded.fetch_add(1) < 100) {
      std::lock_guard lock(tally.print);
      std::printf("%s(0x%08x = %a): found 0x%08x, expected 0x%08x\n", f.name, bits_of(x[i]), x[i], bits_of(y[i]),
                  bits_of(expected));
    }
  }
  tally.checked += kBlock;
  tally.near_ties += near_ties;
}

class FunctionsExhaustive : public testing::TestWithParam<Function> {};

TEST_P(FunctionsExhaustive, CorrectlyRounded) {
  const Function& f = GetParam();
  Tally tally;
  std::atomic<uint64_t> next{0};
  const auto work = [&] {
    for (;;) {
      const uint64_t block = next.fetch_add(1);
      if (block * kBlock >> 32) return;
      check_block(f, static_cast<uint32_t>(block * kBlock), tally);
    }
    mpfr_free_cache();
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  std::printf("%s: inputs checked %" PRIu64 ", near ties sent to MPFR %" PRIu64 ", misrounded %" PRIu64 "\n", f.name,
              tally.checked.load(), tally.near_ties.load(), tally.misrounded.load());
  EXPECT_EQ(tally.checked.load(), uint64_t{1} << 32);
  EXPECT_EQ(tally.misrounded.load(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, FunctionsExhaustive,
    testing::Values(Function{"exp", exp_block, std::exp, 0x1p-45, oracle::exact_exp},
                    Function{"log", log_block, std::log, 0x1p-45, oracle::exact_log},
                    Function{"tanh", tanh_block, std::tanh, 0x1p-45, oracle::exact_tanh},
                    Function{"erf", erf_block, std::erf, 0x1p-45, oracle::exact_erf},
                    Function{"sin", sin_block, std::sin, 0x1p-45, oracle::exact_sin},
                    Function{"cos", cos_block, std::cos, 0x1p-45, oracle::exact_cos},
                    Function{"sqrt", sqrt_block, std::sqrt, 0x1p-45, oracle::exact_sqrt},
                    Function{"rsqrt", rsqrt_block, oracle::double_rsqrt, 0x1p-45, oracle::exact_rsqrt},
                    Function{"sigmoid", sigmoid_block, oracle::double_sigmoid, 0x1p-45, oracle::exact_sigmoid},
                    Function{"gelu_erf", gelu_erf_block, oracle::double_gelu_erf, 0x1p-42, oracle::exact_gelu_erf},
                    Function{"gelu_tanh", gelu_tanh_block, oracle::double_gelu_tanh, 0x1p-42, oracle::exact_gelu_tanh}),
    [](const testing::TestParamInfo<Function>& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace isobit::numerics
