#include "isobit/kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/base/whole_for_test.h"
#include "isobit/kernels/matmul/ordered_oracle.h"
#include "isobit/kernels/matmul/reference.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::NaiveSum;
using testing::Term;
using testing::Values;

enum class Layout { kRows, kColumns, kStrided, kBroadcast };

struct Case {
  int64_t m, n, k;
  Layout a = Layout::kRows, b = Layout::kRows;
  bool bias = false;
  int64_t batch = 1;
  int64_t c_pad = 0;

  std::string text() const {
    auto layout = [](Layout l) { return "RCSB"[static_cast<int>(l)]; };
    return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " a=" + layout(a) +
           " b=" + layout(b) + (bias ? " bias" : "") + " batch=" + std::to_string(batch) +
           " pad=" + std::to_string(c_pad);
  }
};

enum class Data { kUnit, kSparseSpecial, kTiny, kSpecial };

template <class T>
std::vector<T> numbers(size_t n, Data kind, uint64_t seed) {
  if (kind == Data::kSpecial) return testing::random_values<T>(n, Values::kSpecial, seed);
  std::vector<T> v = testing::random_values<T>(n, Values::kUnit, seed);
  if (kind == Data::kTiny) {
    // Products around the smallest subnormal, with both signs: chunk sums of -0 and cancellations to +0.
    for (T& x : v) x *= std::sqrt(std::numeric_limits<T>::denorm_min());
  }
  if (kind == Data::kSparseSpecial) {
    const std::vector<T> special = testing::special_values<T>();
    for (size_t i = seed % 97; i < n; i += 211) v[i] = special[i / 211 % special.size()];
  }
  return v;
}

// Operands with their storage.
template <class T>
struct Operands {
  std::vector<T> a, b, bias, c;
  MatmulArgs<T> args;

  Operands(const Case& t, Data kind, uint64_t seed) {
    args.m = t.m;
    args.n = t.n;
    args.k = t.k;
    args.batch = t.batch;
    lay(t.a, t.m, t.k, t.batch, kind, seed, a, args.a_row_stride, args.a_col_stride, args.a_batch_stride);
    lay(t.b, t.k, t.n, t.batch, kind, seed + 1, b, args.b_row_stride, args.b_col_stride, args.b_batch_stride);
    args.a = a.data();
    args.b = b.data();
    if (t.bias) {
      bias = numbers<T>(static_cast<size_t>(t.n), kind, seed + 2);
      args.bias = bias.data();
    }
    args.c_row_stride = t.n + t.c_pad;
    args.c_batch_stride = args.c_row_stride * t.m;
  }

  static void lay(Layout layout, int64_t rows, int64_t columns, int64_t batch, Data kind, uint64_t seed,
                  std::vector<T>& data, int64_t& row_stride, int64_t& column_stride, int64_t& batch_stride) {
    row_stride = layout == Layout::kRows ? columns : layout == Layout::kStrided ? 3 * columns : 1;
    column_stride = layout == Layout::kColumns ? rows : layout == Layout::kStrided ? 2 : 1;
    if (layout == Layout::kBroadcast) row_stride = 0;
    batch_stride = rows * columns * (layout == Layout::kStrided ? 3 : 1);
    data = numbers<T>(static_cast<size_t>(batch * batch_stride + 1), kind, seed);
  }

  template <class F>
  std::vector<T> result(F f) {
    c.assign(static_cast<size_t>(args.batch * args.c_batch_stride), T(-77));
    args.c = c.data();
    f(args);
    return c;
  }

  std::vector<Term<T>> terms(int64_t p, int64_t i, int64_t j) const {
    std::vector<Term<T>> list;
    for (int64_t l = 0; l < args.k; ++l) {
      list.push_back({a[static_cast<size_t>(p * args.a_batch_stride + i * args.a_row_stride + l * args.a_col_stride)],
                      b[static_cast<size_t>(p * args.b_batch_stride + l * args.b_row_stride + j * args.b_col_stride)],
                      l / 256});
    }
    return list;
  }
};

