#include "isobit/kernels/columns/columns.h"

#include <gtest/gtest.h>

#include <vector>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::random_values;
using testing::Values;

using Axes = std::vector<SlidingAxis>;

SlidingAxis axis(int64_t in, int64_t size, int64_t stride, int64_t dilation, int64_t pad) {
  SlidingAxis a{.in = in, .size = size, .stride = stride, .dilation = dilation, .pad = pad, .pad_end = pad};
  a.out = (in + 2 * pad - dilation * (size - 1) - 1) / stride + 1;
  return a;
}

std::vector<Axes> examples() {
  return {{axis(9, 3, 2, 1, 1)},
          {axis(5, 2, 1, 1, 0), axis(7, 3, 2, 2, 2)},
          {axis(1, 1, 1, 1, 0), axis(6, 6, 3, 1, 5)},
          {axis(4, 3, 1, 1, 1), axis(5, 2, 2, 2, 1), axis(6, 3, 3, 1, 2)},
          {axis(2, 2, 1, 1, 1), axis(3, 2, 1, 1, 0), axis(2, 1, 1, 1, 0), axis(3, 3, 1, 1, 1)}};
}

int64_t count(const Axes& axes, int64_t SlidingAxis::*member) {
  return extents_product(axes.size(), [&](size_t a) { return axes[a].*member; });
}

// The place under `tap` of `window`, all numbered in row-major order, or -1 on padding: as the definition says it.
int64_t place_of(const Axes& axes, int64_t tap, int64_t window) {
  int64_t place = 0, step = 1;
  for (size_t a = axes.size(); a-- > 0;) {
    const int64_t at = window % axes[a].out * axes[a].stride + tap % axes[a].size * axes[a].dilation - axes[a].pad;
    if (at < 0 || at >= axes[a].in) return -1;
    place += at * step;
    step *= axes[a].in;
    window /= axes[a].out;
    tap /= axes[a].size;
  }
  return place;
}

TEST(SlidingAxis, RangesAreWhatIsInside) {
  for (int64_t in : {0, 1, 2, 7}) {
    for (int64_t stride : {1, 2, 5}) {
      for (int64_t dilation : {1, 3}) {
        for (int64_t pad : {0, 1, 4}) {
          const SlidingAxis a{
              .in = in, .out = 6, .size = 4, .stride = stride, .dilation = dilation, .pad = pad, .pad_end = 1};
          for (int64_t o = 0; o < a.out; ++o) {
            const SlidingAxis::Range taps = a.taps_of(o);
            int64_t padded = 0;
            for (int64_t i = 0; i < a.size; ++i) {
              const bool inside = a.at(o, i) >= 0 && a.at(o, i) < in;
              EXPECT_EQ(inside, i >= taps.begin && i < taps.end);
              EXPECT_EQ(inside, o >= a.windows_of(i).begin && o < a.windows_of(i).end);
              padded += a.at(o, i) < in + 1 ? 1 : 0;
            }
            EXPECT_EQ(a.padded_taps_of(o), padded);
          }
        }
      }
    }
  }
}

TEST(Columns, HoldWhatLiesUnderEachTap) {
  for (const Axes& axes : examples()) {
    const int64_t planes = 3, places = count(axes, &SlidingAxis::in), taps = count(axes, &SlidingAxis::size),
                  windows = count(axes, &SlidingAxis::out);
    const auto src = random_values<float>(static_cast<size_t>(planes * places), Values::kSpecial, 1);
    testing::for_each_context([&](const KernelContext& ctx, const std::string& what) {
      std::vector<float> matrix(static_cast<size_t>(planes * taps * windows), 5);
      im2col(ctx, sizeof(float), planes, axes, src.data(), matrix.data());
      std::vector<float> expected;
      for (int64_t p = 0; p < planes; ++p) {
        for (int64_t t = 0; t < taps; ++t) {
          for (int64_t w = 0; w < windows; ++w) {
            const int64_t place = place_of(axes, t, w);
            expected.push_back(place < 0 ? 0 : src[static_cast<size_t>(p * places + place)]);
          }
        }
      }
      EXPECT_TRUE(testing::same_bits(expected, matrix)) << what;
    });
  }
}

TEST(Columns, ElementsOfEverySizeAreMoved) {
  const Axes axes = {axis(3, 2, 1, 1, 0)};
  ThreadPool pool(1);
  const KernelContext ctx{best_isa(), &pool};
  const auto check = [&]<class E>(E) {
    const std::vector<E> src = {E(1), E(2), E(3)};
    std::vector<E> matrix(4);
    im2col(ctx, sizeof(E), 1, axes, src.data(), matrix.data());
    EXPECT_EQ(matrix, (std::vector<E>{E(1), E(2), E(2), E(3)}));
  };
  check(uint8_t{});
  check(uint16_t{});
  check(uint32_t{});
  check(uint64_t{});
}

TEST(Columns, AddUpInTheWrittenOrderEverywhere) {
  uint64_t seed = 0;
  for (const Axes& axes : examples()) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      const int64_t planes = 3, places = count(axes, &SlidingAxis::in), taps = count(axes, &SlidingAxis::size),
                    windows = count(axes, &SlidingAxis::out);
      const auto matrix = random_values<float>(static_cast<size_t>(planes * taps * windows), kind, ++seed);
      std::vector<float> expected(static_cast<size_t>(planes * places), 0);
      for (int64_t p = 0; p < planes; ++p) {
        for (int64_t t = 0; t < taps; ++t) {
          for (int64_t w = 0; w < windows; ++w) {
            const int64_t place = place_of(axes, t, w);
            if (place >= 0) {
              float& sum = expected[static_cast<size_t>(p * places + place)];
              sum = numerics::canonical(sum + matrix[static_cast<size_t>((p * taps + t) * windows + w)]);
            }
          }
        }
      }
      testing::for_each_context([&](const KernelContext& ctx, const std::string& what) {
        std::vector<float> dst(expected.size(), 5);
        col2im(ctx, planes, axes, matrix.data(), dst.data());
        EXPECT_TRUE(testing::same_bits(expected, dst)) << what;
      });
    }
  }
}

}  // namespace
}  // namespace isobit::kernels
