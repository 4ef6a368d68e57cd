// Float64 products that `correct-1` does not stand on, as libraries might have them: fast algorithms and emulations.
// Each is accurate by the measure of its own kind; none is a sum of products in any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "isobit/kernels/product/matrix_product.h"

namespace isobit::kernels::correct::testing {

// A dense row-major matrix of its own.
struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<double> x;

  Dense(int64_t r, int64_t c) : rows(r), columns(c), x(static_cast<size_t>(r * c)) {}
  double& at(int64_t i, int64_t j) { return x[static_cast<size_t>(i * columns + j)]; }
  double at(int64_t i, int64_t j) const { return x[static_cast<size_t>(i * columns + j)]; }

  static Dense of(bool transposed, int64_t rows, int64_t columns, const double* data, int64_t ld) {
    Dense d(rows, columns);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) d.at(i, j) = transposed ? data[j * ld + i] : data[i * ld + j];
    }
    return d;
  }
  // Rows [i, i + r), columns [j, j + c); zeros where there are none.
  Dense block(int64_t i, int64_t r, int64_t j, int64_t c) const {
    Dense d(r, c);
    const int64_t width = std::clamp<int64_t>(columns - j, 0, c);
    for (int64_t q = 0; q < r && i + q < rows; ++q) {
      std::copy_n(x.data() + (i + q) * columns + j, width, d.x.data() + q * c);
    }
    return d;
  }
};

inline Dense plus(Dense a, const Dense& b, double sign = 1) {
  for (size_t q = 0; q < a.x.size(); ++q) a.x[q] += sign * b.x[q];
  return a;
}

inline Dense times(MatrixProduct& product, const Dense& a, const Dense& b) {
  Dense c(a.rows, b.columns);
  ISOBIT_CHECK(product.multiply(GemmArgs<double>{false, false, a.rows, b.columns, a.columns, a.x.data(), a.columns,
                                                 b.x.data(), b.columns, c.x.data(), b.columns}));
  return c;
}

// V. Strassen, Gaussian elimination is not optimal, Numerische Mathematik 13, 1969: seven products of halves for eight,
// as long as every dimension is above the cutoff; odd dimensions are padded with zeros.
class StrassenProduct final : public MatrixProduct {
 public:
  StrassenProduct(const KernelContext& kernel, int64_t cutoff) : base_(kernel), cutoff_(cutoff) {}
  std::string name() const override { return "strassen@" + std::to_string(cutoff_); }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    const auto& [ta, tb, m, n, k, a, lda, b, ldb, c, ldc] = g;
    if (std::min({m, n, k}) <= cutoff_) {
      ISOBIT_CHECK(base_.multiply(g));
      return;
    }
    const Dense result = multiply(Dense::of(ta, m, k, a, lda), Dense::of(tb, k, n, b, ldb));
    for (int64_t i = 0; i < m; ++i) std::copy_n(result.x.data() + i * n, n, c + i * ldc);
  }

 private:
  Dense multiply(const Dense& a, const Dense& b) {
    if (std::min({a.rows, a.columns, b.columns}) <= cutoff_) return times(base_, a, b);
    const int64_t m = (a.rows + 1) / 2, k = (a.columns + 1) / 2, n = (b.columns + 1) / 2;
    const Dense a11 = a.block(0, m, 0, k), a12 = a.block(0, m, k, k), a21 = a.block(m, m, 0, k),
                a22 = a.block(m, m, k, k);
    const Dense b11 = b.block(0, k, 0, n), b12 = b.block(0, k, n, n), b21 = b.block(k, k, 0, n),
                b22 = b.block(k, k, n, n);
    const Dense p1 = multiply(plus(a11, a22), plus(b11, b22)), p2 = multiply(plus(a21, a22), b11),
                p3 = multiply(a11, plus(b12, b22, -1)), p4 = multiply(a22, plus(b21, b11, -1)),
                p5 = multiply(plus(a11, a12), b22), p6 = multiply(plus(a21, a11, -1), plus(b11, b12)),
                p7 = multiply(plus(a12, a22, -1), plus(b21, b22));
    Dense c(a.rows, b.columns);
    put(plus(plus(plus(p1, p4), p5, -1), p7), 0, 0, c);
    put(plus(p3, p5), 0, n, c);
    put(plus(p2, p4), m, 0, c);
    put(plus(plus(plus(p1, p2, -1), p3), p6), m, n, c);
    return c;
  }
  static void put(const Dense& part, int64_t i, int64_t j, Dense& c) {
    for (int64_t q = 0; q < part.rows && i + q < c.rows; ++q) {
      std::copy_n(part.x.data() + q * part.columns, std::min(part.columns, c.columns - j),
                  c.x.data() + (i + q) * c.columns + j);
    }
  }

  OrderedProduct base_;
  int64_t cutoff_;
};