template <class T>
void check_reference(const Case& t, Data kind, uint64_t seed) {
  Operands<T> o(t, kind, seed);
  const std::vector<T> c = o.result([](const MatmulArgs<T>& args) { reference::matmul(args); });
  for (int64_t p = 0; p < t.batch; ++p) {
    for (int64_t i = 0; i < t.m; ++i) {
      for (int64_t j = 0; j < t.n; ++j) {
        const T found = c[static_cast<size_t>(p * o.args.c_batch_stride + i * o.args.c_row_stride + j)];
        const std::vector<Term<T>> terms = o.terms(p, i, j);
        const T* bias = t.bias ? &o.bias[static_cast<size_t>(j)] : nullptr;
        const T written = testing::ordered_oracle(terms, bias);
        ASSERT_EQ(numerics::bits_of(written), numerics::bits_of(found)) << t.text() << " at " << i << ", " << j;
        if (kind == Data::kUnit) {
          const NaiveSum<T> naive(terms, bias);
          ASSERT_NEAR(naive.value, static_cast<double>(found), naive.tolerance) << t.text();
        }
      }
    }
  }
}

template <class T>
void check_kernels(const Case& t, Data kind, uint64_t seed, bool all_threads) {
  Operands<T> o(t, kind, seed);
  const std::vector<T> expected = o.result([](const MatmulArgs<T>& args) { reference::matmul(args); });
  for (int threads : all_threads ? std::vector<int>{1, 2, 3, 8} : std::vector<int>{1, 2}) {
    ThreadPool pool(threads);
    for (Isa isa : available_isas()) {
      if (isa == Isa::kReference) continue;
      const std::vector<T> found = o.result([&](const MatmulArgs<T>& args) { matmul({isa, &pool}, args); });
      ASSERT_TRUE(testing::same_bits(expected, found))
          << t.text() << " on " << name_of(isa) << "/" << threads << "t, seed " << seed;
    }
  }
}

std::vector<Case> edge_cases() {
  std::vector<Case> cases;
  for (int64_t k : {0, 1, 2, 15, 16, 17, 255, 256, 257, 511, 513})
    cases.push_back({9, 50, k, Layout::kRows, Layout::kRows, k % 2 == 0});
  for (int64_t k : {4095, 4096, 4097, 8193}) cases.push_back({5, 19, k, Layout::kColumns, Layout::kRows, true});
  for (int64_t m : {1, 2, 7, 8, 9, 15, 25, 49}) {
    for (int64_t n : {1, 3, 8, 15, 16, 17, 31, 33, 47, 48, 49, 65, 97})
      cases.push_back({m, n, 19, Layout::kRows, Layout::kRows, m == n + 1});
  }
  for (Layout a : {Layout::kRows, Layout::kColumns, Layout::kStrided, Layout::kBroadcast}) {
    for (Layout b : {Layout::kRows, Layout::kColumns, Layout::kStrided, Layout::kBroadcast}) {
      cases.push_back({21, 53, 300, a, b, true, 1, 5});
      cases.push_back({70, 3, 300, a, b, true, 1, 5});
      cases.push_back({4, 13, 37, a, b, false, 9, 2});
      cases.push_back({33, 40, 65, a, b, true, 2, 0});
    }
  }
  return cases;
}

TEST(Matmul, ReferenceIsTheWrittenOrder) {
  uint64_t seed = 1;
  size_t number = 0;
  for (const Case& t : edge_cases()) {
    ++number;  // another kind of data for each shape; the whole test has all for each
    if (t.m * t.n * t.k * t.batch > 400000) continue;
    for (Data kind : {Data::kUnit, Data::kTiny, Data::kSparseSpecial}) {
      if (++number % 3 != 0 && !whole_test()) continue;
      check_reference<float>(t, kind, ++seed);
      check_reference<double>(t, kind, ++seed);
    }
  }
  check_reference<float>({2, 3, 8193}, Data::kUnit, 7);
  check_reference<double>({2, 3, 8193}, Data::kUnit, 8);
}

