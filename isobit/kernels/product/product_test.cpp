// The geometry against the scalar references, which know nothing of it: for random shapes, the terms of every output,
// added by a naive loop in the written order, give the bits of the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "isobit/kernels/conv/reference.h"
#include "isobit/kernels/matmul/ordered_oracle.h"
#include "isobit/kernels/matmul/reference.h"
#include "isobit/kernels/product/im2col.h"
#include "isobit/kernels/product/lines.h"
#include "isobit/kernels/product/terms.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels::product {
namespace {

using testing::Values;

constexpr int kShapes = 150;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  bool one_in(int64_t n) { return in(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

ConvShape random_shape(Random& random) {
  ConvShape s;
  s.groups = random.one_in(3) ? random.in(2, 3) : 1;
  // Both sides of the block of 16 channels, but not both counts large.
  const int64_t icg = random.one_in(3) ? random.in(15, 36) : random.in(1, 4);
  const int64_t ocg = icg < 5 && random.one_in(3) ? random.in(15, 36) : random.in(1, 4);
  s.ic = icg * s.groups;
  s.oc = ocg * s.groups;
  s.n = random.one_in(8) ? 0 : random.in(1, 3);
  s.kh = random.in(1, 4);
  s.kw = random.one_in(12) ? 9 : random.in(1, 4);
  s.stride_h = random.in(1, 3);
  s.stride_w = random.in(1, 3);
  s.dilation_h = random.in(1, 3);
  s.dilation_w = random.in(1, 2);
  s.pad_top = random.in(0, 3);
  s.pad_left = random.in(0, 5);
  s.pad_bottom = random.in(0, 3);
  s.pad_right = random.in(0, 3);
  const int64_t h = s.dilation_h * (s.kh - 1) + 1, w = s.dilation_w * (s.kw - 1) + 1;
  // Some images so large that the weights' gradient has a chunk of rows, not of images.
  const bool large = s.ic + s.oc < 30 && random.one_in(4);
  s.ih = std::max<int64_t>(1, h - s.pad_top - s.pad_bottom) + (large ? random.in(15, 40) : random.in(0, 6));
  s.iw = std::max<int64_t>(1, w - s.pad_left - s.pad_right) + (large ? random.in(15, 60) : random.in(0, 7));
  return s;
}

std::string text(const ConvShape& s) {
  std::string t = "n ic ih iw oc kh kw sh sw pt pl pb pr dh dw groups =";
  for (int64_t v : {s.n, s.ic, s.ih, s.iw, s.oc, s.kh, s.kw, s.stride_h, s.stride_w, s.pad_top, s.pad_left,
                    s.pad_bottom, s.pad_right, s.dilation_h, s.dilation_w, s.groups}) {
    t += ' ' + std::to_string(v);
  }
  return t;
}

// A product with arrays of its own, and what the reference makes of it.
template <class T>
struct Case {
  std::string name;
  Product<T> product;
  std::vector<T> left, right, bias, out, expected;
};

template <class T>
std::vector<T> numbers(int64_t n, Random& random) {
  const auto kind = random.one_in(4) ? Values::kSpecial : Values::kUnit;
  return testing::random_values<T>(static_cast<size_t>(n), kind, static_cast<uint64_t>(random.in(0, 1 << 30)));
}

template <class T>
std::unique_ptr<Case<T>> conv_case(Random& random, Direction direction) {
  const ConvShape s = random_shape(random);
  auto c = std::make_unique<Case<T>>();
  c->name = text(s) + ", direction " + std::to_string(static_cast<int>(direction));
  const int64_t src = s.n * s.ic * s.ih * s.iw, dst = s.n * s.oc * s.oh() * s.ow();
  const int64_t weights = s.oc * (s.ic / s.groups) * s.kh * s.kw;
  const bool biased = direction == Direction::kForward && random.one_in(2);
  c->bias = numbers<T>(biased ? s.oc : 0, random);
  const T* bias = biased ? c->bias.data() : nullptr;
  switch (direction) {
    case Direction::kForward:
      c->right = numbers<T>(src, random);
      c->left = numbers<T>(weights, random);
      c->expected.resize(static_cast<size_t>(dst));
      reference::conv_forward(s, c->right.data(), c->left.data(), bias, c->expected.data());
      break;
    case Direction::kGradSrc:
      c->right = numbers<T>(dst, random);
      c->left = numbers<T>(weights, random);
      c->expected.resize(static_cast<size_t>(src));
      reference::conv_grad_src(s, c->right.data(), c->left.data(), c->expected.data());
      break;
    case Direction::kGradWeights:
      c->right = numbers<T>(src, random);
      c->left = numbers<T>(dst, random);
      c->expected.resize(static_cast<size_t>(weights));
      reference::conv_grad_weights(s, c->right.data(), c->left.data(), c->expected.data());
      break;
  }
  c->out.resize(c->expected.size());
  c->product = product_of(s, direction, c->right.data(), c->left.data(), bias, c->out.data());
  return c;
}

template <class T>
std::unique_ptr<Case<T>> matmul_case(Random& random) {
  auto c = std::make_unique<Case<T>>();
  MatmulArgs<T> p;
  p.m = random.one_in(8) ? 0 : random.in(1, 7);
  p.n = random.one_in(8) ? 0 : random.in(1, 7);
  p.k = random.one_in(8) ? 0 : random.one_in(6) ? random.in(4090, 4400) : random.in(1, 600);
  p.batch = random.in(0, 3);
  const int64_t gap = random.in(0, 2);
  const bool ta = random.one_in(2), tb = random.one_in(2), shared = random.one_in(3);
  p.a_row_stride = ta ? 1 : p.k + gap, p.a_col_stride = ta ? p.m + gap : 1;
  p.b_row_stride = tb ? 1 : p.n + gap, p.b_col_stride = tb ? p.k + gap : 1;
  p.a_batch_stride = shared ? 0 : (p.m + gap) * (p.k + gap);
  p.b_batch_stride = (p.n + gap) * (p.k + gap);
  p.c_row_stride = p.n + gap;
  p.c_batch_stride = p.m * p.c_row_stride;
  c->left = numbers<T>(4 * (p.m + gap) * (p.k + gap) + 1, random);
  c->right = numbers<T>(4 * (p.n + gap) * (p.k + gap) + 1, random);
  c->bias = numbers<T>(p.n + 1, random);
  c->expected.assign(static_cast<size_t>(p.batch * p.c_batch_stride), T(77));
  c->out = c->expected;
  p.a = c->left.data();
  p.b = c->right.data();
  p.bias = random.one_in(2) ? c->bias.data() : nullptr;
  p.c = c->expected.data();
  reference::matmul(p);
  p.c = c->out.data();
  c->name = "m n k batch gap ta tb shared = ";
  for (int64_t v : {p.m, p.n, p.k, p.batch, gap, int64_t{ta}, int64_t{tb}, int64_t{shared}}) {
    c->name += std::to_string(v) + " ";
  }
  c->product = product_of(p);
  return c;
}

template <class T, class F>
void for_each_case(F f) {
  for (int q = 0; q < kShapes; ++q) {
    Random random(static_cast<uint64_t>(q) + 1);
    const auto c = q % 4 == 0 ? matmul_case<T>(random) : conv_case<T>(random, static_cast<Direction>(q % 4 - 1));
    SCOPED_TRACE("seed " + std::to_string(q + 1) + ": " + c->name);
    f(*c, random);
    if (::testing::Test::HasFailure()) return;
  }
}

template <class T>
T sum_in_written_order(const Matrices<T>& batch, const Order& order, int64_t i, int64_t j) {
  const WrittenTerms<T> terms(batch, order, i, j);
  std::vector<testing::Term<T>> list;
  for (int64_t p = 0; p < terms.count(); ++p) list.push_back({terms[p].left, terms[p].right, terms[p].chunk});
  const T bias = batch.bias(i, j);
  return testing::ordered_oracle(list, batch.row_bias || batch.column_bias ? &bias : nullptr);
}

template <class T>
class Geometries : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Geometries, Types);

TYPED_TEST(Geometries, TermsInTheirWrittenOrderGiveTheBitsOfTheReference) {
  for_each_case<TypeParam>([](Case<TypeParam>& c, Random&) {
    const Geometry& g = c.product.geometry;
    for (int64_t b = 0; b < g.batches; ++b) {
      const Matrices<TypeParam> batch = batch_of(c.product, b);
      for (int64_t i = 0; i < g.m; ++i) {
        for (int64_t j = 0; j < g.n; ++j) batch.out[batch.at(i, j)] = sum_in_written_order(batch, g.order, i, j);
      }
    }
    EXPECT_TRUE(testing::same_bits(c.expected, c.out));
  });
}

TYPED_TEST(Geometries, PlacesCoverEveryOutputOnce) {
  for_each_case<TypeParam>([](Case<TypeParam>& c, Random&) {
    const Geometry& g = c.product.geometry;
    std::vector<int> times(c.out.size(), 0);
    for (int64_t b = 0; b < g.batches; ++b) {
      const Matrices<TypeParam> batch = batch_of(c.product, b);
      for (int64_t i = 0; i < g.m; ++i) {
        for (int64_t j = 0; j < g.n; ++j) {
          ASSERT_EQ(batch.offset + batch.at(i, j), g.out.at(b, i, j));
          ++times.at(static_cast<size_t>(batch.offset + batch.at(i, j)));
        }
      }
    }
    // Rows of a matrix may have a gap behind them; nothing else is left out.
    ASSERT_TRUE(std::all_of(times.begin(), times.end(), [](int count) { return count <= 1; }));
    ASSERT_EQ(std::count(times.begin(), times.end(), 1), g.batches * g.m * g.n);
    if (g.out.row_stride == g.n || g.left.kind != SideKind::kStrided || g.right.kind != SideKind::kStrided) {
      ASSERT_EQ(static_cast<int64_t>(times.size()), g.batches * g.m * g.n);
    }
  });
}

template <class T>
void expect_lines_agree(const Lines<T>& lines, Random& random) {
  const auto k = static_cast<size_t>(lines.k());
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < lines.count(); ++i) {
    if (lines.count() < 12 || random.one_in(lines.count() / 6)) numbers.push_back(i);
  }
  std::vector<T> many(numbers.size() * k), expected;
  lines.read(std::span<const int64_t>(numbers), many.data());
  std::vector<typename Lines<T>::Place> places;
  std::vector<int64_t> some;
  for (int64_t l = 0; l < lines.k(); ++l) {
    if (!random.one_in(3)) continue;
    some.push_back(l);
    places.push_back(lines.place(l));
  }
  for (size_t q = 0; q < numbers.size(); ++q) {
    std::vector<T> elements, read(k), gathered(places.size()), chosen;
    for (int64_t l = 0; l < lines.k(); ++l) elements.push_back(lines.element(numbers[q], l));
    lines.prefetch(numbers[q]);
    lines.read(numbers[q], read.data());
    ASSERT_TRUE(testing::same_bits(elements, read));
    ASSERT_TRUE(testing::same_bits(std::span<const T>(elements), std::span<const T>(many).subspan(q * k, k)));
    for (int64_t l : some) chosen.push_back(elements[static_cast<size_t>(l)]);
    lines.gather(numbers[q], places, gathered.data());
    ASSERT_TRUE(testing::same_bits(chosen, gathered));
    if (const T* at = lines.contiguous(numbers[q]); at != nullptr) {
      ASSERT_TRUE(testing::same_bits(std::span<const T>(elements), std::span<const T>(at, k)));
    }
  }
}

TYPED_TEST(Geometries, LinesAgreeWithTheirElements) {
  for_each_case<TypeParam>([](Case<TypeParam>& c, Random& random) {
    for (int64_t b = 0; b < c.product.geometry.batches; ++b) {
      const Matrices<TypeParam> batch = batch_of(c.product, b);
      expect_lines_agree(batch.left, random);
      expect_lines_agree(batch.right, random);
    }
  });
}

TYPED_TEST(Geometries, MergedStridesReadTheSame) {
  for_each_case<TypeParam>([](Case<TypeParam>& c, Random&) {
    Side side = c.product.geometry.left;
    side.strides = merged(side.strides, side.k);
    const Lines<TypeParam> given(c.product.geometry.left, c.product.left), whole(side, c.product.left);
    for (int64_t i = 0; i < side.lines && c.product.geometry.batches > 0; ++i) {
      for (int64_t l = 0; l < side.k; ++l) {
        const TypeParam a = given.element(i, l), b = whole.element(i, l);
        ASSERT_EQ(numerics::bits_of(a), numerics::bits_of(b));
      }
    }
  });
}

// The element under a tap at the position (image, y, x) of a part, read by its displacement.
template <class T>
T displaced(const Product<T>& p, const WindowGrid& g, const Tap& tap, int64_t channel, int64_t image, int64_t y,
            int64_t x) {
  const int64_t row = y * g.step_h + tap.y, column = x * g.step_w + tap.x;
  if (row < 0 || row >= g.plane_h || column < 0 || column >= g.plane_w) return T{0};
  return p.right[image * g.image_stride + channel * g.channel_stride + row * g.plane_w + column];
}

// Every position in one part; under a displaced tap lies what the windows say; what is left out meets no place.
template <class T>
void expect_parts_agree(const Product<T>& p, Missing missing) {
  const Lines<T> lines(p.geometry.right, p.right);
  const Windows& w = p.geometry.right.windows;
  const bool by_position = p.geometry.right.kind == SideKind::kPositions;
  std::vector<int> times(static_cast<size_t>(w.positions()), 0);
  for (int64_t q = 0; q < part_count(w); ++q) {
    const WindowPart part(w, q, missing);
    const WindowGrid& g = part.grid;
    const std::span<const Tap> taps(g.taps, static_cast<size_t>(g.tap_count));
    const Placement place = placement_of(p.geometry.out, w, part);
    std::vector<char> taken(static_cast<size_t>(w.taps()), 0);
    for (const Tap& tap : taps) taken.at(static_cast<size_t>(tap.index)) = 1;
    for (int64_t y = 0; y < g.grid_h; ++y) {
      for (int64_t x = 0; x < g.grid_w; ++x) {
        const int64_t position =
            (part.first_h + y * part.stride_h) * w.columns.positions + part.first_w + x * part.stride_w;
        ++times.at(static_cast<size_t>(position));
        for (int64_t image = 0; image < w.images; ++image) {
          const int64_t column = image * w.positions() + position;
          if (by_position) {
            ASSERT_EQ(place.at(0, 0, (image * g.grid_h + y) * g.grid_w + x), p.geometry.out.at(0, 0, column));
          }
          const auto element = [&](int64_t row) {
            return by_position ? lines.element(column, row) : lines.element(row, column);
          };
          for (int64_t t = 0; t < w.taps(); ++t) {
            if (taken[static_cast<size_t>(t)]) continue;
            ASSERT_EQ(numerics::bits_of(element(t)), numerics::bits_of(T{0}));
          }
          for (const Tap& tap : taps) {
            const int64_t channel = w.channels - 1;
            ASSERT_EQ(numerics::bits_of(element(channel * w.taps() + tap.index)),
                      numerics::bits_of(displaced(p, g, tap, channel, image, y, x)));
          }
        }
      }
    }
  }
  ASSERT_EQ(std::count(times.begin(), times.end(), 1), w.positions());
}

TYPED_TEST(Geometries, PartsOfWindowsHoldEveryPositionOnceAndReadTheSame) {
  for_each_case<TypeParam>([](Case<TypeParam>& c, Random& random) {
    if (c.product.geometry.right.kind == SideKind::kStrided) return;
    expect_parts_agree(c.product, random.one_in(2) ? Missing::kSkipped : Missing::kDisplaced);
  });
}

TYPED_TEST(Geometries, RowsOfWindowsAgreeWithElements) {
  for_each_case<TypeParam>([](Case<TypeParam>& c, Random& random) {
    const Side& side = c.product.geometry.right;
    if (side.kind == SideKind::kStrided) return;
    const Windows& w = side.windows;
    const Lines<TypeParam> lines(side, c.product.right);
    const int64_t columns = w.images * w.positions();
    for (int64_t row = 0; row < w.channels * w.taps(); ++row) {
      const int64_t first = random.in(0, columns), last = random.in(first, columns);
      std::vector<TypeParam> expected, found(static_cast<size_t>(last - first), TypeParam(5));
      for (int64_t q = first; q < last; ++q) {
        expected.push_back(side.kind == SideKind::kPositions ? lines.element(q, row) : lines.element(row, q));
      }
      read_row(w, c.product.right, row, first, last, found.data(),
               [](int64_t n, const TypeParam* from, TypeParam* to) { std::copy_n(from, n, to); });
      ASSERT_TRUE(testing::same_bits(expected, found)) << "row " << row << ", columns " << first << " to " << last;
    }
  });
}

TEST(ContractsDeathTest, WindowsThatNothingComputesAreRefused) {
  ConvShape strided;
  strided.ih = strided.iw = 9;
  strided.kh = strided.kw = 3;
  strided.stride_h = 2;
  ThreadPool pool(1);
  float planes[81] = {}, matrix[81 * 9];
  EXPECT_DEATH(im2col(pool, backward_windows(strided), {.end = 1}, planes, matrix), "divisor");
  EXPECT_DEATH(col2im(pool, backward_windows(strided), {.end = 1}, matrix, planes), "divisor");
  Windows both = forward_windows(strided);
  both.rows.divisor = 2;
  EXPECT_DEATH(WindowPart(both, 0, Missing::kDisplaced), "divisor");
  ConvShape wide;
  wide.iw = int64_t{1} << 31;
  EXPECT_DEATH(conv_geometry(wide, Direction::kForward), "INT32_MAX");
}

// So that the test above is known to have seen what it is about.
// Against term by term, from every term to every limit.
TEST(Orders, WholeChunksEndWhereTheyDoTermByTerm) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    Order order;
    order.period = random.in(1, 40);
    order.periods = random.in(1, 5);
    order.chunk = random.in(1, 50);
    const int64_t k = order.periods * order.period;
    for (int64_t p = 0; p <= k; ++p) {
      for (int64_t most = p; most <= k; ++most) {
        int64_t whole = p;
        for (int64_t end = p + 1; end <= most; ++end) {
          if (end == k || order.chunk_of(end) != order.chunk_of(end - 1)) whole = end;
        }
        ASSERT_EQ(order.end_of_chunks(p, most), whole)
            << p << " " << most << " of " << order.periods << " x " << order.period << " in " << order.chunk;
      }
    }
  }
  Order huge{.periods = 1, .period = int64_t{1} << 60, .chunk = 64};
  EXPECT_EQ(huge.end_of_chunks(5, huge.period - 1), huge.period - 64);
  huge = {.periods = int64_t{1} << 60, .period = 1, .chunk = 64};
  EXPECT_EQ(huge.end_of_chunks(5, huge.periods - 1), huge.periods - 1);
}

TEST(Shapes, AreOfEveryKind) {
  int empty = 0, strided = 0, grouped = 0, blocks = 0, dilated = 0, padded = 0, short_chunks = 0;
  for (int q = 0; q < kShapes; ++q) {
    Random random(static_cast<uint64_t>(q) + 1);
    const ConvShape s = random_shape(random);
    empty += s.n == 0;
    strided += s.stride_h > 1 && s.stride_w > 1;
    grouped += s.groups > 1;
    blocks += std::max(s.ic, s.oc) / s.groups > 16 && s.kh * s.kw > 1;
    dilated += s.dilation_h > 1;
    padded += s.pad_left > 0 && s.pad_bottom > 0;
    short_chunks += s.n > 1 && s.oh() * s.ow() > 128 && s.oh() % std::max<int64_t>(1, 256 / s.ow()) != 0;
  }
  for (int count : {empty, strided, grouped, blocks, dilated, padded, short_chunks}) EXPECT_GE(count, 5);
}

}  // namespace
}  // namespace isobit::kernels::product
