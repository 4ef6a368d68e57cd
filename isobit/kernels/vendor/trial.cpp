#include "isobit/kernels/vendor/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isobit/base/text.h"
#include "isobit/commit/hash.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels::vendor {
namespace {

Status gemm(MatrixProduct& product, const GemmArgs<float>& args) { return product.gemm_f32(args); }
Status gemm(MatrixProduct& product, const GemmArgs<double>& args) { return product.gemm_f64(args); }

// Signs, significands and exponents (from 2^-range to 2^range) all random: a narrow range would let many orders of
// adding agree by accident. The same numbers on every machine.
template <class T>
std::vector<T> wide_numbers(int64_t n, uint64_t seed, int range) {
  std::vector<T> v(static_cast<size_t>(n));
  uint64_t state = seed * 2 + 1;
  const auto next = [&state] { return (state = state * 6364136223846793005u + 1442695040888963407u) >> 11; };
  constexpr int kBits = std::numeric_limits<T>::digits;
  for (T& x : v) {
    const auto significand = static_cast<T>((next() >> (53 - kBits)) | (uint64_t{1} << (kBits - 1)));
    const uint64_t rest = next() >> 20;
    const int exponent = static_cast<int>(rest / 2 % static_cast<uint64_t>(2 * range + 1)) - range;
    x = std::ldexp(rest % 2 ? -significand : significand, exponent + 1 - kBits);
  }
  return v;
}

// A sum of products in twice the precision (Ogita, Rump and Oishi 2005, Dot2) and the sum of the magnitudes.
struct Doubled {
  double sum = 0, rest = 0, magnitude = 0;
  void add(double a, double b) {
    const double p = a * b, p_rest = std::fma(a, b, -p);
    const double s = sum + p, t = s - sum;
    rest += (sum - (s - t)) + (p - t) + p_rest;
    sum = s;
    magnitude += std::fabs(p);
  }
};

// The largest error of c in units of gamma_k times the sum of magnitudes.
template <class T>
double largest_error(const GemmArgs<T>& args) {
  const double u = std::numeric_limits<T>::epsilon() / 2, terms = static_cast<double>(args.k);
  const double gamma = terms * u / (1 - terms * u);
  double largest = 0;
  std::vector<Doubled> row(static_cast<size_t>(args.n));
  for (int64_t i = 0; i < args.m; ++i) {
    std::fill(row.begin(), row.end(), Doubled());
    for (int64_t p = 0; p < args.k; ++p) {
      const double a = args.transpose_a ? args.a[p * args.lda + i] : args.a[i * args.lda + p];
      for (int64_t j = 0; j < args.n; ++j) {
        row[static_cast<size_t>(j)].add(a, args.transpose_b ? args.b[j * args.ldb + p] : args.b[p * args.ldb + j]);
      }
    }
    for (int64_t j = 0; j < args.n; ++j) {
      const Doubled& exact = row[static_cast<size_t>(j)];
      const double error = std::fabs((exact.sum - static_cast<double>(args.c[i * args.ldc + j])) + exact.rest);
      // Written so that a NaN is the largest error of all.
      if (!(error <= largest * gamma * exact.magnitude)) largest = error / (gamma * exact.magnitude);
      if (!(error >= 0)) return std::numeric_limits<double>::infinity();
    }
  }
  return largest;
}

tl::unexpected<Error> not_classical(const MatrixProduct& product, const char* type, double error) {
  return unavailable(text_of(product.record().text(), " ", type, ": a result is ", error,
                             " times the error bound of a classical sum away from the exact one"));
}

// The lower half of the rows of op(a) times 2^-30: an algorithm that mixes rows, as Strassen's does, carries the errors
// of the large ones into the results of the small ones.
template <class T>
void shrink_lower_rows(const GemmArgs<T>& args, std::vector<T>& a) {
  for (int64_t i = args.m / 2; i < args.m; ++i) {
    for (int64_t p = 0; p < args.k; ++p) {
      a[static_cast<size_t>(args.transpose_a ? p * args.lda + i : i * args.lda + p)] *= std::ldexp(T{1}, -30);
    }
  }
}

template <class T>
Status try_shapes(MatrixProduct& product, const char* type) {
  constexpr int64_t m = 37, n = 41, k = 67, pad = 3;
  for (int variant = 0; variant < 4; ++variant) {
    GemmArgs<T> args = {.transpose_a = (variant & 1) != 0, .transpose_b = (variant & 2) != 0, .m = m, .n = n, .k = k};
    args.lda = (args.transpose_a ? m : k) + pad;
    args.ldb = (args.transpose_b ? k : n) + pad;
    args.ldc = n + pad;
    auto a = wide_numbers<T>((args.transpose_a ? k : m) * args.lda, 1, 8);
    shrink_lower_rows(args, a);
    const auto b = wide_numbers<T>((args.transpose_b ? n : k) * args.ldb, 2, 8);
    std::vector<T> c(static_cast<size_t>(m * args.ldc), std::numeric_limits<T>::quiet_NaN());
    args.a = a.data(), args.b = b.data(), args.c = c.data();
    ISOBIT_RETURN_IF_ERROR(gemm(product, args));
    const double error = largest_error(args);
    if (error > 1) return not_classical(product, type, error);
    for (int64_t i = 0; i < m; ++i) {
      if (!numerics::is_nan(c[static_cast<size_t>(i * args.ldc + n)])) {
        return unavailable(text_of(product.record().text(), " ", type, ": wrote outside its result"));
      }
    }
  }
  return {};
}

// Every result is the sum of a subnormal operand times one and a product that is subnormal itself: flush to zero on
// any thread, of operands or of results, shows. Large enough that libraries use all their threads.
template <class T>
Status try_subnormals(MatrixProduct& product, const char* type) {
  constexpr int64_t size = 256, k = 8;
  constexpr int lowest = std::numeric_limits<T>::min_exponent - 1;
  const T tiny = std::ldexp(T{1}, lowest - 9);
  std::vector<T> a(size * k), b(k * size), c(size * size);
  for (int64_t i = 0; i < size; ++i) {
    a[static_cast<size_t>(i * k)] = tiny;
    a[static_cast<size_t>(i * k + k - 1)] = std::ldexp(T{1}, lowest + 20);
    b[static_cast<size_t>(i)] = 1;
    b[static_cast<size_t>((k - 1) * size + i)] = std::ldexp(T{1}, -29);
  }
  const GemmArgs<T> args = {
      .m = size, .n = size, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = size, .c = c.data(), .ldc = size};
  ISOBIT_RETURN_IF_ERROR(gemm(product, args));
  for (const T x : c) {
    if (x != 2 * tiny) {
      return unavailable(text_of(product.record().text(), " ", type, ": a subnormal sum is ", x, ", expected ",
                                 2 * tiny, "; the library flushes to zero"));
    }
  }
  return {};
}

struct Print {
  std::string digest;
  double error = 0;
};

template <class T>
Expected<Print> print_of(MatrixProduct& product, const char* type) {
  constexpr int64_t size = 257;
  const auto a = wide_numbers<T>(size * size, 3, 12), b = wide_numbers<T>(size * size, 4, 12);
  std::vector<T> c(size * size);
  const GemmArgs<T> args = {.m = size,
                            .n = size,
                            .k = size,
                            .a = a.data(),
                            .lda = size,
                            .b = b.data(),
                            .ldb = size,
                            .c = c.data(),
                            .ldc = size};
  ISOBIT_RETURN_IF_ERROR(gemm(product, args));
  const double error = largest_error(args);
  if (error > 1) return not_classical(product, type, error);
  const ByteView bytes = {reinterpret_cast<const uint8_t*>(c.data()), c.size() * sizeof(T)};
  return Print{commit::hex_of(commit::sha256(bytes)), error};
}

}  // namespace

