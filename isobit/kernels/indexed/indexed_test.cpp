#include "isobit/kernels/indexed/indexed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <tuple>
#include <utility>

#include "isobit/kernels/testing.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {
namespace {

using testing::expect_same_everywhere;
using testing::for_each_context;
using testing::random_values;
using testing::same_bits;
using testing::Values;
using Index = std::vector<int64_t>;

std::vector<uint32_t> counted(int64_t n) {
  std::vector<uint32_t> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<uint32_t>(i + 1) * 0x9e3779b9u;
  return v;
}

// Indices of an axis, those from its end as well.
template <class I = int64_t>
std::vector<I> random_indices(int64_t n, int64_t extent, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<I> indices;
  for (int64_t i = 0; i < n; ++i) {
    indices.push_back(static_cast<I>(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * extent)) - extent));
  }
  return indices;
}

int64_t elements(const Index& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// The position of element number e of an array.
Index position(const Index& dims, int64_t e) {
  Index at(dims.size());
  for (size_t k = dims.size(); k-- > 0;) {
    at[k] = e % dims[k];
    e /= dims[k];
  }
  return at;
}

int64_t place(const Index& dims, const Index& at) {
  int64_t p = 0;
  for (size_t k = 0; k < dims.size(); ++k) p = p * dims[k] + at[k];
  return p;
}

// Every row of gather_rows is where `source` says that element number e of the result comes from; scatter_rows is the
// other way round.
void check_places(const RowPlaces& places, int64_t array, const std::function<int64_t(int64_t)>& source) {
  const std::vector<uint32_t> src = counted(array);
  const int64_t n = places.rows() * places.inner();
  std::vector<uint32_t> gathered, scattered(src.size(), 7);
  for (int64_t e = 0; e < n; ++e) gathered.push_back(src[static_cast<size_t>(source(e))]);
  for (int64_t e = 0; e < n; ++e) scattered[static_cast<size_t>(source(e))] = static_cast<uint32_t>(e);
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<uint32_t> dst(gathered.size());
    gather_rows(ctx, 4, places, src.data(), dst.data());
    EXPECT_EQ(gathered, dst) << name;
    std::vector<uint32_t> updates(gathered.size()), array_of_updates(src.size(), 7);
    for (size_t e = 0; e < updates.size(); ++e) updates[e] = static_cast<uint32_t>(e);
    scatter_rows(ctx, 4, places, updates.data(), array_of_updates.data());
    EXPECT_EQ(scattered, array_of_updates) << name;
  });
}

int64_t from_start(int64_t index, int64_t extent) { return index < 0 ? index + extent : index; }

TEST(Places, AlongAnAxis) {
  for (const GatherShape& s : {GatherShape{2, 5, 4, 3}, GatherShape{1, 3, 700, 1}, GatherShape{3, 4, 0, 2},
                               GatherShape{2, 3, 4, 0}, GatherShape{7, 2, 301, 5}}) {
    const auto indices = random_indices<int32_t>(s.count, s.axis, 1);
    check_places(AxisPlaces<int32_t>(s, indices.data()), s.outer * s.axis * s.inner, [&](int64_t e) {
      const Index at = position({s.outer, s.count, s.inner}, e);
      return place({s.outer, s.axis, s.inner}, {at[0], from_start(indices[static_cast<size_t>(at[1])], s.axis), at[2]});
    });
  }
}

TEST(Places, OfElements) {
  const std::vector<std::tuple<Index, int, Index>> cases = {{{3, 4}, 0, {5, 4}},       {{3, 4}, 1, {2, 9}},
                                                            {{6}, 0, {700}},           {{2, 3, 4}, 1, {2, 5, 3}},
                                                            {{2, 3, 4}, 0, {0, 3, 4}}, {{30, 2, 20}, 2, {29, 2, 33}}};
  for (const auto& [dims, axis, index_dims] : cases) {
    const int64_t extent = dims[static_cast<size_t>(axis)];
    const auto indices = random_indices(elements(index_dims), extent, 2);
    check_places(ElementPlaces<int64_t>(dims, axis, index_dims, indices.data()), elements(dims),
                 [&, &array = dims, &rows = index_dims, k = static_cast<size_t>(axis)](int64_t e) {
                   Index at = position(rows, e);
                   at[k] = from_start(indices[static_cast<size_t>(e)], extent);
                   return place(array, at);
                 });
  }
}

