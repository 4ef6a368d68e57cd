// For tests: the written order of an ordered inner product once more, from the list of its terms, without any code of
// the kernels or their references.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace isobit::kernels::testing {

template <class T>
struct Term {
  T a, b;
  int64_t chunk;  // terms of one chunk are neighbours
};

template <class T>
T ordered_oracle(const std::vector<Term<T>>& terms, const T* bias) {
  std::vector<T> chunk_sums;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (i == 0 || terms[i].chunk != terms[i - 1].chunk) chunk_sums.push_back(0);
    chunk_sums.back() = std::fma(terms[i].a, terms[i].b, chunk_sums.back());
  }
  T result = 0;
  for (size_t first = 0; first < chunk_sums.size(); first += 16) {
    T block = 0;
    for (size_t i = first; i < first + 16 && i < chunk_sums.size(); ++i) block += chunk_sums[i];
    result += block;
  }
  if (bias) result += *bias;
  if (std::isnan(result)) {
    const uint64_t nan64 = 0x7ff8000000000000;
    const uint32_t nan32 = 0x7fc00000;
    std::memcpy(&result, sizeof(T) == 4 ? static_cast<const void*>(&nan32) : &nan64, sizeof(T));
  }
  return result;
}

// The same sum in plain binary64 and how far an ordered result may be from it.
template <class T>
struct NaiveSum {
  double value = 0, tolerance = 0;

  NaiveSum(const std::vector<Term<T>>& terms, const T* bias) {
    double magnitude = 0;
    for (const Term<T>& t : terms) {
      value += static_cast<double>(t.a) * static_cast<double>(t.b);
      magnitude += std::fabs(static_cast<double>(t.a) * static_cast<double>(t.b));
    }
    if (bias) {
      value += static_cast<double>(*bias);
      magnitude += std::fabs(static_cast<double>(*bias));
    }
    // 256 + 16 + blocks roundings on the longest path; the naive sum itself rounds once a term.
    const double roundings = 300 + static_cast<double>(terms.size()) / 4096;
    tolerance = magnitude * (roundings * static_cast<double>(std::numeric_limits<T>::epsilon()) +
                             static_cast<double>(terms.size()) * 2.3e-16);
  }
};

}  // namespace isobit::kernels::testing
