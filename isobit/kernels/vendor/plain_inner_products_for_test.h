// What the test of vendors' inner products needs: a product that can be watched and made to refuse, random shapes and
// strides, and the ordered float64 kernels as oracle together with the error bound that they and a result must keep.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/kernels/product/plain_inner_products.h"
#include "isobit/kernels/testing.h"
#include "isobit/kernels/vendor/vendor.h"

namespace isobit::kernels::testing {

struct Call {
  bool transpose_a, transpose_b;
  int64_t m, n, k;
  const void *a, *b, *c;
};

// Hands every product on to a library, or computes it by a plain loop if there is none; notes what it was asked.
class Watched final : public VendorProduct {
 public:
  explicit Watched(VendorProduct* library, std::vector<Call>* calls = nullptr, int64_t largest = INT32_MAX)
      : VendorProduct(library ? library->record() : VendorRecord{"loop", "1", "", 1, "/"}),
        library_(library),
        calls_(calls),
        largest_(largest) {}
  bool has_f32() const override { return library_ == nullptr || library_->has_f32(); }
  bool has_f64() const override { return library_ == nullptr || library_->has_f64(); }

 private:
  void product(const GemmArgs<float>& args) override {
    note(args);
    library_ ? ISOBIT_CHECK(library_->multiply(args)) : loop(args);
  }
  void product(const GemmArgs<double>& args) override {
    note(args);
    library_ ? ISOBIT_CHECK(library_->multiply(args)) : loop(args);
  }
  int64_t largest_size() const override { return largest_; }

  template <class T>
  void note(const GemmArgs<T>& g) {
    if (calls_) calls_->push_back({g.transpose_a, g.transpose_b, g.m, g.n, g.k, g.a, g.b, g.c});
  }
  template <class T>
  static void loop(const GemmArgs<T>& g) {
    for (int64_t i = 0; i < g.m; ++i) {
      for (int64_t j = 0; j < g.n; ++j) {
        T sum = 0;
        for (int64_t l = 0; l < g.k; ++l) {
          sum += (g.transpose_a ? g.a[l * g.lda + i] : g.a[i * g.lda + l]) *
                 (g.transpose_b ? g.b[j * g.ldb + l] : g.b[l * g.ldb + j]);
        }
        g.c[i * g.ldc + j] = sum;
      }
    }
  }

  VendorProduct* library_;
  std::vector<Call>* calls_;
  int64_t largest_;
};

template <class T>
std::vector<double> widened(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}
inline std::vector<double> magnitudes(std::vector<double> x) {
  for (double& v : x) v = std::fabs(v);
  return x;
}

// "" or the first element that is further from the oracle than gamma_(k+2) times its sum of magnitudes (once for the
// result, once for the oracle, which is float64); `exact`: that is not equal to it.
template <class T>
std::string compare(const std::string& what, const std::vector<T>& found, const std::vector<double>& expected,
                    const std::vector<double>& magnitude, int64_t k, bool exact) {
  if (found.size() != expected.size()) return what + ": sizes differ";
  const auto gamma = [k](double u) { return static_cast<double>(k + 2) * u / (1 - static_cast<double>(k + 2) * u); };
  const double both = gamma(static_cast<double>(std::numeric_limits<T>::epsilon()) / 2) + gamma(0x1p-53);
  for (size_t i = 0; i < found.size(); ++i) {
    const double distance = std::fabs(static_cast<double>(found[i]) - expected[i]);
    if (distance <= (exact ? 0 : both * magnitude[i])) continue;
    return text_of(what, " of ", sizeof(T) * 8, " bit: element ", i, " of ", found.size(), " is ", found[i],
                   ", expected ", expected[i], " +- ", both * magnitude[i]);
  }
  return "";
}

// "" or the first element that is not of the oracle's kind: finite, +infinity, -infinity or NaN.
template <class T>
std::string compare_kinds(const std::string& what, const std::vector<T>& found, const std::vector<double>& expected) {
  if (found.size() != expected.size()) return what + ": sizes differ";
  const auto kind = [](double x) { return std::isnan(x) ? 2 : std::isfinite(x) ? 0 : x < 0 ? -1 : 1; };
  for (size_t i = 0; i < found.size(); ++i) {
    if (kind(static_cast<double>(found[i])) == kind(expected[i])) continue;
    return text_of(what, " of ", sizeof(T) * 8, " bit: element ", i, " of ", found.size(), " is ", found[i],
                   ", expected ", expected[i], "; ");
  }
  return "";
}

inline ThreadPool& pool_of(int threads) {
  static ThreadPool pools[] = {ThreadPool(1), ThreadPool(2), ThreadPool(3)};
  return pools[threads - 1];
}
inline KernelContext kernel(int threads = 1) { return {best_isa(), &pool_of(threads)}; }

template <class T>
std::vector<T> values(int64_t count, bool integers, uint64_t seed) {
  const auto n = static_cast<size_t>(count);
  if (!integers) return random_values<T>(n, Values::kUnit, seed);
  std::mt19937_64 random(seed);
  std::vector<T> v(n);
  for (T& x : v) x = static_cast<T>(static_cast<int>(random() % 17) - 8);
  return v;
}

// ---- matmul

// An operand anywhere in memory: `first` is the place of its element (0, 0) of matrix 0.
struct Strided {
  int64_t rows, columns, batch, row_stride, column_stride, batch_stride;