TEST(Matmul, EveryIsaAndThreadCountGivesTheReferenceBits) {
  uint64_t seed = 100;
  for (const Case& t : edge_cases()) {
    check_kernels<float>(t, Data::kUnit, ++seed, true);
    check_kernels<double>(t, Data::kUnit, ++seed, false);
    check_kernels<float>(t, Data::kSparseSpecial, ++seed, false);
    check_kernels<double>(t, Data::kSparseSpecial, ++seed, false);
    check_kernels<float>(t, Data::kTiny, ++seed, false);
    if (HasFatalFailure()) return;
  }
}

TEST(Matmul, SpecialValuesInShortSums) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto k = static_cast<int64_t>(seed % 5 + 1);
    check_kernels<float>({17, 50, k, Layout::kRows, Layout::kRows, seed % 2 == 0}, Data::kSpecial, seed, false);
    check_kernels<double>({17, 50, k, Layout::kColumns, Layout::kColumns, seed % 2 == 0}, Data::kSpecial, seed, false);
    check_reference<float>({17, 50, k, Layout::kRows, Layout::kRows, seed % 2 == 0}, Data::kSpecial, seed);
  }
}

TEST(Matmul, RandomShapes) {
  std::mt19937_64 random(12345);
  auto upto = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int i = 0; i < (whole_test() ? 60 : 20); ++i) {
    const Case t{1 + upto(80), 1 + upto(120), upto(700), static_cast<Layout>(upto(3)), static_cast<Layout>(upto(3)),
                 upto(2) == 1, 1 + upto(3),   upto(4)};
    check_kernels<float>(t, Data::kUnit, static_cast<uint64_t>(i), false);
    if (i % 3 == 0) check_kernels<double>(t, Data::kUnit, static_cast<uint64_t>(i), false);
    if (HasFatalFailure()) return;
  }
}

// Larger than every cache block of the driver in each direction in turn.
TEST(Matmul, ShapesBeyondTheCacheBlocks) {
  check_kernels<float>({2100, 17, 300}, Data::kUnit, 1, false);
  check_kernels<float>({17, 2300, 300, Layout::kRows, Layout::kColumns}, Data::kUnit, 2, false);
  check_kernels<float>({300, 70, 513, Layout::kColumns, Layout::kRows}, Data::kUnit, 3, true);
  check_kernels<double>({300, 600, 257}, Data::kUnit, 4, false);
}

// Rows of a page and more: of the outputs, of a right side that is packed for it, and of a left one that is read in
// place.
TEST(Matmul, RowsOfManyPages) {
  uint64_t seed = 40;
  for (int64_t k : {1, 16, 255, 257}) {
    check_kernels<float>({17, 1101, k, Layout::kColumns, Layout::kRows, true, 1, 3}, Data::kUnit, ++seed, true);
    check_kernels<double>({30, 600, k, Layout::kRows, Layout::kRows, false, 2, 0}, Data::kSparseSpecial, ++seed, false);
  }
  for (int64_t m : {3, 16, 30}) {
    check_kernels<float>({m, 1101, 521, Layout::kRows, Layout::kRows}, Data::kUnit, ++seed, false);
  }
  check_kernels<float>({16, 901, 1300, Layout::kRows, Layout::kColumns, true}, Data::kUnit, ++seed, true);
  check_kernels<float>({901, 15, 1300}, Data::kTiny, ++seed, true);
  check_kernels<double>({801, 9, 4400, Layout::kRows, Layout::kRows, true}, Data::kUnit, ++seed, false);
}

TEST(Matmul, ZeroTermsGiveTheBias) {
  ThreadPool pool(1);
  const float bias[3] = {-0.0f, 2.0f, -std::numeric_limits<float>::infinity()};
  for (Isa isa : available_isas()) {
    float c[6];
    MatmulArgs<float> args;
    args.m = 2;
    args.n = 3;
    args.c = c;
    args.c_row_stride = 3;
    args.bias = bias;
    matmul({isa, &pool}, args);
    EXPECT_EQ(numerics::bits_of(c[0]), 0u);
    EXPECT_EQ(c[4], 2.0f);
    EXPECT_EQ(c[5], bias[2]);
    args.m = 0;
    matmul({isa, &pool}, args);
  }
}

}  // namespace
}  // namespace isobit::kernels
