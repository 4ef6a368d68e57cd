// Whether the filter's bounds hold: |x - exact sum| <= d for every output, with the largest ratio that was seen.
#pragma once

#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "isobit/kernels/correct/instruments.h"
#include "isobit/kernels/correct/oracle_for_test.h"

namespace isobit::kernels::correct::testing {

// The largest of many threads.
class Largest {
 public:
  void see(double x) {
    double old = value_.load(std::memory_order_relaxed);
    while (!(x <= old) && !value_.compare_exchange_weak(old, x, std::memory_order_relaxed)) {
    }
  }
  double value() const { return value_.load(); }

 private:
  std::atomic<double> value_{0};
};

// error / d, infinity where an error meets no bound.
inline double share_of_bound(double error, double d) {
  if (error == 0) return 0;
  return d > 0 ? error / d : std::numeric_limits<double>::infinity();
}

// Against MPFR. The exact sum as high + low is off by at most 2^-106 of it, and d is never below 2^-53 of it.
class BoundCheck final : public BoundObserver {
 public:
  explicit BoundCheck(const MatmulArgs<float>& p) : n_(p.n) {
    MpfrSum sum;
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        add_terms(p, i, j, sum);
        sums_.push_back(sum.high_low());
      }
    }
  }
  void on_bound(int64_t i, int64_t j, double x, double d) override {
    const Doubled& z = sums_[static_cast<size_t>(i * n_ + j)];
    if (!std::isfinite(z.high) || !std::isfinite(d)) return;
    largest_.see(share_of_bound(std::fabs((x - z.high) - z.low), d));
    ++seen_;
  }
  double largest() const { return largest_.value(); }
  int64_t seen() const { return seen_; }

 private:
  int64_t n_;
  std::vector<Doubled> sums_;
  Largest largest_;
  std::atomic<int64_t> seen_{0};
};

}  // namespace isobit::kernels::correct::testing