  int64_t first() const {
    return -(std::min<int64_t>(0, row_stride * (rows - 1)) + std::min<int64_t>(0, column_stride * (columns - 1)) +
             std::min<int64_t>(0, batch_stride * (batch - 1)));
  }
  int64_t size() const {
    if (rows == 0 || columns == 0 || batch == 0) return 1;
    const auto span = [](int64_t count, int64_t stride) { return (count - 1) * std::abs(stride); };
    return 1 + span(rows, row_stride) + span(columns, column_stride) + span(batch, batch_stride);
  }
};

// From the whole range in every case, not only in the last ones.
inline int64_t draw(int64_t least, int64_t most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<int64_t>(least, most + 1));
}

inline Strided draw_operand(int64_t rows, int64_t columns, int64_t batch) {
  Strided s{rows, columns, batch, columns, 1, rows * columns};
  switch (draw(0, 7)) {
    case 0:
      break;
    case 1:
      s.row_stride = columns + draw(1, 5), s.batch_stride = rows * s.row_stride + draw(0, 3);
      break;
    case 2:
      s.row_stride = 1, s.column_stride = rows;
      break;
    case 3:
      s.row_stride = 1, s.column_stride = rows + draw(1, 5), s.batch_stride = draw(0, 1) * 1000;
      break;
    case 4:
      s.column_stride = draw(2, 3), s.row_stride = columns * s.column_stride, s.batch_stride *= 4;
      break;
    case 5:  // rows that overlap
      s.row_stride = draw(0, columns);
      break;
    default:  // any, down to a single element read everywhere
      s.row_stride = draw(-4, 9), s.column_stride = draw(-4, 9), s.batch_stride = draw(-50, 50);
  }
  return s;
}

template <class T>
struct Matmul {
  MatmulArgs<T> shape;  // without pointers
  Strided a, b;
  bool with_bias, integers;

  template <class U>
  MatmulArgs<U> args(const std::vector<U>& left, const std::vector<U>& right, const std::vector<U>& bias,
                     std::vector<U>& c) const {
    MatmulArgs<U> p;
    p.m = shape.m, p.n = shape.n, p.k = shape.k, p.batch = shape.batch;
    p.a = left.data() + a.first(), p.b = right.data() + b.first();
    p.a_row_stride = a.row_stride, p.a_col_stride = a.column_stride, p.a_batch_stride = a.batch_stride;
    p.b_row_stride = b.row_stride, p.b_col_stride = b.column_stride, p.b_batch_stride = b.batch_stride;
    p.c_row_stride = shape.c_row_stride, p.c_batch_stride = shape.c_batch_stride;
    c.assign(static_cast<size_t>(shape.batch * shape.c_batch_stride + 1), U{1234567});  // gaps keep it
    p.c = c.data();
    p.bias = with_bias ? bias.data() : nullptr;
    return p;
  }

  std::string check(PlainInnerProducts<T>& tested) const {
    const auto left = values<T>(a.size(), integers, 1), right = values<T>(b.size(), integers, 2),
               bias = values<T>(shape.n + 1, integers, 3);
    std::vector<T> c;
    std::vector<double> expected, magnitude;
    tested.matmul(args(left, right, bias, c));
    const auto l = widened(left), r = widened(right), s = widened(bias);
    const auto la = magnitudes(l), ra = magnitudes(r), sa = magnitudes(s);
    matmul(kernel(), args(l, r, s, expected));
    matmul(kernel(), args(la, ra, sa, magnitude));
    for (size_t i = 0; i < magnitude.size(); ++i) magnitude[i] *= expected[i] != 1234567;
    return compare("matmul", c, expected, magnitude, shape.k, integers);
  }
};

template <class T>
Matmul<T> draw_matmul() {
  Matmul<T> x;
  MatmulArgs<T>& p = x.shape;
  p.m = draw(0, 12), p.n = draw(0, 12), p.k = draw(0, 40), p.batch = draw(0, 3);
  p.c_row_stride = p.n + draw(0, 1) * 3;
  p.c_batch_stride = p.m * p.c_row_stride + draw(0, 1) * 7;
  x.a = draw_operand(p.m, p.k, p.batch), x.b = draw_operand(p.k, p.n, p.batch);
  if (draw(0, 2) == 0) x.b.batch_stride = 0;  // shared
  x.with_bias = draw(0, 1) == 1, x.integers = draw(0, 1) == 1;
  return x;
}

// ---- convolution

