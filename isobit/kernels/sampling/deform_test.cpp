#include "isobit/kernels/sampling/deform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "isobit/kernels/columns/columns.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::random_values;
using testing::Values;

DeformShape example() {
  DeformShape s;
  s.n = 2, s.c = 4, s.groups = 2;
  s.rows = {.in = 5, .out = 3, .size = 2, .stride = 2, .dilation = 1, .pad = 1};
  s.columns = {.in = 6, .out = 4, .size = 3, .stride = 1, .dilation = 1, .pad = 0};
  return s;
}

size_t elements(int64_t a, int64_t b, int64_t c = 1, int64_t d = 1) { return static_cast<size_t>(a * b * c * d); }

TEST(DeformedColumns, WithoutOffsetsAreTheColumns) {
  const DeformShape s = example();
  const auto src = random_values<float>(elements(s.n, s.c, s.rows.in, s.columns.in), Values::kUnit, 1);
  const std::vector<float> offset(elements(s.n, s.groups, 2 * s.taps(), s.windows()), 0);
  testing::for_each_context([&](const KernelContext& ctx, const std::string& what) {
    std::vector<float> columns(elements(s.n, s.c, s.taps(), s.windows())), deformed(columns.size());
    const SlidingAxis axes[] = {s.rows, s.columns};
    im2col(ctx, sizeof(float), s.n * s.c, axes, src.data(), columns.data());
    deformed_columns(ctx, s, src.data(), offset.data(), nullptr, deformed.data());
    EXPECT_EQ(columns, deformed) << what;
  });
}

TEST(DeformedColumns, OffsetsMoveTapsAndMasksScaleThem) {
  DeformShape s;
  s.rows = {.in = 2, .out = 1, .size = 1};
  s.columns = {.in = 2, .out = 2, .size = 1};
  const std::vector<double> src = {1, 2, 3, 4}, mask = {10, 100};
  // Down by 0.5 and 1.75, across by 0 and -0.5: the second lies between the last row and what is below it.
  const std::vector<double> offset = {0.5, 1.75, 0, -0.5};
  ThreadPool pool(1);
  std::vector<double> matrix(2);
  deformed_columns({best_isa(), &pool}, s, src.data(), offset.data(), mask.data(), matrix.data());
  EXPECT_EQ(matrix[0], 10 * (1 * 0.5 + 3 * 0.5));
  EXPECT_EQ(matrix[1], 100 * (0.25 * (0.5 * 3 + 0.5 * 4)));
}

TEST(DeformedColumns, GroupsOfChannelsHaveTheirOwnOffsets) {
  const DeformShape s = example();
  const auto src = random_values<double>(elements(s.n, s.c, s.rows.in, s.columns.in), Values::kUnit, 1);
  std::vector<double> offset(elements(s.n, s.groups, 2 * s.taps(), s.windows()), 0), before, after;
  ThreadPool pool(2);
  const auto columns = [&] {
    std::vector<double> matrix(elements(s.n, s.c, s.taps(), s.windows()));
    deformed_columns({best_isa(), &pool}, s, src.data(), offset.data(), nullptr, matrix.data());
    return matrix;
  };
  before = columns();
  // The second group of the first image.
  for (int64_t i = 0; i < 2 * s.taps() * s.windows(); ++i) {
    offset[static_cast<size_t>(2 * s.taps() * s.windows() + i)] = 0.3;
  }
  after = columns();
  const size_t channel = elements(s.taps(), s.windows());
  for (size_t c = 0; c < elements(s.n, s.c); ++c) {
    bool same = true;
    for (size_t i = c * channel; i < (c + 1) * channel; ++i) same = same && before[i] == after[i];
    EXPECT_EQ(same, c != 2 && c != 3) << c;
  }
}

TEST(DeformedColumns, AreTheSameEverywhere) {
  const DeformShape s = example();
  const auto src = random_values<float>(elements(s.n, s.c, s.rows.in, s.columns.in), Values::kSpecial, 1);
  auto offset = random_values<float>(elements(s.n, s.groups, 2 * s.taps(), s.windows()), Values::kUnit, 2);
  const auto mask = random_values<float>(elements(s.n, s.groups, s.taps(), s.windows()), Values::kUnit, 3);
  offset[5] = std::numeric_limits<float>::infinity();
  testing::expect_same_everywhere("deformed", [&](const KernelContext& ctx) {
    std::vector<float> matrix(elements(s.n, s.c, s.taps(), s.windows()));
    deformed_columns(ctx, s, src.data(), offset.data(), mask.data(), matrix.data());
    return std::vector<std::vector<float>>{matrix};
  });
}

}  // namespace
}  // namespace isobit::kernels
