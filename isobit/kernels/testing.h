// For kernel tests: comparison by bits with a message that can be acted on, and inputs that hold every kind of number.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels::testing {

template <class T>
std::string describe(T x) {
  char text[64];
  if constexpr (std::is_same_v<T, float>) {
    std::snprintf(text, sizeof text, "%.9g (0x%08x)", static_cast<double>(x), numerics::bits_of(x));
  } else if constexpr (std::is_same_v<T, double>) {
    std::snprintf(text, sizeof text, "%.17g (0x%016llx)", x, static_cast<unsigned long long>(numerics::bits_of(x)));
  } else {
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(x));
  }
  return text;
}

// Equal sizes and equal bits; names the first difference, how many there are, and the distance in ulps.
template <class T>
::testing::AssertionResult same_bits(std::span<const T> expected, std::span<const T> actual) {
  if (expected.size() != actual.size()) {
    return ::testing::AssertionFailure() << expected.size() << " elements expected, " << actual.size() << " found";
  }
  size_t first = expected.size(), count = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&expected[i], &actual[i], sizeof(T)) != 0) {
      if (count++ == 0) first = i;
    }
  }
  if (count == 0) return ::testing::AssertionSuccess();
  auto result = ::testing::AssertionFailure();
  result << count << " of " << expected.size() << " elements differ; first at " << first << ": expected "
         << describe(expected[first]) << ", found " << describe(actual[first]);
  if constexpr (std::is_floating_point_v<T>) {
    result << ", " << numerics::ulp_distance(expected[first], actual[first]) << " ulp";
  }
  return result;
}
template <class T>
::testing::AssertionResult same_bits(const std::vector<T>& expected, const std::vector<T>& actual) {
  return same_bits(std::span<const T>(expected), std::span<const T>(actual));
}

// Signed zeros, subnormals, the ends of the range, infinities, NaNs of both signs and odd payloads, small integers.
template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> v = {T(0),
                      L::denorm_min(),
                      L::min(),
                      L::min() / 2,
                      L::max(),
                      L::max() / 2,
                      L::infinity(),
                      T(1),
                      T(2),
                      T(3),
                      T(0.5),
                      T(1) / T(3),
                      T(10),
                      T(40),
                      T(41),
                      T(88.7),
                      T(100),
                      T(1e10),
                      T(1e20),
                      T(2147483648),
                      T(9.3e18),
                      L::epsilon(),
                      T(1) + L::epsilon(),
                      T(0.999),
                      T(127.5),
                      T(255),
                      T(256),
                      T(1e-20),
                      T(8388608.5),
                      T(709.5)};
  const size_t n = v.size();
  for (size_t i = 0; i < n; ++i) v.push_back(-v[i]);
  v.push_back(L::quiet_NaN());
  v.push_back(-L::quiet_NaN());
  if constexpr (sizeof(T) == 4) {
    v.push_back(numerics::f32_from_bits(0x7fc12345u));
    v.push_back(numerics::f32_from_bits(0xffd00001u));
  } else {
    v.push_back(numerics::f64_from_bits(0x7ff8123456789abcull));
    v.push_back(numerics::f64_from_bits(0xfffa000000000001ull));
  }
  return v;
}

enum class Values {
  kUnit,     // about a Gaussian: what training holds
  kWide,     // random sign, exponent over the whole range, random significand
  kSpecial,  // kWide with every third element a special value
};

template <class T>
std::vector<T> random_values(size_t n, Values kind, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<T> special = special_values<T>();
  std::vector<T> v(n);
  for (T& x : v) {
    const uint64_t word = random();
    if (kind == Values::kUnit) {
      // Sum of four uniforms; the distribution's library would differ between compilers.
      double sum = 0;
      for (int k = 0; k < 4; ++k) sum += static_cast<double>(word >> (16 * k) & 0xffff) / 65536 - 0.5;
      x = static_cast<T>(sum * 1.7320508);
    } else if (kind == Values::kSpecial && word % 3 == 0) {
      x = special[word / 3 % special.size()];
    } else if constexpr (sizeof(T) == 4) {
      x = numerics::canonical(numerics::f32_from_bits(static_cast<uint32_t>(word >> 8)));
    } else {
      x = numerics::canonical(numerics::f64_from_bits(random()));
    }
  }
  return v;
}

// Calls f(ctx, text) for every available ISA with 1, 2, 3 and 8 threads.
template <class F>
void for_each_context(F f) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (Isa isa : available_isas()) {
      f(KernelContext{isa, &pool}, std::string(name_of(isa)) + "/" + std::to_string(threads) + "t");
    }
  }
}

// run(ctx) returns the outputs of one call. They must be those of the reference for every ISA and number of threads.
template <class Run>
void expect_same_everywhere(const std::string& what, Run run) {
  static ThreadPool pools[] = {ThreadPool(1), ThreadPool(2), ThreadPool(3), ThreadPool(8)};
  const auto expected = run(KernelContext{Isa::kReference, &pools[0]});
  for (ThreadPool& pool : pools) {
    for (Isa isa : available_isas()) {
      if (isa == Isa::kReference && pool.threads() == 1) continue;
      const auto actual = run(KernelContext{isa, &pool});
      ASSERT_EQ(expected.size(), actual.size());
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(same_bits(expected[i], actual[i]))
            << what << ", output " << i << ", " << name_of(isa) << "/" << pool.threads() << "t";
      }
    }
  }
}

}  // namespace isobit::kernels::testing
