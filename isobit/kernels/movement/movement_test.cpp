#include "isobit/kernels/movement/movement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::for_each_context;
using Index = std::vector<int64_t>;

// The oracle knows nothing of steps: it asks, for every output index, which input index it comes from.
template <class F>
void for_each_index(const Shape& shape, F f) {
  Index i(shape.dims().size(), 0);
  for (int64_t e = 0; e < shape.elements(); ++e) {
    f(i);
    for (size_t k = i.size(); k-- > 0;) {
      if (++i[k] < shape.dims()[k]) break;
      i[k] = 0;
    }
  }
}

int64_t place(const Shape& shape, const Index& i) {
  int64_t p = 0;
  for (size_t k = 0; k < i.size(); ++k) p = p * shape.dims()[k] + i[k];
  return p;
}

template <class E>
std::vector<E> counted(const Shape& shape) {
  std::vector<E> v(static_cast<size_t>(shape.elements()));
  // Odd multiplier: distinct values that also look like NaN payloads.
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<E>((i + 1) * 0x9e3779b97f4a7c15ull);
  return v;
}

template <class E, class Source>
std::vector<E> expected_by(const Shape& dst_shape, Source source) {
  std::vector<E> v;
  for_each_index(dst_shape, [&](const Index& i) { v.push_back(source(i)); });
  return v;
}

template <class E>
void check_transpose(const Shape& shape, const std::vector<int>& permutation) {
  const std::vector<E> src = counted<E>(shape);
  Index dims;
  for (int axis : permutation) dims.push_back(shape[axis]);
  const auto expected = expected_by<E>(Shape(dims), [&](const Index& i) {
    Index from(i.size());
    for (size_t k = 0; k < i.size(); ++k) from[static_cast<size_t>(permutation[k])] = i[k];
    return src[static_cast<size_t>(place(shape, from))];
  });
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<E> dst(src.size());
    transpose(ctx, sizeof(E), shape, permutation, src.data(), dst.data());
    EXPECT_EQ(expected, dst) << name << " " << shape.text();
  });
}

TEST(Transpose, EveryPermutationOfFourAxes) {
  std::vector<int> permutation{0, 1, 2, 3};
  do {
    check_transpose<uint32_t>({3, 5, 4, 7}, permutation);
    check_transpose<uint64_t>({2, 1, 9, 6}, permutation);
    check_transpose<uint8_t>({4, 3, 1, 5}, permutation);
  } while (std::next_permutation(permutation.begin(), permutation.end()));
}

TEST(Transpose, LargeAndOddMatrices) {
  for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 1}, {33, 65}, {128, 131}, {301, 4}, {3, 1000}, {0, 5}}) {
    check_transpose<uint32_t>({m, n}, {1, 0});
    check_transpose<uint64_t>({m, n}, {1, 0});
    check_transpose<uint8_t>({m, n}, {1, 0});
    check_transpose<uint32_t>({2, m, n}, {0, 2, 1});
  }
  check_transpose<uint32_t>({2, 24, 6, 32}, {0, 2, 1, 3});  // heads
  check_transpose<uint32_t>({}, {});
}

TEST(Concat, AnyAxis) {
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Shape> shapes;
    std::vector<std::vector<uint32_t>> data;
    int64_t total = 0;
    for (int64_t d : {3, 0, 1, 5}) {
      Index dims{4, 2, 7};
      dims[static_cast<size_t>(axis)] = d;
      total += d;
      shapes.emplace_back(dims);
      data.push_back(counted<uint32_t>(shapes.back()));
      for (uint32_t& x : data.back()) x += static_cast<uint32_t>(d);
    }
    Index dims{4, 2, 7};
    dims[static_cast<size_t>(axis)] = total;
    const auto expected = expected_by<uint32_t>(Shape(dims), [&](Index i) {
      size_t part = 0;
      int64_t& x = i[static_cast<size_t>(axis)];
      while (x >= shapes[part][axis]) x -= shapes[part++][axis];
      return data[part][static_cast<size_t>(place(shapes[part], i))];
    });
    std::vector<ConcatInput> inputs;
    for (size_t k = 0; k < shapes.size(); ++k) inputs.push_back({shapes[k].dims(), data[k].data()});
    for_each_context([&](const KernelContext& ctx, const std::string& name) {
      std::vector<uint32_t> dst(expected.size());
      concat(ctx, 4, axis, inputs, dst.data());
      EXPECT_EQ(expected, dst) << name << " axis " << axis;
    });
  }
}

