// The matrices against the identity that they are made for, in exact arithmetic, and against the published ones.
#include "isobit/kernels/vendor/algorithms/winograd_matrices.h"

#include <gtest/gtest.h>

namespace isobit::kernels::algorithms {
namespace {

// y[j] = sum over i of back[j][i] (sum over k of weights[i][k] g[k]) (sum over k of src[i][k] d[k]) is linear in g and
// in d: it is the correlation for all of them if it is for every pair of unit vectors.
template <int kOutputs>
void expect_correlation(const Winograd<kOutputs>& w) {
  constexpr size_t kTile = Winograd<kOutputs>::kTile;
  for (size_t g = 0; g < 3; ++g) {
    for (size_t d = 0; d < kTile; ++d) {
      for (size_t j = 0; j < kOutputs; ++j) {
        Rational y;
        for (size_t i = 0; i < kTile; ++i) y = y + w.back[j][i] * w.weights[i][g] * w.src[i][d];
        const Rational expected{j + g == d ? 1 : 0, 1};
        EXPECT_TRUE(y == expected) << "output " << j << ", tap " << g << ", input " << d << ": " << y.above << "/"
                                   << y.below;
      }
    }
  }
}

TEST(WinogradMatrices, AreACorrelationByThreeTaps) {
  expect_correlation(winograd<2>());
  expect_correlation(winograd<4>());
}

TEST(WinogradMatrices, OneWrongEntryIsFound) {
  Winograd<4> w = winograd<4>();
  w.weights[3][1] = Rational{1, 6};
  Rational y;
  for (size_t i = 0; i < 6; ++i) y = y + w.back[0][i] * w.weights[i][1] * w.src[i][1];
  EXPECT_FALSE(y == (Rational{1, 1}));
}

template <size_t kRows, size_t kColumns>
void expect_rows(const std::array<std::array<Rational, kColumns>, kRows>& found,
                 const std::array<std::array<double, kColumns>, kRows>& times, int64_t below) {
  for (size_t i = 0; i < kRows; ++i) {
    for (size_t k = 0; k < kColumns; ++k) {
      const Rational expected = Rational::reduced(static_cast<int64_t>(times[i][k]), below);
      EXPECT_TRUE(found[i][k] == expected) << "row " << i << ", column " << k;
    }
  }
}

// Lavin and Gray, section 4.1; the last row of src and the last column of back have the other sign there.
TEST(WinogradMatrices, AreThePublishedOnesOfTwoOutputs) {
  const auto w = winograd<2>();
  expect_rows<4, 4>(w.src, {{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, -1, 0, 1}}}, 1);
  expect_rows<4, 3>(w.weights, {{{2, 0, 0}, {1, 1, 1}, {1, -1, 1}, {0, 0, 2}}}, 2);
  expect_rows<2, 4>(w.back, {{{1, 1, 1, 0}, {0, 1, -1, 1}}}, 1);
}

// Section 4.3, rows 1 and 2 of src and of weights with both signs changed.
TEST(WinogradMatrices, AreThePublishedOnesOfFourOutputs) {
  const auto w = winograd<4>();
  expect_rows<6, 6>(w.src,
                    {{{4, 0, -5, 0, 1, 0},
                      {0, 4, 4, -1, -1, 0},
                      {0, -4, 4, 1, -1, 0},
                      {0, -2, -1, 2, 1, 0},
                      {0, 2, -1, -2, 1, 0},
                      {0, 4, 0, -5, 0, 1}}},
                    1);
  expect_rows<6, 3>(w.weights, {{{6, 0, 0}, {4, 4, 4}, {4, -4, 4}, {1, 2, 4}, {1, -2, 4}, {0, 0, 24}}}, 24);
  expect_rows<4, 6>(w.back, {{{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}}, 1);
}

}  // namespace
}  // namespace isobit::kernels::algorithms