TEST(Places, OfTuples) {
  struct Case {
    Index dims;
    int batch;
    int64_t per_batch;
    int length;
  };
  for (const Case& c :
       {Case{{4, 3}, 0, 5, 1}, Case{{4, 3}, 0, 5, 2}, Case{{2, 4, 3, 2}, 1, 3, 2}, Case{{2, 3, 5}, 2, 4, 1},
        Case{{3, 0}, 0, 2, 1}, Case{{2, 6, 7}, 1, 300, 1}, Case{{0, 4}, 1, 3, 1}}) {
    const Index batch(c.dims.begin(), c.dims.begin() + c.batch);
    const Index tuple(c.dims.begin() + c.batch, c.dims.begin() + c.batch + c.length);
    const Index rest(c.dims.begin() + c.batch + c.length, c.dims.end());
    const int64_t rows = elements(batch) * c.per_batch;
    std::vector<int64_t> indices = random_indices(rows * c.length, 1 << 20, 3);
    for (size_t i = 0; i < indices.size(); ++i) {
      indices[i] %= tuple[i % tuple.size()];
    }
    EXPECT_EQ(first_bad_tuple_index(indices, tuple), -1);
    const TuplePlaces places(c.dims, c.batch, c.per_batch, c.length, indices.data());
    ASSERT_EQ(places.rows(), rows);
    ASSERT_EQ(places.inner(), elements(rest));
    check_places(places, elements(c.dims), [&](int64_t e) {
      const int64_t row = e / places.inner();
      Index at = position(batch, row / c.per_batch);
      for (int k = 0; k < c.length; ++k) {
        at.push_back(from_start(indices[static_cast<size_t>(row * c.length + k)], tuple[static_cast<size_t>(k)]));
      }
      const Index inside = position(rest, e % places.inner());
      at.insert(at.end(), inside.begin(), inside.end());
      return place(c.dims, at);
    });
  }
}

TEST(Places, TheFirstBadNumberOfTuples) {
  const Index dims = {3, 2};
  EXPECT_EQ(first_bad_tuple_index(Index{2, 1, -3, -2}, dims), -1);
  EXPECT_EQ(first_bad_tuple_index(Index{2, 2, -4, 0}, dims), 1);
  EXPECT_EQ(first_bad_tuple_index(Index{2, 1, -4, 0}, dims), 2);
  EXPECT_EQ(first_bad_tuple_index(Index{2, 1, INT64_MIN, INT64_MAX}, dims), 2);
}

TEST(Places, OfAPartThatIsReplaced) {
  const int64_t starts[] = {3, 0, -1, INT64_MAX, INT64_MIN};
  for (const ReplacedPlaces::Dims& d : {ReplacedPlaces::Dims{5, 2, 4, 3, 2}, ReplacedPlaces::Dims{5, 1, 4, 4, 1},
                                        ReplacedPlaces::Dims{5, 3, 4, 0, 1}, ReplacedPlaces::Dims{5, 1, 0, 0, 1}}) {
    for (const int64_t* from : {starts, static_cast<const int64_t*>(nullptr)}) {
      check_places(ReplacedPlaces(d, from), d.batches * d.middle * d.axis * d.inner, [&](int64_t e) {
        Index at = position({d.batches, d.middle, d.length, d.inner}, e);
        const int64_t start = from == nullptr ? 0 : from[at[0]];
        at[2] = ((start % d.axis) + d.axis + at[2]) % d.axis;
        return place({d.batches, d.middle, d.axis, d.inner}, at);
      });
    }
  }
}

TEST(Places, OfSequencesThatAreTurnedRound) {
  const int64_t lengths[] = {4, 0, 1, 3, 2};
  check_places(ReversedPlaces(4, 5, 3, false, lengths), 60, [&](int64_t e) {
    Index at = position({4, 5, 3}, e);
    if (at[0] < lengths[at[1]]) at[0] = lengths[at[1]] - 1 - at[0];
    return place({4, 5, 3}, at);
  });
  check_places(ReversedPlaces(5, 4, 1, true, lengths), 20, [&](int64_t e) {
    Index at = position({5, 4}, e);
    if (at[1] < lengths[at[0]]) at[1] = lengths[at[0]] - 1 - at[1];
    return place({5, 4}, at);
  });
}

