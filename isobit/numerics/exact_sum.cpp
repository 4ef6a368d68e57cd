#include "isobit/numerics/exact_sum.h"

#include <algorithm>

#include "isobit/base/status.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_accumulator.h"
#include "isobit/numerics/exact_sum_impl.h"
#include "isobit/numerics/wide_integer_internal.h"

namespace isobit::numerics {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 40;
constexpr int64_t kChunk = 256;

template <class F>
int64_t for_each_element(const StridedSegment* segments, int64_t count, F&& f) {
  int64_t n = 0;
  for (int64_t s = 0; s < count; ++s) {
    for (int64_t i = 0; i < segments[s].count; ++i) f(segments[s].data[i * segments[s].stride]);
    n += segments[s].count;
  }
  ISOBIT_CHECK(n < kMaxElements);
  return n;
}

ExactAccumulator exact_sum_of(const StridedSegment* segments, int64_t count, int64_t* n) {
  ExactAccumulator a;
  *n = for_each_element(segments, count, [&](float x) { a.add(x); });
  return a;
}

ExactAccumulator exact_squares_of(const StridedSegment* segments, int64_t count) {
  ExactAccumulator a;
  for_each_element(segments, count, [&](float x) { a.add_product(x, x); });
  return a;
}

// The written order of float64 sums.
class OrderedSum {
 public:
  void add(double x) {
    chunk_ += x;
    if (++filled_ == kChunk) {
      total_ += chunk_;
      chunk_ = 0;
      filled_ = 0;
    }
  }
  double value() const { return canonical(filled_ == 0 ? total_ : total_ + chunk_); }

 private:
  double total_ = 0;
  double chunk_ = 0;
  int64_t filled_ = 0;
};

template <class F>
double ordered_sum(std::span<const StridedSegmentF64> segments, F&& term) {
  OrderedSum sum;
  for (const StridedSegmentF64& s : segments) {
    for (int64_t i = 0; i < s.count; ++i) sum.add(term(s.data[i * s.stride]));
  }
  return sum.value();
}

}  // namespace

float sum_rounded(const float* x, int64_t n) {
  const StridedSegment s{x, n, 1};
  return impl::sum_rounded(&s, 1);
}
float sum_rounded(std::span<const StridedSegment> segments) {
  return impl::sum_rounded(segments.data(), static_cast<int64_t>(segments.size()));
}
float sum_of_squares_rounded(const float* x, int64_t n) {
  const StridedSegment s{x, n, 1};
  return impl::sum_of_squares_rounded(&s, 1);
}
float sum_of_squares_rounded(std::span<const StridedSegment> segments) {
  return impl::sum_of_squares_rounded(segments.data(), static_cast<int64_t>(segments.size()));
}
void sum_columns_rounded(const float* src, int64_t rows, int64_t cols, int64_t row_stride, float* dst) {
  impl::sum_columns_rounded(src, rows, cols, row_stride, dst);
}
float mean_rounded(const float* x, int64_t n) {
  const StridedSegment s{x, n, 1};
  return impl::mean_rounded(&s, 1);
}
float mean_rounded(std::span<const StridedSegment> segments) {
  return impl::mean_rounded(segments.data(), static_cast<int64_t>(segments.size()));
}
MeanVariance mean_variance_rounded(const float* x, int64_t n) {
  const StridedSegment s{x, n, 1};
  return impl::mean_variance_rounded(&s, 1);
}
MeanVariance mean_variance_rounded(std::span<const StridedSegment> segments) {
  return impl::mean_variance_rounded(segments.data(), static_cast<int64_t>(segments.size()));
}

float sum_exactly(const StridedSegment* segments, int64_t count) {
  int64_t n = 0;
  return exact_sum_of(segments, count, &n).rounded();
}

float sum_of_squares_exactly(const StridedSegment* segments, int64_t count) {
  return exact_squares_of(segments, count).rounded();
}

float mean_exactly(const StridedSegment* segments, int64_t count) {
  int64_t n = 0;
  const ExactAccumulator sum = exact_sum_of(segments, count, &n);
  ISOBIT_CHECK(n >= 1);
  return sum.rounded_quotient(n);
}

// n sum x^2 - (sum x)^2 in units of 2^-298 is an integer below 2^636 (n < 2^40); divided twice by n.
float variance_exactly(const StridedSegment* segments, int64_t count) {
  int64_t n = 0;
  const ExactAccumulator sum = exact_sum_of(segments, count, &n);
  return variance_of(sum, exact_squares_of(segments, count), n);
}

float variance_of(const ExactAccumulator& sum, const ExactAccumulator& squares, int64_t n) {
  constexpr int kLimbs = ExactAccumulator::kLimbs;
  ISOBIT_CHECK(n >= 1);
  if (sum.special() != ExactAccumulator::Special::kNone) return nan_f32();
  ExactAccumulator::Limbs root = sum.limbs();
  if (root[kLimbs - 1] >> 63 != 0) internal::negate(root.data(), kLimbs);
  internal::shift_right(root.data(), kLimbs, -ExactAccumulator::kUnitExponent / 2);  // units of 2^-149, below 2^320
  ExactAccumulator::Limbs squared_sum;
  internal::square(root.data(), kLimbs / 2, squared_sum.data());
  ExactAccumulator::Limbs value = squares.limbs();
  internal::multiply(value.data(), kLimbs, static_cast<uint64_t>(n));
  internal::subtract(value.data(), squared_sum.data(), kLimbs);
  bool rest = internal::divide(value.data(), kLimbs, static_cast<uint64_t>(n)) != 0;
  rest = internal::divide(value.data(), kLimbs, static_cast<uint64_t>(n)) != 0 || rest;
  return internal::round_to_f32(value.data(), kLimbs, ExactAccumulator::kUnitExponent, rest, false);
}

double sum_ordered_f64(const double* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i += kChunk) {
    double chunk = 0;
    for (int64_t j = i; j < std::min(n, i + kChunk); ++j) chunk += x[j];
    total += chunk;
  }
  return canonical(total);
}

double sum_ordered_f64(std::span<const StridedSegmentF64> segments) {
  return ordered_sum(segments, [](double x) { return x; });
}

double sum_of_squares_ordered_f64(const double* x, int64_t n) {
  const StridedSegmentF64 s{x, n, 1};
  return sum_of_squares_ordered_f64({&s, 1});
}

double sum_of_squares_ordered_f64(std::span<const StridedSegmentF64> segments) {
  return ordered_sum(segments, [](double v) { return v * v; });
}

}  // namespace isobit::numerics
