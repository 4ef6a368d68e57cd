// What the tests of `correct-1` judge by: MPFR, different but legal float64 products, and inner products built so that
// their exact value is (nearly) a tie.
#pragma once

#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "isobit/kernels/correct/table.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/product/matrix_product.h"

namespace isobit::kernels::correct::testing {

// The exact sum of float32 values and products in MPFR, rounded once by MPFR.
class MpfrSum {
 public:
  MpfrSum() {
    mpfr_init2(sum_, 768);  // 2^-298 .. 2^288
    mpfr_init2(a_, 24);
    mpfr_init2(b_, 24);
    mpfr_init2(product_, 48);
    mpfr_set_zero(sum_, 1);
  }
  ~MpfrSum() { mpfr_clears(sum_, a_, b_, product_, static_cast<mpfr_ptr>(nullptr)); }
  MpfrSum(const MpfrSum&) = delete;
  MpfrSum& operator=(const MpfrSum&) = delete;

  void clear() { mpfr_set_zero(sum_, 1); }
  void add_product(float a, float b) {
    mpfr_set_flt(a_, a, MPFR_RNDN);
    mpfr_set_flt(b_, b, MPFR_RNDN);
    exact_ = exact_ && mpfr_mul(product_, a_, b_, MPFR_RNDN) == 0 && mpfr_add(sum_, sum_, product_, MPFR_RNDN) == 0;
  }
  void add(float a) { add_product(a, 1.0f); }
  // Whether nothing has ever been rounded.
  bool exact() const { return exact_; }
  // NaN or an infinity in `high` if that is what the sum is.
  Doubled high_low() {
    const double high = mpfr_get_d(sum_, MPFR_RNDN);
    mpfr_sub_d(sum_, sum_, high, MPFR_RNDN);
    return {high, mpfr_get_d(sum_, MPFR_RNDN)};
  }
  float rounded() const {
    if (mpfr_nan_p(sum_)) return __builtin_bit_cast(float, 0x7fc00000u);
    if (mpfr_zero_p(sum_)) return 0.0f;
    return mpfr_get_flt(sum_, MPFR_RNDN);
  }

 private:
  mpfr_t sum_, a_, b_, product_;
  bool exact_ = true;
};

// Output (i, j) of a product.
inline void add_terms(const MatmulArgs<float>& p, int64_t i, int64_t j, MpfrSum& sum) {
  sum.clear();
  for (int64_t l = 0; l < p.k; ++l) {
    sum.add_product(p.a[i * p.a_row_stride + l * p.a_col_stride], p.b[l * p.b_row_stride + j * p.b_col_stride]);
  }
  if (p.bias != nullptr) sum.add(p.bias[j]);
}

inline std::vector<float> mpfr_matmul(const MatmulArgs<float>& p) {
  std::vector<float> c;
  MpfrSum sum;
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      add_terms(p, i, j, sum);
      c.push_back(sum.rounded());
    }
  }
  if (!sum.exact()) c.assign(c.size(), std::nanf("0x77"));  // a fault of the oracle: fails every comparison
  return c;
}

// A legal float64 product with an order of its own: terms permuted, then added into a random number of partial sums.
class ShuffledProduct final : public MatrixProduct {
 public:
  explicit ShuffledProduct(uint64_t seed) : random_(seed) {}
  std::string name() const override { return "shuffled"; }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    const auto& [ta, tb, m, n, k, a, lda, b, ldb, c, ldc] = g;
    std::vector<int64_t> order(static_cast<size_t>(k));
    for (size_t l = 0; l < order.size(); ++l) order[l] = static_cast<int64_t>(l);
    std::shuffle(order.begin(), order.end(), random_);
    const size_t parts = 1 + random_() % 7;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sums[8] = {};
        for (size_t q = 0; q < order.size(); ++q) {
          const int64_t l = order[q];
          sums[q % parts] += (ta ? a[l * lda + i] : a[i * lda + l]) * (tb ? b[j * ldb + l] : b[l * ldb + j]);
        }
        double sum = sums[parts - 1];
        for (size_t q = parts - 1; q-- > 0;) sum += sums[q];
        c[i * ldc + j] = sum;
      }
    }
  }

 private:
  std::mt19937_64 random_;
};

