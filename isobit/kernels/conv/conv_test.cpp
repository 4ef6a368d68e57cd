#include "isobit/kernels/conv/conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "isobit/kernels/conv/reference.h"
#include "isobit/kernels/matmul/ordered_oracle.h"
#include "isobit/kernels/product/ending.h"
#include "isobit/kernels/testing.h"

namespace isobit::kernels {
namespace {

using testing::NaiveSum;
using testing::Term;
using testing::Values;

std::string text(const ConvShape& s) {
  std::string t = "n ic ih iw oc kh kw sh sw pt pl pb pr dh dw groups =";
  for (int64_t v : {s.n, s.ic, s.ih, s.iw, s.oc, s.kh, s.kw, s.stride_h, s.stride_w, s.pad_top, s.pad_left,
                    s.pad_bottom, s.pad_right, s.dilation_h, s.dilation_w, s.groups}) {
    t += ' ';
    t += std::to_string(v);
  }
  return t;
}

enum class Data { kUnit, kZeroed, kSparseSpecial };

template <class T>
std::vector<T> numbers(int64_t n, Data kind, uint64_t seed) {
  std::vector<T> v = testing::random_values<T>(static_cast<size_t>(n), Values::kUnit, seed);
  if (kind == Data::kZeroed) {
    // What ReLU leaves behind, and products that underflow.
    for (size_t i = 0; i < v.size(); ++i) {
      if (v[i] < 0)
        v[i] = i % 2 ? T(0) : T(-0.0);
      else if (i % 3 == 0)
        v[i] = (i % 2 ? 1 : -1) * std::sqrt(std::numeric_limits<T>::denorm_min());
    }
  }
  if (kind == Data::kSparseSpecial) {
    const std::vector<T> special = testing::special_values<T>();
    for (size_t i = seed % 37; i < v.size(); i += 131) v[i] = special[(i + seed) % special.size()];
  }
  return v;
}

template <class T>
struct Operands {
  ConvShape s;
  std::vector<T> src, weights, bias, diff_dst;

  Operands(const ConvShape& shape, Data kind, uint64_t seed)
      : s(shape),
        src(numbers<T>(s.n * s.ic * s.ih * s.iw, kind, seed)),
        weights(numbers<T>(s.oc * (s.ic / s.groups) * s.kh * s.kw, kind, seed + 1)),
        bias(numbers<T>(s.oc, kind, seed + 2)),
        diff_dst(numbers<T>(s.n * s.oc * s.oh() * s.ow(), kind, seed + 3)) {}
};

// ---- the written order, from lists of keyed terms

template <class T>
struct KeyedTerm {
  std::tuple<int64_t, int64_t, int64_t, int64_t> key;
  Term<T> term;
};

template <class T>
std::vector<Term<T>> in_order(std::vector<KeyedTerm<T>> list) {
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  std::vector<Term<T>> terms;
  for (const KeyedTerm<T>& t : list) terms.push_back(t.term);
  return terms;
}

int64_t channel_chunk(const ConvShape& s, int64_t channel) {
  const long blocks = std::lround(256.0 / static_cast<double>(16 * s.kh * s.kw));
  return channel / 16 / std::max(1L, blocks);
}

// Calls f(n, oc, ic in group, oh, ow, kh, kw, src index or -1 for padding).
template <class F>
void for_each_product(const ConvShape& s, F f) {
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups;
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t oc = 0; oc < s.oc; ++oc) {
      for (int64_t c = 0; c < icg; ++c) {
        for (int64_t oh = 0; oh < s.oh(); ++oh) {
          for (int64_t ow = 0; ow < s.ow(); ++ow) {
            for (int64_t y = 0; y < s.kh; ++y) {
              for (int64_t x = 0; x < s.kw; ++x) {
                const int64_t iy = oh * s.stride_h + y * s.dilation_h - s.pad_top;
                const int64_t ix = ow * s.stride_w + x * s.dilation_w - s.pad_left;
                const bool in = iy >= 0 && iy < s.ih && ix >= 0 && ix < s.iw;
                f(n, oc, c, oh, ow, y, x, in ? ((n * s.ic + oc / ocg * icg + c) * s.ih + iy) * s.iw + ix : -1);
              }
            }
          }
        }
      }
    }
  }
}