Status try_products(MatrixProduct& product) {
  ISOBIT_RETURN_IF_ERROR(try_shapes<float>(product, "float32"));
  ISOBIT_RETURN_IF_ERROR(try_subnormals<float>(product, "float32"));
  if (!product.has_f64()) return {};
  ISOBIT_RETURN_IF_ERROR(try_shapes<double>(product, "float64"));
  return try_subnormals<double>(product, "float64");
}

Expected<VendorProbe> fingerprint(MatrixProduct& product) {
  ISOBIT_TRY(const Print f32, print_of<float>(product, "float32"));
  Print f64;
  if (product.has_f64()) {
    ISOBIT_TRY(f64, print_of<double>(product, "float64"));
  }
  return VendorProbe{product.record(), f32.digest, f64.digest, f32.error, f64.error};
}

Bytes encode(const VendorProbe& probe) {
  ByteWriter out;
  for (const std::string* text : {&probe.record.library, &probe.record.version, &probe.record.core, &probe.record.path,
                                  &probe.f32_digest, &probe.f64_digest}) {
    out.text(*text);
  }
  out.i64(probe.record.threads);
  out.f64(probe.f32_error);
  out.f64(probe.f64_error);
  return out.take();
}

Expected<VendorProbe> decode(ByteView bytes) {
  ByteReader in(bytes, "vendor probe");
  VendorProbe probe;
  for (std::string* text : {&probe.record.library, &probe.record.version, &probe.record.core, &probe.record.path,
                            &probe.f32_digest, &probe.f64_digest}) {
    ISOBIT_TRY(*text, in.text("text", 1 << 16));
  }
  ISOBIT_TRY(const int64_t threads, in.i64("threads"));
  probe.record.threads = static_cast<int>(threads);
  ISOBIT_TRY(probe.f32_error, in.f64("f32_error"));
  ISOBIT_TRY(probe.f64_error, in.f64("f64_error"));
  ISOBIT_RETURN_IF_ERROR(in.finish());
  return probe;
}

}  // namespace isobit::kernels::vendor