// Last term first, with fma; skips terms whose left factor is zero, as some libraries do (0 * Inf is then lost).
class BackwardProduct final : public MatrixProduct {
 public:
  std::string name() const override { return "backward"; }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    const auto& [ta, tb, m, n, k, a, lda, b, ldb, c, ldc] = g;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = -0.0;
        for (int64_t l = k; l-- > 0;) {
          const double left = ta ? a[l * lda + i] : a[i * lda + l];
          if (left != 0) sum = std::fma(left, tb ? b[j * ldb + l] : b[l * ldb + j], sum);
        }
        c[i * ldc + j] = sum;
      }
    }
  }
};

// The largest e such that x, finite and not zero, is an integer multiple of 2^e.
inline int lowest_bit(double x) {
  const int exponent = std::ilogb(x);
  return exponent - 52 + std::countr_zero(static_cast<uint64_t>(std::fabs(std::ldexp(x, 52 - exponent))));
}

// As wrong as a legal product may be, in a random direction: the sum is computed in doubled precision and then
// displaced by `share` of gamma_(t-1) times the sum of magnitudes, t the number of nonzero terms. A product can be no
// further off, since only additions of two nonzero numbers round; and it is not off at all where every partial sum fits
// in float64. With share <= 1 no result may change; well above 1 one must.
class WorstProduct final : public MatrixProduct {
 public:
  explicit WorstProduct(double share) : share_(share) {}
  std::string name() const override { return "worst"; }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    const auto& [ta, tb, m, n, k, a, lda, b, ldb, c, ldc] = g;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, rest = 0, magnitude = 0;
        int64_t terms = 0;
        int grid = 10000;
        for (int64_t l = 0; l < k; ++l) {
          const double term = (ta ? a[l * lda + i] : a[i * lda + l]) * (tb ? b[j * ldb + l] : b[l * ldb + j]);
          const double next = sum + term, z = next - sum;
          rest += (sum - (next - z)) + (term - z);
          sum = next;
          magnitude += std::fabs(term);
          if (term == 0) continue;
          ++terms;
          if (std::isfinite(term)) grid = std::min(grid, lowest_bit(term));
        }
        const bool exact = terms <= 2 || magnitude <= std::ldexp(1.0, grid + 53);
        const double most = exact ? 0 : share_ * static_cast<double>(terms - 1) * 0x1p-53 * magnitude;
        c[i * ldc + j] = sum + (rest + (random_() % 2 ? most : -most));
      }
    }
  }

 private:
  double share_;
  std::mt19937_64 random_{7};
};

struct NamedProduct {
  std::string name;
  std::unique_ptr<MatrixProduct> product;
};

// Every product this build and machine have.
inline std::vector<NamedProduct> all_products(ThreadPool* pool) {
  std::vector<NamedProduct> all;
  for (Isa isa : available_isas()) {
    all.push_back({std::string("ordered ") + name_of(isa), std::make_unique<OrderedProduct>(KernelContext{isa, pool})});
  }
  all.push_back({"shuffled", std::make_unique<ShuffledProduct>(1)});
  all.push_back({"backward", std::make_unique<BackwardProduct>()});
  // Its last addition may round by another u times the result, which is not among the k - 1 of a short sum.
  all.push_back({"worst", std::make_unique<WorstProduct>(1.0)});
  return all;
}

// Rows whose products with the columns are midpoints between float32 numbers, +- 2^-j ulp or exactly.
//
// Columns are one vector of lanes times a power of two. A row puts the midpoint's parts N * ulp, ulp / 2 and the tiny
// rest on lanes of value 1, and on other lanes terms that cancel exactly: x * y against its upper and lower half, and
// pairs x, -x on equal lanes.
struct HardCases {
  int64_t m = 0, n = 0, k = 0;
  std::vector<float> a, b;  // m x k, k x n
  int64_t hard = 0;         // outputs that are hard in the sense above