template <class T>
void compare(const std::vector<std::vector<KeyedTerm<T>>>& lists, const std::vector<T>& found, const T* bias,
             int64_t outputs_per_bias, Data kind, const ConvShape& s, const char* what) {
  ASSERT_EQ(lists.size(), found.size());
  for (size_t i = 0; i < lists.size(); ++i) {
    const std::vector<Term<T>> terms = in_order(lists[i]);
    const T* b = bias ? bias + static_cast<int64_t>(i) / outputs_per_bias % s.oc : nullptr;
    const T written = testing::ordered_oracle(terms, b);
    ASSERT_EQ(numerics::bits_of(written), numerics::bits_of(found[i])) << what << " at " << i << ": " << text(s);
    if (kind != Data::kUnit) continue;
    const NaiveSum<T> naive(terms, b);
    ASSERT_NEAR(naive.value, static_cast<double>(found[i]), naive.tolerance) << what << " at " << i << ": " << text(s);
  }
}

template <class T>
struct Results {
  std::vector<T> dst, plain_dst, diff_src, diff_weights;
};

template <class T>
Results<T> outputs_for(const Operands<T>& o) {
  return {std::vector<T>(o.diff_dst.size(), T(-77)), std::vector<T>(o.diff_dst.size(), T(-77)),
          std::vector<T>(o.src.size(), T(-77)), std::vector<T>(o.weights.size(), T(-77))};
}

template <class T>
Results<T> reference_results(const Operands<T>& o) {
  Results<T> r = outputs_for(o);
  reference::conv_forward(o.s, o.src.data(), o.weights.data(), o.bias.data(), r.dst.data());
  reference::conv_forward(o.s, o.src.data(), o.weights.data(), static_cast<const T*>(nullptr), r.plain_dst.data());
  reference::conv_grad_src(o.s, o.diff_dst.data(), o.weights.data(), r.diff_src.data());
  reference::conv_grad_weights(o.s, o.src.data(), o.diff_dst.data(), r.diff_weights.data());
  return r;
}

// Only where every weight is finite: missing taps are left out of the lists of the gradient of src.
template <class T>
void check_reference(const ConvShape& s, Data kind, uint64_t seed) {
  const Operands<T> o(s, kind, seed);
  const Results<T> r = reference_results(o);
  std::vector<std::vector<KeyedTerm<T>>> dst(r.dst.size()), diff_src(r.diff_src.size()), diff_w(r.diff_weights.size());
  const int64_t icg = s.ic / s.groups, ocg = s.oc / s.groups, oh_ = s.oh(), ow_ = s.ow(), area = oh_ * ow_;
  for_each_product(s, [&](int64_t n, int64_t oc, int64_t c, int64_t oh, int64_t ow, int64_t y, int64_t x, int64_t at) {
    const int64_t d = ((n * s.oc + oc) * oh_ + oh) * ow_ + ow, w = ((oc * icg + c) * s.kh + y) * s.kw + x;
    const T value = at < 0 ? T(0) : o.src[static_cast<size_t>(at)];
    const T weight = o.weights[static_cast<size_t>(w)], grad = o.diff_dst[static_cast<size_t>(d)];
    dst[static_cast<size_t>(d)].push_back({{c / 16, y, x, c % 16}, {weight, value, channel_chunk(s, c)}});
    const int64_t o_in = oc % ocg;
    if (at >= 0) {
      diff_src[static_cast<size_t>(at)].push_back(
          {{o_in / 16, y, x, o_in % 16}, {grad, weight, channel_chunk(s, o_in)}});
    }
    const int64_t rows = std::max<int64_t>(1, 256 / ow_);
    const int64_t chunk = area <= 128 ? n / (256 / area) : n * oh_ + oh / rows;
    diff_w[static_cast<size_t>(w)].push_back({{n, oh, ow, 0}, {value, grad, chunk}});
  });
  compare(dst, r.dst, o.bias.data(), area, kind, s, "forward");
  compare<T>(dst, r.plain_dst, nullptr, area, kind, s, "forward without bias");
  compare<T>(diff_src, r.diff_src, nullptr, 1, kind, s, "gradient of src");
  compare<T>(diff_w, r.diff_weights, nullptr, 1, kind, s, "gradient of weights");
}

// What an ending makes of outputs: each its own operation, over all of them.
template <class T>
std::vector<T> ended(std::vector<T> outputs, const Ending<T>& ending) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    T& x = outputs[i];
    if (ending.addend != nullptr) x += ending.addend[i];
    if (ending.relu && !(x > 0) && !std::isnan(x)) x = 0;
    x = numerics::canonical(x);
  }
  return outputs;
}