// Python's own words for a[start:end:step], by walking.
Index python_slice(int64_t dim, int64_t start, int64_t end, int64_t step) {
  Index positions;
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  if (step > 0) {
    for (int64_t i = std::max<int64_t>(start, 0); i < std::min(end, dim); i += step) positions.push_back(i);
  } else if (dim > 0) {
    for (int64_t i = std::clamp<int64_t>(start, 0, dim - 1); i > std::max<int64_t>(end, -1); i += step)
      positions.push_back(i);
  }
  return positions;
}

TEST(ResolveSlice, AgreesWithWalking) {
  for (int64_t dim = 0; dim <= 6; ++dim) {
    for (int64_t start = -8; start <= 8; ++start) {
      for (int64_t end = -8; end <= 8; ++end) {
        for (int64_t step : {-7, -3, -2, -1, 1, 2, 3, 7}) {
          const SliceRange r = resolve_slice(dim, start, end, step);
          Index positions;
          for (int64_t i = 0; i < r.count; ++i) positions.push_back(r.start + i * r.step);
          EXPECT_EQ(python_slice(dim, start, end, step), positions) << dim << " " << start << " " << end << " " << step;
        }
      }
    }
  }
}

TEST(ResolveSlice, ExtremesOfInt64) {
  const int64_t lo = INT64_MIN, hi = INT64_MAX;
  EXPECT_EQ(resolve_slice(5, lo, hi, 1).count, 5);
  EXPECT_EQ(resolve_slice(5, 0, hi, hi).count, 1);
  EXPECT_EQ(resolve_slice(5, hi, lo, -1).count, 5);
  EXPECT_EQ(resolve_slice(5, hi, lo, -1).start, 4);
  EXPECT_EQ(resolve_slice(5, -1, lo, lo).count, 1);
  EXPECT_EQ(resolve_slice(0, hi, lo, -1).count, 0);
}

template <class E>
void check_slice(const Shape& shape, const std::vector<SliceRange>& ranges) {
  Index counts;
  for (const SliceRange& r : ranges) counts.push_back(r.count);
  const Shape part(counts);
  const std::vector<E> whole = counted<E>(shape);
  auto place_of = [&](const Index& i) {
    Index from;
    for (size_t k = 0; k < i.size(); ++k) from.push_back(ranges[k].start + i[k] * ranges[k].step);
    return static_cast<size_t>(place(shape, from));
  };
  const auto expected = expected_by<E>(part, [&](const Index& i) { return whole[place_of(i)]; });
  std::vector<E> assigned(whole.size(), E(7));
  for_each_index(part, [&](const Index& i) { assigned[place_of(i)] = whole[place_of(i)]; });
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<E> dst(expected.size());
    slice(ctx, sizeof(E), shape, ranges, whole.data(), dst.data());
    EXPECT_EQ(expected, dst) << name;
    std::vector<E> back(whole.size(), E(7));
    assign_slice(ctx, sizeof(E), shape, ranges, dst.data(), back.data());
    EXPECT_EQ(assigned, back) << name;
  });
}

TEST(Slice, StepsOfBothSigns) {
  check_slice<uint32_t>({4, 6, 9}, {{0, 4, 1}, {1, 3, 1}, {0, 9, 1}});
  check_slice<uint32_t>({4, 6, 9}, {{3, 4, -1}, {0, 3, 2}, {8, 3, -3}});
  check_slice<uint64_t>({4, 6, 9}, {{2, 1, 1}, {5, 6, -1}, {1, 8, 1}});
  check_slice<uint8_t>({300, 50}, {{1, 200, 1}, {3, 40, 1}});
  check_slice<uint32_t>({5, 3}, {{2, 0, 1}, {0, 3, 1}});
  check_slice<uint32_t>({}, {});
}

