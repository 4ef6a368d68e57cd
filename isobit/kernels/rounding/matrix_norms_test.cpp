#include "isobit/kernels/rounding/matrix_norms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "isobit/kernels/dispatch/dispatch.h"

namespace isobit::kernels::rounding {
namespace {

std::vector<double> some_numbers(int64_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<size_t>(n));
  for (double& v : x)
    v = random() % 5 == 0 ? 0 : normal(random) * std::ldexp(1.0, static_cast<int>(random() % 60) - 30);
  return x;
}

struct Extent3 {
  int64_t matrices, rows, columns;
};

TEST(MatrixNorms, AreThoseOfEachRowAndColumn) {
  for (const Extent3 e : {Extent3{1, 1, 1}, Extent3{1, 300, 5000}, Extent3{1, 5000, 7}, Extent3{7, 13, 300},
                          Extent3{40, 64, 64}, Extent3{3, 2050, 33}}) {
    const int64_t size = e.rows * e.columns;
    const std::vector<double> x = some_numbers(e.matrices * size, static_cast<uint64_t>(size));
    for (const Isa isa : available_isas()) {
      for (const int threads : {1, 3}) {
        ThreadPool pool(threads);
        const MatrixNorms norms = matrix_norms({isa, &pool}, x, e.rows, e.columns);
        std::vector<long double> rows(static_cast<size_t>(e.matrices * e.rows)),
            columns(static_cast<size_t>(e.matrices * e.columns));
        for (int64_t i = 0; i < e.matrices * size; ++i) {
          const long double q = static_cast<long double>(x[static_cast<size_t>(i)]) * x[static_cast<size_t>(i)];
          rows[static_cast<size_t>(i / e.columns)] += q;
          columns[static_cast<size_t>(i / size * e.columns + i % e.columns)] += q;
        }
        ASSERT_EQ(norms.of_rows.size(), rows.size());
        ASSERT_EQ(norms.of_columns.size(), columns.size());
        double most = 0;
        for (const auto& [of, exact] : {std::pair{&norms.of_rows, &rows}, std::pair{&norms.of_columns, &columns}}) {
          for (size_t i = 0; i < of->size(); ++i) {
            const double norm = static_cast<double>(std::sqrt((*exact)[i]));
            EXPECT_NEAR((*of)[i], norm, 0x1p-40 * norm);
            most = std::max(most, (*of)[i]);
          }
        }
        EXPECT_EQ(norms.most(), most);
      }
    }
  }
}

TEST(MatrixNorms, WhatIsNotFiniteHasNoBound) {
  ThreadPool pool(2);
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    std::vector<double> x(60, 1.0);
    x[17] = bad;
    EXPECT_EQ(matrix_norms({best_isa(), &pool}, x, 6, 10).most(), std::numeric_limits<double>::infinity());
  }
}

// Lines that are no rows and no columns of the matrices have none.
TEST(MatrixNorms, OfTheLinesThatTheyAreOf) {
  ThreadPool pool(1);
  const std::vector<double> x = some_numbers(2 * 6 * 10, 3);
  const MatrixNorms norms = matrix_norms({best_isa(), &pool}, x, 6, 10);
  const auto of = [&](int64_t lines, int64_t k, int64_t line, int64_t inner, int64_t at) {
    product::Side side;
    side.lines = lines;
    side.k = k;
    side.strides = {line, inner, std::max<int64_t>(k, 1), 0};
    return norms.of(product::Lines<double>(side, x.data() + at), x.data());
  };
  EXPECT_EQ(of(6, 10, 10, 1, 0).data(), norms.of_rows.data());
  EXPECT_EQ(of(6, 10, 10, 1, 60).data(), norms.of_rows.data() + 6);
  EXPECT_EQ(of(10, 6, 1, 10, 60).data(), norms.of_columns.data() + 10);
  EXPECT_TRUE(of(6, 10, 10, 1, 10).empty());   // from the second row on
  EXPECT_TRUE(of(6, 10, 10, 1, 120).empty());  // behind the last matrix
  EXPECT_TRUE(of(5, 10, 10, 1, 0).empty());
  EXPECT_TRUE(of(12, 5, 5, 1, 0).empty());
  EXPECT_TRUE(of(6, 10, 1, 6, 0).empty());
}

}  // namespace
}  // namespace isobit::kernels::rounding