template <class T>
void check_kernels(const ConvShape& s, Data kind, uint64_t seed, bool all_threads) {
  const Operands<T> o(s, kind, seed);
  const Results<T> expected = reference_results(o);
  for (int threads : all_threads ? std::vector<int>{1, 2, 3, 8} : std::vector<int>{1, 2}) {
    ThreadPool pool(threads);
    for (Isa isa : available_isas()) {
      if (isa == Isa::kReference && threads > 1) continue;
      const KernelContext ctx{isa, &pool};
      Results<T> r = outputs_for(o);
      conv_forward(ctx, s, o.src.data(), o.weights.data(), o.bias.data(), r.dst.data());
      conv_forward(ctx, s, o.src.data(), o.weights.data(), static_cast<const T*>(nullptr), r.plain_dst.data());
      conv_grad_src(ctx, s, o.diff_dst.data(), o.weights.data(), r.diff_src.data());
      conv_grad_weights(ctx, s, o.src.data(), o.diff_dst.data(), r.diff_weights.data());
      const std::string where = std::string(" on ") + name_of(isa) + "/" + std::to_string(threads) + "t, seed " +
                                std::to_string(seed) + ": " + text(s);
      ASSERT_TRUE(testing::same_bits(expected.dst, r.dst)) << "forward" << where;
      ASSERT_TRUE(testing::same_bits(expected.plain_dst, r.plain_dst)) << "forward without bias" << where;
      ASSERT_TRUE(testing::same_bits(expected.diff_src, r.diff_src)) << "gradient of src" << where;
      ASSERT_TRUE(testing::same_bits(expected.diff_weights, r.diff_weights)) << "gradient of weights" << where;
      if (threads != 2 && isa != Isa::kReference) continue;  // no more depends on who computes a tile
      for (const Ending<T>& ending :
           {Ending<T>{o.diff_dst.data(), true}, {o.diff_dst.data(), false}, {nullptr, true}}) {
        conv_forward(ctx, s, o.src.data(), o.weights.data(), o.bias.data(), r.dst.data(), nullptr, &ending);
        ASSERT_TRUE(testing::same_bits(ended(expected.dst, ending), r.dst))
            << (ending.addend != nullptr ? "added" : "not added") << (ending.relu ? ", relu" : "") << where;
      }
    }
  }
}