TEST(Pad, WithAndWithoutCropping) {
  struct Case {
    Shape shape;
    Index before, after;
  };
  for (const Case& c : {Case{{2, 3, 4}, {0, 1, 2}, {0, 3, 1}}, Case{{5, 6}, {-1, 2}, {-2, -3}}, Case{{5}, {-2}, {-1}},
                        Case{{3}, {-5}, {10}}, Case{{70, 300}, {1, 1}, {1, 1}}, Case{{0, 2}, {2, 1}, {0, 0}}}) {
    Index dims;
    for (size_t k = 0; k < c.before.size(); ++k) dims.push_back(c.shape.dims()[k] + c.before[k] + c.after[k]);
    const std::vector<uint64_t> src = counted<uint64_t>(c.shape);
    const uint64_t value = 0x7ff8dead00000000ull;
    const auto expected = expected_by<uint64_t>(Shape(dims), [&](const Index& i) {
      Index from;
      for (size_t k = 0; k < i.size(); ++k) {
        from.push_back(i[k] - c.before[k]);
        if (from[k] < 0 || from[k] >= c.shape.dims()[k]) return value;
      }
      return src[static_cast<size_t>(place(c.shape, from))];
    });
    for_each_context([&](const KernelContext& ctx, const std::string& name) {
      std::vector<uint64_t> dst(expected.size());
      pad(ctx, 8, c.shape, c.before, c.after, &value, src.data(), dst.data());
      EXPECT_EQ(expected, dst) << name;
    });
  }
}

// What lies outside of both arrays is not touched, however far.
TEST(Pad, ByMoreThanThereIs) {
  const int64_t far = int64_t{1} << 60;
  const std::vector<uint32_t> src = {1, 2, 3};
  const uint32_t value = 7;
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<uint32_t> dst(4);
    pad(ctx, 4, {3}, std::vector<int64_t>{-far}, std::vector<int64_t>{far + 1}, &value, src.data(), dst.data());
    EXPECT_EQ(std::vector<uint32_t>(4, value), dst) << name;
    pad(ctx, 4, {1, 3}, std::vector<int64_t>{far, 0}, std::vector<int64_t>{-far, -1}, &value, src.data(), dst.data());
    EXPECT_EQ(std::vector<uint32_t>(4, value), dst) << name;
  });
}

TEST(Tile, RepeatsEveryAxis) {
  const std::vector<std::pair<Shape, Index>> cases{
      {{3, 2}, {2, 3}}, {{4}, {1}},        {{2, 1, 5}, {3, 4, 1}}, {{}, {}}, {{0, 2}, {int64_t{1} << 60, 2}},
      {{2, 2}, {0, 5}}, {{70, 3}, {2, 90}}};
  for (const auto& [shape, repeats] : cases) {
    Index dims;
    for (size_t k = 0; k < repeats.size(); ++k) dims.push_back(shape.dims()[k] * repeats[k]);
    const std::vector<uint32_t> src = counted<uint32_t>(shape);
    const auto expected = expected_by<uint32_t>(Shape(dims), [&, &from = shape](Index i) {
      for (size_t k = 0; k < i.size(); ++k) i[k] %= from.dims()[k];
      return src[static_cast<size_t>(place(from, i))];
    });
    for_each_context([&, &from = shape, &times = repeats](const KernelContext& ctx, const std::string& name) {
      std::vector<uint32_t> dst(expected.size());
      tile(ctx, 4, from, times, src.data(), dst.data());
      EXPECT_EQ(expected, dst) << name;
    });
  }
}

