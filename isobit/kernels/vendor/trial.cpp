#include "isobit/kernels/vendor/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isobit/base/text.h"
#include "isobit/commit/hash.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels::vendor {
namespace {

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
struct CompensatedSum {
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
  std::vector<CompensatedSum> row(static_cast<size_t>(args.n));
  for (int64_t i = 0; i < args.m; ++i) {
    std::fill(row.begin(), row.end(), CompensatedSum());
    for (int64_t p = 0; p < args.k; ++p) {
      const double a = args.transpose_a ? args.a[p * args.lda + i] : args.a[i * args.lda + p];
      for (int64_t j = 0; j < args.n; ++j) {
        row[static_cast<size_t>(j)].add(a, args.transpose_b ? args.b[j * args.ldb + p] : args.b[p * args.ldb + j]);
      }
    }
    for (int64_t j = 0; j < args.n; ++j) {
      const CompensatedSum& exact = row[static_cast<size_t>(j)];
      const double error = std::fabs((exact.sum - static_cast<double>(args.c[i * args.ldc + j])) + exact.rest);
      // Written so that a NaN is the largest error of all.
      if (!(error <= largest * gamma * exact.magnitude)) largest = error / (gamma * exact.magnitude);
      if (!(error >= 0)) return std::numeric_limits<double>::infinity();
    }
  }
  return largest;
}

tl::unexpected<Error> not_classical(const MatrixProduct& product, const char* type, double error) {
  return unavailable(text_of(product.name(), " ", type, ": a result is ", error,
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
    ISOBIT_RETURN_IF_ERROR(product.multiply(args));
    const double error = largest_error(args);
    if (error > 1) return not_classical(product, type, error);
    for (int64_t i = 0; i < m; ++i) {
      if (!numerics::is_nan(c[static_cast<size_t>(i * args.ldc + n)])) {
        return unavailable(text_of(product.name(), " ", type, ": wrote outside its result"));
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
  ISOBIT_RETURN_IF_ERROR(product.multiply(args));
  for (const T x : c) {
    if (x != 2 * tiny) {
      return unavailable(text_of(product.name(), " ", type, ": a subnormal sum is ", x, ", expected ", 2 * tiny,
                                 "; the library flushes to zero"));
    }
  }
  return {};
}

// Every result is the sum of two numbers which ends half way between two neighbours, or goes the other way under
// another rounding mode, on any thread.
template <class T>
Status try_ties(MatrixProduct& product, const char* type) {
  constexpr int64_t size = 256, k = 8;
  const T u = std::numeric_limits<T>::epsilon() / 2;
  const struct {
    T first, second, sum;
  } kCases[] = {{1, u, 1}, {1 + 2 * u, u, 1 + 4 * u}, {1, u * T{1.5}, 1 + 2 * u}, {-1, u * T{-1.5}, -1 - 2 * u}};
  std::vector<T> a(size * k), b(k * size, T{1}), c(size * size);
  for (int64_t i = 0; i < size; ++i) {
    a[static_cast<size_t>(i * k)] = kCases[i % 4].first;
    a[static_cast<size_t>(i * k + k - 1)] = kCases[i % 4].second;
  }
  const GemmArgs<T> args = {
      .m = size, .n = size, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = size, .c = c.data(), .ldc = size};
  ISOBIT_RETURN_IF_ERROR(product.multiply(args));
  for (int64_t q = 0; q < size * size; ++q) {
    const T expected = kCases[q / size % 4].sum, found = c[static_cast<size_t>(q)];
    if (found == expected) continue;
    return unavailable(text_of(product.name(), " ", type,
                               ": a sum that lies half way between two numbers, or "
                               "near it, is ",
                               found, ", expected ", expected, "; the library does not round to nearest"));
  }
  return {};
}

// ---- large products

// The same for every size: mixes the bits of a line's number (SplitMix64 of G. Steele, D. Lea and C. Flood, 2014).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

constexpr int64_t kPart = 32;  // lines

// The exponents of a line are below this one.
int range_of(int64_t line, uint64_t side) {
  return -25 * static_cast<int>(mixed(static_cast<uint64_t>(line) * 2 + side) % 8);
}

// One side of a large product: size lines of size elements.
class LargeOperand {
 public:
  LargeOperand(int64_t size, uint64_t side)
      : size_(size), side_(side), lines_(wide_numbers<double>(size * size, 5 + side, 8)) {
    std::vector<double> terms(static_cast<size_t>(size));
    for (int64_t l = 0; l < size; ++l) {
      const int e = (static_cast<int>(mixed(static_cast<uint64_t>(l) * 2 + 99) % 9) - 4) * 15;
      terms[static_cast<size_t>(l)] = std::ldexp(1.0, side == 0 ? e : -e);
    }
    for (int64_t i = 0; i < size; ++i) {
      double* line = lines_.data() + i * size;
      const double range = std::ldexp(1.0, range_of(i, side));
      for (int64_t l = 0; l < size; ++l) line[l] *= range * terms[static_cast<size_t>(l)];
      const std::vector<int64_t> kept = kept_of(i);
      if (kept.empty()) continue;
      // The first of them is a power of two.
      const double first = std::ldexp(1.0, std::ilogb(line[kept[0]])), last = line[kept.back()];
      std::fill(line, line + size, 0.0);
      line[kept.back()] = last;
      line[kept[0]] = first;
    }
  }
  const double* data() const { return lines_.data(); }
  const double* line(int64_t i) const { return lines_.data() + i * size_; }

  // The elements of line i that are not zero; none for all.
  std::vector<int64_t> kept_of(int64_t i) const {
    const auto first = static_cast<int64_t>(mixed(static_cast<uint64_t>(i) * 2 + side_) % static_cast<uint64_t>(size_));
    if (i % kPart == 0) return {first};
    if (i % kPart == 1) return {first, (first + size_ / 2 + 1) % size_};
    return {};
  }
  // The lines of each part that are looked at: those with few elements, and of the others the one of smallest range.
  std::vector<int64_t> looked_at() const {
    std::vector<int64_t> all;
    for (int64_t part = 0; part < size_; part += kPart) {
      all.insert(all.end(), {part, part + 1});
      int64_t smallest = part + 2;
      for (int64_t i = smallest; i < part + kPart; ++i) {
        if (range_of(i, side_) < range_of(smallest, side_)) smallest = i;
      }
      all.push_back(smallest);
    }
    return all;
  }

 private:
  int64_t size_;
  uint64_t side_;  // 0: rows of a, 1: columns of b
  std::vector<double> lines_;
};

bool is_power_of_two(double x) { return std::ldexp(1.0, std::ilogb(x)) == x; }

// The error of x, the sum over the places `at` of products of two lines, in units of gamma_t times the magnitudes;
// infinite where none is allowed.
double error_of(const double* a, const double* b, const std::vector<int64_t>& at, double x) {
  CompensatedSum exact;
  int64_t terms = 0;
  bool rounds = true;
  for (const int64_t l : at) {
    if (a[l] == 0 || b[l] == 0) continue;
    if (++terms == 1 && at.size() <= 2) rounds = !is_power_of_two(a[l]) && !is_power_of_two(b[l]);
    exact.add(a[l], b[l]);
  }
  const double error = std::fabs((exact.sum - x) + exact.rest);
  if (error == 0) return 0;
  const double tu = terms <= 1 && !rounds ? 0 : static_cast<double>(terms) * 0x1p-53;
  const double share = error / (tu / (1 - tu) * exact.magnitude);
  return share >= 0 ? share : std::numeric_limits<double>::infinity();
}

Status try_large_product(MatrixProduct& product, int64_t size) {
  const LargeOperand a(size, 0), b(size, 1);
  std::vector<double> c(static_cast<size_t>(size * size));
  ISOBIT_RETURN_IF_ERROR(product.multiply(GemmArgs<double>{.transpose_b = true,
                                                           .m = size,
                                                           .n = size,
                                                           .k = size,
                                                           .a = a.data(),
                                                           .lda = size,
                                                           .b = b.data(),
                                                           .ldb = size,
                                                           .c = c.data(),
                                                           .ldc = size}));
  std::vector<int64_t> all(static_cast<size_t>(size));
  for (int64_t l = 0; l < size; ++l) all[static_cast<size_t>(l)] = l;
  for (const int64_t i : a.looked_at()) {
    for (const int64_t j : b.looked_at()) {
      std::vector<int64_t> at = a.kept_of(i);
      if (at.empty()) at = b.kept_of(j);
      const double error = error_of(a.line(i), b.line(j), at.empty() ? all : at, c[static_cast<size_t>(i * size + j)]);
      if (error <= 1) continue;
      return not_classical(product, text_of("float64 of ", size, " x ", size, " x ", size).c_str(), error);
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
  ISOBIT_RETURN_IF_ERROR(product.multiply(args));
  const double error = largest_error(args);
  if (error > 1) return not_classical(product, type, error);
  const ByteView bytes = {reinterpret_cast<const uint8_t*>(c.data()), c.size() * sizeof(T)};
  return Print{commit::hex_of(commit::sha256(bytes)), error};
}

template <class T>
Status try_type(MatrixProduct& product, const char* type) {
  ISOBIT_RETURN_IF_ERROR(try_shapes<T>(product, type));
  ISOBIT_RETURN_IF_ERROR(try_subnormals<T>(product, type));
  return try_ties<T>(product, type);
}

}  // namespace

Status try_products(MatrixProduct& product) {
  if (product.has_f32()) ISOBIT_RETURN_IF_ERROR(try_type<float>(product, "float32"));
  if (product.has_f64()) ISOBIT_RETURN_IF_ERROR(try_type<double>(product, "float64"));
  return {};
}

Status try_large_products(MatrixProduct& product, int64_t largest) {
  for (const int64_t size : kTrialSizes) {
    if (size <= largest) ISOBIT_RETURN_IF_ERROR(try_large_product(product, size));
  }
  return {};
}

Expected<VendorProbe> fingerprint(VendorProduct& product) {
  Print f32, f64;
  if (product.has_f32()) {
    ISOBIT_TRY(f32, print_of<float>(product, "float32"));
  }
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