std::vector<ConvShape> edge_shapes() {
  std::vector<ConvShape> shapes;
  for (int64_t ic : {1, 3, 8, 16, 17, 33}) {
    shapes.push_back({2, ic, 9, 7, 18, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});
    shapes.push_back({1, ic, 6, 6, 5, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1});
    shapes.push_back({2, ic, 8, 9, 4, 2, 3, 2, 1, 0, 1, 1, 2, 1, 2, 1});
  }
  shapes.push_back({2, 5, 11, 10, 6, 3, 2, 2, 3, 1, 0, 2, 1, 2, 1, 1});   // all different
  shapes.push_back({3, 8, 7, 7, 12, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 4});    // groups
  shapes.push_back({2, 6, 8, 8, 6, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 6});     // depthwise, strided
  shapes.push_back({2, 20, 8, 8, 34, 1, 1, 2, 2, 0, 0, 0, 0, 1, 1, 1});   // 1x1 with stride
  shapes.push_back({1, 3, 12, 12, 4, 7, 7, 2, 2, 3, 3, 3, 3, 1, 1, 1});   // the first layer of a residual network
  shapes.push_back({1, 2, 4, 4, 3, 5, 5, 1, 1, 4, 4, 4, 4, 1, 1, 1});     // windows wholly in padding
  shapes.push_back({1, 2, 5, 5, 3, 2, 2, 3, 3, 0, 0, 0, 0, 1, 1, 1});     // rows of src under no window
  shapes.push_back({1, 2, 3, 3, 2, 3, 3, 5, 5, 1, 1, 1, 1, 1, 1, 1});     // stride beyond the image
  shapes.push_back({260, 2, 3, 3, 2, 3, 3, 1, 1, 0, 0, 0, 0, 1, 1, 1});   // outputs of 1x1: chunks of 256 images
  shapes.push_back({70, 2, 4, 4, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});    // chunks of 16 images
  shapes.push_back({4, 2, 8, 16, 3, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1});    // 128 outputs: two images
  shapes.push_back({3, 2, 3, 43, 3, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1});    // 129 outputs: one image
  shapes.push_back({2, 2, 13, 30, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});   // rows that do not divide the image
  shapes.push_back({1, 1, 4, 300, 2, 1, 3, 1, 1, 0, 1, 0, 1, 1, 1, 1});   // rows longer than a chunk
  shapes.push_back({20, 2, 14, 14, 2, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1});  // more than one block
  shapes.push_back({1, 600, 2, 3, 2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});   // more than one block of channels
  shapes.push_back({1, 2, 3, 3, 600, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1});   // the same for the gradient of src
  // Read from planes with a border: whole vectors of rows, rows that end within one, vectors over several rows, each on
  // machines of other vectors; one channel and several chunks; images that do not fit a block together.
  shapes.push_back({3, 16, 6, 32, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  shapes.push_back({2, 48, 5, 21, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  shapes.push_back({5, 1, 10, 10, 8, 5, 5, 1, 1, 2, 2, 2, 2, 1, 1, 1});
  shapes.push_back({2, 32, 9, 10, 4, 3, 2, 1, 1, 0, 2, 1, 0, 2, 3, 2});
  shapes.push_back({2, 32, 64, 68, 1, 2, 2, 1, 1, 1, 0, 0, 1, 1, 1, 1});
  shapes.push_back({17, 16, 3, 3, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});  // a vector of images
  // The same with steps, whose places are planes of their own: of two, of others, of more than are read so; in chunks.
  shapes.push_back({2, 3, 31, 37, 7, 7, 7, 2, 2, 3, 2, 3, 3, 1, 1, 1});
  shapes.push_back({3, 1, 20, 43, 9, 7, 7, 3, 2, 1, 4, 0, 3, 1, 1, 1});
  shapes.push_back({2, 2, 23, 21, 5, 9, 8, 2, 3, 4, 3, 4, 4, 1, 1, 1});
  shapes.push_back({1, 4, 33, 50, 6, 9, 10, 4, 4, 2, 0, 1, 5, 1, 1, 1});
  shapes.push_back({1, 2, 26, 27, 6, 9, 9, 5, 5, 2, 2, 2, 2, 1, 1, 1});
  shapes.push_back({2, 48, 13, 21, 3, 7, 7, 2, 2, 3, 3, 3, 3, 1, 1, 1});
  shapes.push_back({2, 3, 30, 30, 18, 6, 6, 2, 2, 2, 2, 2, 2, 2, 3, 1});
  // One tap: images and channels as they lie, long and short, ragged and whole, in groups, and of every other place.
  shapes.push_back({3, 20, 16, 17, 18, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1});
  shapes.push_back({3, 300, 16, 16, 7, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1});
  shapes.push_back({2, 12, 16, 16, 8, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 2});
  shapes.push_back({3, 20, 32, 33, 18, 1, 1, 2, 2, 0, 0, 0, 0, 1, 1, 1});
  shapes.push_back({1, 3, 16, 16, 4, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1});
  // Planes of about a page, whose outputs are written along: of windows, and of one tap.
  shapes.push_back({2, 3, 24, 23, 14, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  shapes.push_back({2, 20, 25, 25, 13, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1});
  shapes.push_back({9, 20, 12, 12, 13, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1});  // a thread has several images
  // Every other place of long rows, with and without a border.
  shapes.push_back({2, 5, 9, 70, 6, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 1});
  shapes.push_back({2, 17, 5, 64, 3, 2, 2, 1, 2, 0, 0, 0, 0, 1, 1, 1});
  shapes.push_back({9, 4, 14, 14, 6, 3, 5, 2, 2, 1, 2, 1, 2, 1, 1, 1});
  return shapes;
}

TEST(Conv, ChunkOfChannelBlocks) {
  EXPECT_EQ(channel_blocks_per_chunk(1), 16);
  EXPECT_EQ(channel_blocks_per_chunk(9), 2);
  EXPECT_EQ(channel_blocks_per_chunk(25), 1);
  for (int64_t taps = 1; taps < 400; ++taps) {
    EXPECT_EQ(channel_blocks_per_chunk(taps), std::max(1L, std::lround(256.0 / static_cast<double>(16 * taps))));
  }
}

TEST(Conv, ReferenceIsTheWrittenOrder) {
  uint64_t seed = 1;
  for (const ConvShape& s : edge_shapes()) {
    check_reference<float>(s, Data::kUnit, ++seed);
    check_reference<float>(s, Data::kZeroed, ++seed);
    check_reference<double>(s, Data::kUnit, ++seed);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv, EveryIsaAndThreadCountGivesTheReferenceBits) {
  uint64_t seed = 100;
  for (const ConvShape& s : edge_shapes()) {
    check_kernels<float>(s, Data::kUnit, ++seed, true);
    check_kernels<float>(s, Data::kZeroed, ++seed, false);
    check_kernels<float>(s, Data::kSparseSpecial, ++seed, false);
    check_kernels<double>(s, Data::kUnit, ++seed, false);
    check_kernels<double>(s, Data::kSparseSpecial, ++seed, false);
    if (HasFatalFailure()) return;
  }
}

TEST(Conv, RandomShapes) {
  std::mt19937_64 random(2024);
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int i = 0; i < 60;) {
    ConvShape s;
    s.groups = pick(1, 3);
    s.n = pick(1, 4);
    s.ic = s.groups * pick(1, 20);
    s.oc = s.groups * pick(1, 20);
    s.ih = pick(1, 14);
    s.iw = pick(1, 14);
    s.kh = pick(1, 4);
    s.kw = pick(1, 4);
    s.stride_h = pick(1, 3);
    s.stride_w = pick(1, 3);
    s.dilation_h = pick(1, 2);
    s.dilation_w = pick(1, 2);
    s.pad_top = pick(0, 2);
    s.pad_left = pick(0, 2);
    s.pad_bottom = pick(0, 2);
    s.pad_right = pick(0, 2);
    if (s.ih + s.pad_top + s.pad_bottom < s.dilation_h * (s.kh - 1) + 1) continue;
    if (s.iw + s.pad_left + s.pad_right < s.dilation_w * (s.kw - 1) + 1) continue;
    check_kernels<float>(s, i % 2 ? Data::kUnit : Data::kSparseSpecial, static_cast<uint64_t>(i), false);
    if (HasFatalFailure()) return;
    ++i;
  }
}

// 0 * Inf on padding and on taps that hit no output, on every ISA.
TEST(Conv, NonFiniteWeightsMeetPaddingAsNan) {
  const ConvShape s{.ih = 4,
                    .iw = 4,
                    .kh = 3,
                    .kw = 3,
                    .stride_h = 2,
                    .stride_w = 2,
                    .pad_top = 1,
                    .pad_left = 1,
                    .pad_bottom = 1,
                    .pad_right = 1};
  std::vector<float> src(16, 1.0f), weights(9, 1.0f), diff_dst(4, 1.0f);
  weights[0] = std::numeric_limits<float>::infinity();
  ThreadPool pool(1);
  for (Isa isa : available_isas()) {
    std::vector<float> dst(4), diff_src(16);
    conv_forward({isa, &pool}, s, src.data(), weights.data(), static_cast<const float*>(nullptr), dst.data());
    EXPECT_EQ(numerics::bits_of(dst[0]), numerics::kNanBitsF32) << name_of(isa);
    EXPECT_EQ(dst[3], std::numeric_limits<float>::infinity()) << name_of(isa);
    conv_grad_src({isa, &pool}, s, diff_dst.data(), weights.data(), diff_src.data());
    EXPECT_EQ(numerics::bits_of(diff_src[0]), numerics::kNanBitsF32) << name_of(isa);
  }
}

TEST(Conv, NoImages) {
  const ConvShape s{.n = 0,
                    .ic = 2,
                    .ih = 4,
                    .iw = 4,
                    .oc = 3,
                    .kh = 3,
                    .kw = 3,
                    .pad_top = 1,
                    .pad_left = 1,
                    .pad_bottom = 1,
                    .pad_right = 1};
  ThreadPool pool(2);
  for (Isa isa : available_isas()) {
    std::vector<float> diff_weights(54, 5.0f);
    const float none = 0;
    conv_grad_weights({isa, &pool}, s, &none, &none, diff_weights.data());
    EXPECT_TRUE(testing::same_bits(std::vector<float>(54, 0.0f), diff_weights));
  }
}

}  // namespace
}  // namespace isobit::kernels
