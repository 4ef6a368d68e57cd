// Operands of many kinds, for tests over many outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "isobit/kernels/correct/case_for_test.h"

namespace isobit::kernels::correct::testing {

enum class Kind { kGaussian, kRelu, kWide, kExtreme, kCancelling, kIntegers, kPixels, kSparse };
inline constexpr int kKinds = 8;
inline constexpr const char* kNames[kKinds] = {"Gaussian",   "ReLU",     "wide",   "extreme",
                                               "cancelling", "integers", "pixels", "sparse"};

// Lines of k values; those of the left and the right side differ in some kinds.
inline std::vector<float> lines(Kind kind, bool left, int64_t count, int64_t k, std::mt19937_64& random) {
  std::normal_distribution<float> gaussian;
  const auto exponent = [&](int range) { return static_cast<int>(random() % static_cast<uint64_t>(range)); };
  std::vector<float> x(static_cast<size_t>(count * k));
  int64_t at = 0;
  for (float& e : x) {
    const float g = gaussian(random);
    switch (kind) {
      case Kind::kGaussian:
      case Kind::kCancelling:
        e = g;
        break;
      case Kind::kRelu:
        e = left ? std::max(0.0f, g) : g;
        break;
      case Kind::kWide:
        e = std::ldexp(g, exponent(61) - 30);
        break;
      case Kind::kExtreme:  // by line: products about 2^-150 (subnormal), 1, and 2^125, which sums take to infinity
        e = std::ldexp(g, (left ? -130 : -20) + (at++ / k % 2 == 0 ? 0 : left ? 135 : 140));
        break;
      case Kind::kIntegers:
        e = static_cast<float>(static_cast<int64_t>(random() % 17) - 8) * (left ? 1.0f : 0x1.fff7p9f);
        break;
      case Kind::kPixels:
        e = left ? static_cast<float>(random() % 256) / 256 : g;
        break;
      case Kind::kSparse:
        e = random() % 10 == 0 ? g : 0.0f;
        break;
    }
  }
  if (kind != Kind::kCancelling) return x;
  // The second half of a line is the first, on the left negated and changed a little: sums of 2^-20 of their terms.
  for (int64_t line = 0; line < count; ++line) {
    float* v = x.data() + line * k;
    for (int64_t l = 0; l < k / 2; ++l) v[k / 2 + l] = left ? -v[l] * (1 + 0x1p-20f * gaussian(random)) : v[l];
  }
  return x;
}

// A product of such lines, every third one with a bias.
inline Case case_of(Kind kind, int64_t m, int64_t n, int64_t k, uint64_t seed) {
  std::mt19937_64 random(seed);
  Case x{.m = m, .n = n, .k = k, .transpose_b = true, .biased = seed % 3 == 0};
  x.a = lines(kind, true, m, k, random);
  x.b = lines(kind, false, n, k, random);
  x.bias = lines(kind, true, n, 1, random);
  return x;
}

}  // namespace isobit::kernels::correct::testing