TEST(Trilu, KeepsOneSideOfEveryDiagonal) {
  for (const Triangle& one :
       {Triangle{2, 3, 5}, Triangle{1, 5, 3}, Triangle{3, 0, 4}, Triangle{2, 4, 0}, Triangle{1, 200, 130}}) {
    const Shape shape{one.batch, one.rows, one.cols};
    const std::vector<uint16_t> src = counted<uint16_t>(shape);
    for (int64_t k : {int64_t{0}, int64_t{1}, int64_t{-2}, int64_t{9}, int64_t{-9}, INT64_MIN, INT64_MAX}) {
      for (bool upper : {true, false}) {
        const Triangle triangle{one.batch, one.rows, one.cols, k, upper};
        const auto expected = expected_by<uint16_t>(shape, [&](const Index& i) {
          const int64_t diagonal = i[2] - i[1];
          const bool kept = upper ? diagonal >= k : diagonal <= k;
          return kept ? src[static_cast<size_t>(place(shape, i))] : uint16_t{0};
        });
        for_each_context([&](const KernelContext& ctx, const std::string& name) {
          std::vector<uint16_t> dst(src.size(), 9);
          trilu(ctx, 2, triangle, src.data(), dst.data());
          EXPECT_EQ(expected, dst) << name << " " << k << " " << upper;
        });
      }
    }
  }
}

template <class E, class I>
void check_gather(const GatherShape& s, const std::vector<I>& indices) {
  const std::vector<E> src = counted<E>(Shape{s.outer, s.axis, s.inner});
  const auto expected = expected_by<E>(Shape{s.outer, s.count, s.inner}, [&](Index i) {
    const int64_t j = indices[static_cast<size_t>(i[1])];
    return src[static_cast<size_t>((i[0] * s.axis + (j + s.axis) % s.axis) * s.inner + i[2])];
  });
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<E> dst(expected.size());
    gather(ctx, sizeof(E), s, indices.data(), src.data(), dst.data());
    EXPECT_EQ(expected, dst) << name;
  });
}

TEST(Gather, NegativeIndicesAndEverySize) {
  check_gather<uint32_t, int64_t>({2, 5, 4, 3}, {0, -1, 4, -5});
  check_gather<uint8_t, int32_t>({3, 4, 3, 1}, {2, 2, -3});
  check_gather<uint64_t, int64_t>({1, 100, 6, 257}, {99, 0, 50, -100, 7, 7});
  check_gather<uint32_t, int32_t>({1, 4, 0, 8}, {});
}

TEST(Gather, FirstBadIndex) {
  EXPECT_EQ(first_bad_index(std::vector<int64_t>{0, -3, 2}, 3), -1);
  EXPECT_EQ(first_bad_index(std::vector<int64_t>{0, 3, -4}, 3), 1);
  EXPECT_EQ(first_bad_index(std::vector<int32_t>{0, 1, -4}, 3), 2);
}

TEST(Expand, AsBroadcastingDoes) {
  const std::vector<std::pair<Shape, Shape>> cases{
      {{3, 1}, {3, 4}}, {{1, 4}, {3, 4}}, {{}, {2, 3}}, {{2, 1, 5}, {7, 2, 3, 5}}, {{1, 1}, {0, 4}}};
  for (const auto& [from, to] : cases) {
    const std::vector<uint32_t> src = counted<uint32_t>(from);
    const auto expected = expected_by<uint32_t>(to, [&](const Index& i) {
      Index at(i.end() - from.rank(), i.end());
      for (size_t k = 0; k < at.size(); ++k) at[k] %= from.dims()[k];
      return src[static_cast<size_t>(place(from, at))];
    });
    for_each_context([&](const KernelContext& ctx, const std::string& name) {
      std::vector<uint32_t> dst(expected.size());
      expand(ctx, 4, from, to, src.data(), dst.data());
      EXPECT_EQ(expected, dst) << name;
    });
  }
}

TEST(FillCopy, LongAndEmpty) {
  for (int64_t n : {0, 1, 17, 100003}) {
    const std::vector<uint32_t> src = counted<uint32_t>({n});
    const uint32_t value = 0x7fc12345u;
    const std::vector<uint32_t> filled(src.size(), value);
    for_each_context([&](const KernelContext& ctx, const std::string& name) {
      std::vector<uint32_t> dst(src.size());
      copy(ctx, 4, n, src.data(), dst.data());
      EXPECT_EQ(src, dst) << name;
      fill(ctx, 4, n, &value, dst.data());
      EXPECT_EQ(filled, dst) << name;
    });
  }
}

}  // namespace
}  // namespace isobit::kernels