inline ConvShape draw_conv() {
  ConvShape s;
  s.groups = draw(1, 3);
  s.n = draw(0, 5), s.ic = s.groups * draw(1, 4), s.oc = s.groups * draw(1, 4);
  s.kh = draw(1, 4), s.kw = draw(1, 4);
  s.stride_h = draw(1, 3), s.stride_w = draw(1, 3), s.dilation_h = draw(1, 2), s.dilation_w = draw(1, 2);
  s.pad_top = draw(0, 2), s.pad_left = draw(0, 2), s.pad_bottom = draw(0, 2), s.pad_right = draw(0, 2);
  s.ih = std::max(draw(1, 9), s.dilation_h * (s.kh - 1) + 1 - s.pad_top - s.pad_bottom);
  s.iw = std::max(draw(1, 9), s.dilation_w * (s.kw - 1) + 1 - s.pad_left - s.pad_right);
  if (draw(0, 4) == 0) {  // pointwise
    s.kh = s.kw = s.stride_h = s.stride_w = 1;
    s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = 0;
  }
  return s;
}

// The three passes; results in the place of what they belong to.
template <class T>
struct Conv {
  ConvShape s;
  std::vector<T> src, weights, bias, dst;

  Conv(const ConvShape& shape, bool integers)
      : s(shape),
        src(values<T>(s.n * s.ic * s.ih * s.iw, integers, 1)),
        weights(values<T>(s.oc * (s.ic / s.groups) * s.kh * s.kw, integers, 2)),
        bias(values<T>(s.oc, integers, 3)),
        dst(values<T>(s.n * s.oc * s.oh() * s.ow(), integers, 4)) {}

  struct Results {
    std::vector<T> forward, with_bias, grad_src, grad_weights;
    bool operator==(const Results&) const = default;
  };
  Results run(InnerProducts<T>& tested) const {
    Results r{dst, dst, src, weights};
    for (auto* v : {&r.forward, &r.with_bias, &r.grad_src, &r.grad_weights}) std::fill(v->begin(), v->end(), T(NAN));
    tested.conv_forward(s, src.data(), weights.data(), nullptr, r.forward.data());
    tested.conv_forward(s, src.data(), weights.data(), bias.data(), r.with_bias.data());
    tested.conv_grad_src(s, dst.data(), weights.data(), r.grad_src.data());
    tested.conv_grad_weights(s, src.data(), dst.data(), r.grad_weights.data());
    return r;
  }
};

// The ordered float64 kernels as inner products.
class OrderedF64 final : public InnerProducts<double> {
 public:
  Status matmul(const MatmulArgs<double>& args) override {
    kernels::matmul(kernel(), args);
    return {};
  }
  Status conv_forward(const ConvShape& s, const double* src, const double* w, const double* bias,
                      double* dst) override {
    kernels::conv_forward(kernel(), s, src, w, bias, dst);
    return {};
  }
  Status conv_grad_src(const ConvShape& s, const double* dst, const double* w, double* src) override {
    kernels::conv_grad_src(kernel(), s, dst, w, src);
    return {};
  }
  Status conv_grad_weights(const ConvShape& s, const double* src, const double* dst, double* w) override {
    kernels::conv_grad_weights(kernel(), s, src, dst, w);
    return {};
  }
};

template <class T>
std::string check_conv(PlainInnerProducts<T>& tested, const ConvShape& s, bool integers) {
  const Conv<T> x(s, integers);
  Conv<double> wide(s, integers), sizes(s, integers);
  wide.src = widened(x.src), wide.weights = widened(x.weights);
  wide.bias = widened(x.bias), wide.dst = widened(x.dst);
  sizes.src = magnitudes(wide.src), sizes.weights = magnitudes(wide.weights);
  sizes.bias = magnitudes(wide.bias), sizes.dst = magnitudes(wide.dst);
  OrderedF64 ordered;
  const auto found = x.run(tested);
  const auto expected = wide.run(ordered), magnitude = sizes.run(ordered);
  const int64_t taps = s.kh * s.kw, in = s.ic / s.groups * taps, out = s.oc / s.groups * taps;
  std::string wrong = compare("forward", found.forward, expected.forward, magnitude.forward, in, integers);
  wrong += compare("with bias", found.with_bias, expected.with_bias, magnitude.with_bias, in, integers);
  wrong += compare("grad_src", found.grad_src, expected.grad_src, magnitude.grad_src, out, integers);
  wrong += compare("grad_weights", found.grad_weights, expected.grad_weights, magnitude.grad_weights,
                   s.n * s.oh() * s.ow(), integers);
  return wrong;
}

inline ConvShape conv_shape(int64_t n, int64_t ic, int64_t image, int64_t oc, int64_t kernel_size, int64_t stride,
                            int64_t pad) {
  ConvShape s;
  s.n = n, s.ic = ic, s.oc = oc, s.ih = s.iw = image, s.kh = s.kw = kernel_size, s.stride_h = s.stride_w = stride;
  s.pad_top = s.pad_left = s.pad_bottom = s.pad_right = pad;
  return s;
}

}  // namespace isobit::kernels::testing
