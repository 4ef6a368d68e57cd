// What the tests of the traits share: elements as numbers, what of them changed, an operator run in every type it has.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>
#include <vector>

#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/runtime/operator_cases_for_test.h"

namespace isobit::runtime {

// The elements as numbers; of integers the nearest.
inline std::vector<double> reals(const Tensor& t) {
  std::vector<double> numbers;
  const bool known = by_type(NumberTypes{}, t.dtype(), [&]<class T>(T) {
    for (const T x : t.span<T>()) numbers.push_back(static_cast<double>(x));
  });
  if (known) return numbers;
  ISOBIT_CHECK(t.dtype() == DType::kBool);
  for (const uint8_t x : t.byte_view()) numbers.push_back(x);
  return numbers;
}

inline bool is_real(const Tensor& t) { return t.dtype() == DType::kFloat32 || t.dtype() == DType::kFloat64; }

inline void set_element(Tensor& t, int64_t i, double x) {
  if (t.dtype() == DType::kFloat32) t.data<float>()[i] = static_cast<float>(x);
  if (t.dtype() == DType::kFloat64) t.data<double>()[i] = x;
}

// Zeros of both signs, infinities, NaN, and the least and the largest of numbers among the real operands.
inline void make_odd(OneOperator& one) {
  const double odd[] = {0.0, -0.0, INFINITY, NAN, -INFINITY, 1e-45, -3e38, 1e-40, 1};
  size_t next = 0;
  for (Tensor& feed : one.feeds) {
    if (!is_real(feed)) continue;
    feed = feed.clone();
    for (int64_t e = static_cast<int64_t>(next % 5); e < feed.elements(); e += 3 + static_cast<int64_t>(next % 7)) {
      set_element(feed, e, odd[next++ % std::size(odd)]);
    }
  }
}

// Which elements of a are not those of b, bit by bit; all of them where the shapes differ.
inline std::vector<int64_t> changed(const Tensor& a, const Tensor& b) {
  std::vector<int64_t> places(a.shape() == b.shape() ? 0 : static_cast<size_t>(a.elements()));
  std::iota(places.begin(), places.end(), int64_t{0});
  if (a.shape() != b.shape()) return places;
  const size_t size = size_of(a.dtype());
  for (int64_t i = 0; i < a.elements(); ++i) {
    const auto *x = static_cast<const char*>(a.raw()) + static_cast<size_t>(i) * size,
               *y = static_cast<const char*>(b.raw()) + static_cast<size_t>(i) * size;
    if (std::memcmp(x, y, size) != 0) places.push_back(i);
  }
  return places;
}

// `one` with other values of input i.
inline OneOperator with_other_values(const OneOperator& one, const OperatorCase& c, size_t i, uint64_t seed) {
  OneOperator other = one;
  const CaseOperand& operand = c.operands[i];
  CaseOperand changed = operand;
  const bool can_be_reversed = operand.kind == CaseOperand::Kind::kGiven || operand.kind == CaseOperand::Kind::kNumbers;
  if (can_be_reversed) std::reverse(changed.given.begin(), changed.given.end());
  other.feeds[i] = values_of(changed, one.feeds[i].dtype(), seed);
  return other;
}

class Traits : public ::testing::TestWithParam<OperatorCase> {
 protected:
  // float64 and float32, or float32 alone.
  std::vector<DType> types() const {
    std::vector<DType> types = {DType::kFloat32};
    if (graph::find_op(GetParam().op)->any_real_type) types.push_back(DType::kFloat64);
    return types;
  }
  std::vector<Tensor> run(const OneOperator& one) { return one.run({kernels::best_isa(), &pool_}); }

  ThreadPool pool_{1};
};

}  // namespace isobit::runtime