// Walks from the source's nearest end, a step at a time.
int64_t walked(PadMode mode, int64_t at, int64_t n) {
  if (mode == PadMode::kEdge || n == 1) return std::clamp<int64_t>(at, 0, n - 1);
  while (at < 0 || at >= n) {
    if (mode == PadMode::kWrap) at += at < 0 ? n : -n;
    if (mode == PadMode::kReflect) at = at < 0 ? -at : 2 * (n - 1) - at;
  }
  return at;
}

TEST(Places, OfWhatIsPadded) {
  struct Case {
    Index dims, before, after;
  };
  for (const Case& c : {Case{{3, 4}, {1, 2}, {2, 1}}, Case{{5}, {13}, {17}}, Case{{2, 1}, {3, 3}, {4, 2}},
                        Case{{6, 5}, {-2, 3}, {4, -1}}, Case{{}, {}, {}}, Case{{4, 0}, {2, 0}, {1, 0}},
                        Case{{3, 2}, {-1, 0}, {-2, 1}}, Case{{40, 30}, {3, 3}, {3, 3}}}) {
    for (PadMode mode : {PadMode::kEdge, PadMode::kReflect, PadMode::kWrap}) {
      Index dst, left;
      for (size_t k = 0; k < c.dims.size(); ++k) {
        dst.push_back(c.dims[k] + c.before[k] + c.after[k]);
        left.push_back(c.dims[k] + std::min<int64_t>(c.before[k], 0) + std::min<int64_t>(c.after[k], 0));
      }
      const PaddedPlaces places(mode, c.dims, c.before, c.after);
      ASSERT_EQ(places.rows(), elements(dst));
      check_places(places, elements(c.dims), [&](int64_t e) {
        Index at = position(dst, e);
        for (size_t k = 0; k < at.size(); ++k) {
          const int64_t first = std::max<int64_t>(0, -c.before[k]);
          at[k] = first + walked(mode, at[k] - std::max<int64_t>(0, c.before[k]), left[k]);
        }
        return place(c.dims, at);
      });
    }
  }
}

// One element at a time, rows ascending.
template <class T>
std::vector<T> combined_naively(Combine how, std::vector<T> dst, const Index& places, const std::vector<T>& src) {
  const std::vector<T> before = dst;
  const size_t inner = places.empty() ? 1 : src.size() / places.size();
  for (size_t place = 0; place < dst.size(); ++place) {
    std::vector<T> terms = {before[place]};
    for (size_t r = 0; r < places.size(); ++r) {
      const auto first = static_cast<size_t>(places[r]);
      if (place >= first && place < first + inner) terms.push_back(src[r * inner + place - first]);
    }
    if (terms.size() == 1) continue;
    T x = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      const T y = terms[i];
      if constexpr (std::is_floating_point_v<T>) {
        if (how == Combine::kMul) x = numerics::canonical(x * y);
        if (how == Combine::kMax || how == Combine::kMin) {
          const bool above = y > x || (y == x && !std::signbit(y)), take = how == Combine::kMax ? above : !above;
          x = x != x || y != y ? std::numeric_limits<T>::quiet_NaN() : take ? y : x;
        }
      } else {
        using U = std::make_unsigned_t<T>;
        if (how == Combine::kMul) x = static_cast<T>(static_cast<uint64_t>(U(x)) * static_cast<uint64_t>(U(y)));
        if (how == Combine::kAdd) x = static_cast<T>(static_cast<uint64_t>(U(x)) + static_cast<uint64_t>(U(y)));
        if (how == Combine::kMax) x = std::max(x, y);
        if (how == Combine::kMin) x = std::min(x, y);
      }
    }
    if constexpr (std::is_same_v<T, float>) {
      const numerics::StridedSegment all{terms.data(), static_cast<int64_t>(terms.size()), 1};
      if (how == Combine::kAdd) x = numerics::sum_exactly(&all, 1);
    }
    if constexpr (std::is_same_v<T, double>) {
      if (how == Combine::kAdd) x = numerics::sum_ordered_f64(terms.data(), static_cast<int64_t>(terms.size()));
    }
    dst[place] = x;
  }
  return dst;
}