// Fixed point: every element is cut to a multiple of 2^-bits of the largest of its line, or of the whole operand (K.
// Ozaki and others, Error-free transformations of matrix multiplication, Numerical Algorithms 59, 2012, with too few
// slices). Errors are small against the norms of lines, or of operands; not against the terms.
class FixedPointProduct final : public MatrixProduct {
 public:
  FixedPointProduct(const KernelContext& kernel, int bits, bool by_line = true)
      : base_(kernel), bits_(bits), by_line_(by_line) {}
  std::string name() const override { return "fixed@" + std::to_string(bits_); }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    const auto& [ta, tb, m, n, k, a, lda, b, ldb, c, ldc] = g;
    Dense left = Dense::of(ta, m, k, a, lda), right = Dense::of(tb, k, n, b, ldb);
    if (by_line_) {
      for (int64_t i = 0; i < m; ++i) cut(left.x.data() + i * k, k, 1);
      for (int64_t j = 0; j < n; ++j) cut(right.x.data() + j, k, n);
    } else {
      cut(left.x.data(), m * k, 1);
      cut(right.x.data(), k * n, 1);
    }
    ISOBIT_CHECK(base_.multiply(GemmArgs<double>{false, false, m, n, k, left.x.data(), k, right.x.data(), n, c, ldc}));
  }

 private:
  void cut(double* line, int64_t k, int64_t stride) const {
    double largest = 0;
    for (int64_t l = 0; l < k; ++l) largest = std::max(largest, std::fabs(line[l * stride]));
    if (largest == 0 || !std::isfinite(largest)) return;
    const double unit = std::ldexp(1.0, std::ilogb(largest) + 1 - bits_);
    for (int64_t l = 0; l < k; ++l) {
      double& x = line[l * stride];
      if (std::fabs(x) < unit * 0x1p52) x = std::nearbyint(x / unit) * unit;
    }
  }
  OrderedProduct base_;
  int bits_;
  bool by_line_;
};

// Sums held in two float32 numbers, as machines without float64 do it (T. J. Dekker, A floating-point technique for
// extending the available precision, Numerische Mathematik 18, 1971): some 46 bits. REQUIRES operands that are float32
// values.
class FloatFloatProduct final : public MatrixProduct {
 public:
  std::string name() const override { return "floatfloat"; }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    const auto& [ta, tb, m, n, k, a, lda, b, ldb, c, ldc] = g;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        float high = 0, low = 0;
        for (int64_t l = 0; l < k; ++l) {
          const auto x = static_cast<float>(ta ? a[l * lda + i] : a[i * lda + l]);
          const auto y = static_cast<float>(tb ? b[j * ldb + l] : b[l * ldb + j]);
          const float product = x * y, rest = std::fma(x, y, -product);
          const float sum = high + product, z = sum - high;
          const float error = (high - (sum - z)) + (product - z);
          const float tail = error + (low + rest);
          high = sum + tail;
          low = tail - (high - sum);
        }
        c[i * ldc + j] = static_cast<double>(high) + static_cast<double>(low);
      }
    }
  }
};

}  // namespace isobit::kernels::correct::testing