  MatmulArgs<float> args(std::vector<float>& c) const {
    c.assign(static_cast<size_t>(m * n), NAN);
    MatmulArgs<float> p;
    p.m = m, p.n = n, p.k = k;
    p.a = a.data(), p.a_row_stride = k;
    p.b = b.data(), p.b_row_stride = n;
    p.c = c.data(), p.c_row_stride = n;
    return p;
  }
};

// REQUIRES k >= 6. Sizes of x reach 2^spread times the result.
inline HardCases hard_cases(int64_t m, int64_t k, int spread, uint64_t seed) {
  constexpr int kScales[] = {0, -30, 50, -100, 107};
  std::mt19937_64 random(seed);
  const auto full = [&] { return static_cast<float>(0x800000 + (random() & 0x7fffff)); };  // 24 bits, 2^23 ..
  HardCases h;
  h.m = m, h.n = 5, h.k = k;
  // Lanes in order, then a permutation for where they really are.
  std::vector<int64_t> place(static_cast<size_t>(k));
  for (size_t l = 0; l < place.size(); ++l) place[l] = static_cast<int64_t>(l);
  std::shuffle(place.begin(), place.end(), random);
  std::vector<float> lane(static_cast<size_t>(k), 1.0f);
  lane[5] = std::ldexp(full(), -23);
  for (size_t l = 6; l + 1 < lane.size(); l += 2) lane[l] = lane[l + 1] = std::ldexp(full(), -23);
  h.b.resize(static_cast<size_t>(k * h.n));
  for (size_t l = 0; l < lane.size(); ++l) {
    for (size_t j = 0; j < 5; ++j) h.b[static_cast<size_t>(place[l]) * 5 + j] = std::ldexp(lane[l], kScales[j]);
  }
  h.a.assign(static_cast<size_t>(m * k), 0.0f);
  for (int64_t i = 0; i < m; ++i) {
    const uint64_t kind = random() % 8;  // 0: subnormal result in column 3; 1: the overflow edge in column 4
    const int unit = kind == 0 ? -49 : kind == 1 ? -3 : -static_cast<int>(random() % 30) - 10;
    const uint64_t digits = random();
    const float significand = kind == 0   ? static_cast<float>((0x800000 + (digits & 0x7fffff)) >> (1 + random() % 24))
                              : kind == 1 ? 16777215.0f
                                          : full();
    const int j = 20 + static_cast<int>(random() % 61);
    const float sign = random() % 2 ? -1.0f : 1.0f;
    std::vector<float> row(static_cast<size_t>(k), 0.0f);
    row[0] = std::ldexp(significand, unit);
    row[1] = std::ldexp(1.0f, unit - 1);
    const uint64_t side = random() % 5;  // a fifth exactly the midpoint
    row[2] = side == 0 ? 0.0f : std::ldexp(side % 2 ? 1.0f : -1.0f, unit - j);
    if (random() % 4 != 0) {  // else: nothing cancels
      const int size = spread > 0 ? static_cast<int>(random() % static_cast<uint64_t>(spread)) : 0;
      row[5] = std::ldexp(full(), unit + size);
      const double product = static_cast<double>(row[5]) * static_cast<double>(lane[5]);
      row[3] = -static_cast<float>(product);
      row[4] = -static_cast<float>(product + static_cast<double>(row[3]));
      for (size_t l = 6; l + 1 < row.size(); l += 2) {
        row[l] = std::ldexp(full(), unit + (size > 0 ? static_cast<int>(random() % static_cast<uint64_t>(size)) : 0));
        row[l + 1] = -row[l];
      }
    }
    for (size_t l = 0; l < row.size(); ++l) h.a[static_cast<size_t>(i * k + place[l])] = sign * row[l];
    h.hard += kind < 2 ? 1 : 3;
  }
  return h;
}

}  // namespace isobit::kernels::correct::testing