template <class T>
void check_combine(const std::vector<T>& dst, const std::vector<T>& src, int64_t outer, int64_t axis, int64_t count,
                   int64_t inner) {
  const auto indices = random_indices(count, axis, 5);
  const AxisPlaces<int64_t> places({outer, axis, count, inner}, indices.data());
  Index found(static_cast<size_t>(places.rows()));
  if (!found.empty()) places.find(0, places.rows(), found.data());
  for (Combine how : {Combine::kAdd, Combine::kMul, Combine::kMax, Combine::kMin}) {
    const std::vector<T> expected = combined_naively(how, dst, found, src);
    for_each_context([&](const KernelContext& ctx, const std::string& name) {
      std::vector<T> combined = dst;
      combine_rows(ctx, how, places, src.data(), combined.data());
      EXPECT_TRUE(same_bits(expected, combined)) << name << " " << static_cast<int>(how);
    });
  }
}

TEST(CombineRows, FloatsAgreeWithOneElementAtATime) {
  const int64_t sizes[][4] = {{1, 1, 1, 1}, {2, 5, 9, 3},    {1, 3, 400, 2}, {1, 40, 7, 1},
                              {2, 3, 0, 2}, {1, 3, 1, 9001}, {2, 2, 3, 4097}};
  for (const auto& [outer, axis, count, inner] : sizes) {
    for (Values kind : {Values::kUnit, Values::kWide, Values::kSpecial}) {
      const auto n = static_cast<size_t>(outer * axis * inner), m = static_cast<size_t>(outer * count * inner);
      check_combine(random_values<float>(n, kind, 1), random_values<float>(m, kind, 2), outer, axis, count, inner);
      check_combine(random_values<double>(n, kind, 3), random_values<double>(m, kind, 4), outer, axis, count, inner);
    }
  }
}

TEST(CombineRows, IntegersWrapAround) {
  const auto check = [&]<class T>(T) {
    std::mt19937_64 random(6);
    std::vector<T> dst(30), src(80);
    for (T& x : dst) x = static_cast<T>(random());
    for (T& x : src) x = static_cast<T>(random());
    check_combine(dst, src, 2, 5, 13, 3);
  };
  for (DType dtype : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32, DType::kUint32,
                      DType::kInt64, DType::kUint64}) {
    EXPECT_TRUE(by_type(IntegerTypes{}, dtype, check));
  }
}

// A sum is rounded once, whatever the order of the updates; zeros of both signs make +0.
TEST(CombineRows, SumsOfFloatsAreRoundedOnce) {
  const int64_t indices[] = {0, 1, 0, 0};
  const AxisPlaces<int64_t> places({1, 3, 4, 1}, indices);
  const std::vector<float> src = {1, -0.0f, 1, -0x1p24f};
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<float> dst = {0x1p24f, -0.0f, -0.0f};
    combine_rows(ctx, Combine::kAdd, places, src.data(), dst.data());
    EXPECT_TRUE(same_bits<float>({2, 0, -0.0f}, dst)) << name;
  });
}

template <class I>
void check_one_hot(const OneHotShape& s, const std::vector<I>& indices) {
  const uint16_t off_on[] = {0x7e01, 0x3c00};
  std::vector<uint16_t> expected;
  for (int64_t e = 0; e < s.outer * s.depth * s.inner; ++e) {
    const Index at = position({s.outer, s.depth, s.inner}, e);
    const I index = indices[static_cast<size_t>(at[0] * s.inner + at[2])];
    const bool on = std::cmp_equal(index, at[1]) || std::cmp_equal(index, at[1] - s.depth);
    expected.push_back(off_on[on ? 1 : 0]);
  }
  for_each_context([&](const KernelContext& ctx, const std::string& name) {
    std::vector<uint16_t> dst(expected.size());
    one_hot(ctx, 2, s, indices.data(), off_on, dst.data());
    EXPECT_EQ(expected, dst) << name;
  });
}

TEST(OneHot, IndicesOutsideHaveNoPlace) {
  check_one_hot<int64_t>({2, 4, 3}, {0, 3, -1, -4, 4, INT64_MIN});
  check_one_hot<uint64_t>({1, 4, 3}, {0, 3, UINT64_MAX});
  check_one_hot<int8_t>({3, 5, 1}, {-5, -6, 127});
  check_one_hot<uint8_t>({3, 300, 1}, {0, 255, 44});
  check_one_hot<int32_t>({2, 0, 2}, {0, 1, 2, 3});
  check_one_hot<int16_t>({0, 3, 2}, {});
}

}  // namespace
}  // namespace isobit::kernels
