// Our own kernels and product libraries: what is revealed is what is documented, and explains the bits.
#include <gtest/gtest.h>

#include <map>

#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/vendor/child.h"
#include "isobit/kernels/vendor/vendor.h"
#include "isobit/lab/reveal/confirm.h"
#include "isobit/lab/reveal/engine_sums.h"
#include "isobit/lab/reveal/planted_for_test.h"
#include "isobit/lab/reveal/reveal.h"
#include "isobit/lab/reveal/triples.h"

namespace isobit::lab::reveal {
namespace {

using namespace testing;

// matmul.h: chunks of 256 terms, added to a block total; 16 chunks are a block, added to the result.
SumTree ordered_tree(int64_t k) {
  TreeBuilder b(k);
  std::vector<TreeId> blocks, chunks;
  for (int64_t begin = 0; begin < k; begin += kernels::kMatmulChunk) {
    chunks.push_back(b.chain(b.range(begin, std::min(k, begin + kernels::kMatmulChunk))));
    if (static_cast<int64_t>(chunks.size()) < kernels::kChunksPerBlock && begin + kernels::kMatmulChunk < k) continue;
    blocks.push_back(b.chain(chunks));
    chunks.clear();
  }
  b.chain(blocks);
  return b.tree();
}

TEST(RevealKernels, OurMatrixProductsAddAsWritten) {
  for (const platform::Platform& p : platform::available_platforms()) {
    platform::Engine engine(p);
    for (const Format format : {Format::kFloat32, Format::kFloat64}) {
      for (const int64_t k : {1, 64, 300, 1024}) {
        const auto sum =
            open_summation({.target = Target::kMatmul, .format = format, .k = k, .m = 24, .n = 5}, engine).value();
        const Revealed found = reveal_tree(*sum).value();
        ASSERT_EQ(found.verdict, Verdict::kTree) << p.text() << ": " << found.reason;
        EXPECT_EQ(*found.tree, ordered_tree(k)) << p.text() << " " << k;
        const Confirmation confirmed = confirm(*sum, &*found.tree).value();
        EXPECT_TRUE(confirmed.all(confirmed.plain)) << p.text();
      }
    }
  }
}

TEST(RevealKernels, OurMatrixProductsOfManyTermsToo) {
  platform::Engine engine(platform::parse_platform("ordered").value());
  const auto sum = open_summation({.target = Target::kDot, .k = kMostTerms}, engine).value();
  EXPECT_EQ(reveal_tree(*sum).value().tree.value(), ordered_tree(kMostTerms));
}

TEST(RevealKernels, OurConvolutionsAddBlocksOfChannelsTapByTap) {
  TreeBuilder b(32 * 9);
  std::vector<TreeId> chunks;
  for (int64_t block = 0; block < 2; ++block) {  // 288 terms are a chunk: round(16 / 9) = 2 blocks of 16 channels
    for (int64_t tap = 0; tap < 9; ++tap) {
      for (int64_t c = 0; c < 16; ++c) chunks.push_back(static_cast<TreeId>((block * 16 + c) * 9 + tap));
    }
  }
  b.chain(chunks);
  for (const platform::Platform& p : platform::available_platforms()) {
    platform::Engine engine(p);
    const auto sum = open_summation({.target = Target::kConv, .k = 32 * 9}, engine).value();
    EXPECT_EQ(reveal_tree(*sum).value().tree.value(), b.tree()) << p.text();
  }
}

// Ours go by row, column and channel, over what of the window lies in the image.
TEST(RevealKernels, AConvolutionIsAskedInAnyFormAndAtAnyOutput) {
  platform::Engine engine(platform::parse_platform("ordered").value());
  ConvForm strided;
  strided.ic = 3, strided.ih = 9, strided.iw = 7, strided.oc = 5, strided.kh = 3, strided.kw = 4;
  strided.stride_h = 2, strided.stride_w = 3;
  strided.pad_top = 1, strided.pad_left = 2, strided.pad_bottom = 1, strided.pad_right = 3;
  ConvForm line;
  line.axes = 1, line.ic = 2, line.iw = 40, line.oc = 3, line.kw = 8, line.stride_w = 4, line.channel = 2,
  line.column = 6;
  std::vector<ConvForm> forms = {line};
  for (int64_t row = 0; row < strided.rows(); ++row) {
    for (int64_t column = 0; column < strided.columns(); ++column) {
      strided.channel = (row + column) % strided.oc, strided.row = row, strided.column = column;
      forms.push_back(strided);
    }
  }
  for (const ConvForm& form : forms) {
    const int64_t k = form.terms(), taps = form.tap_rows() * form.tap_columns();
    TreeBuilder b(k);
    std::vector<TreeId> order;
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t c = 0; c < form.ic; ++c) order.push_back(static_cast<TreeId>(c * taps + tap));
    }
    b.chain(order);
    const auto sum = open_summation({.target = Target::kConv, .k = k, .conv = form}, engine).value();
    EXPECT_EQ(reveal_tree(*sum).value().tree.value(), b.tree()) << form.row << ", " << form.column;
  }
}

TEST(RevealKernels, FormsThatMakeNoSenseAreRefused) {
  const SumRequest good = {.target = Target::kConv, .k = 4, .conv = ConvForm{.iw = 9, .kw = 4, .column = 5}};
  ASSERT_TRUE(check(good));
  const auto refused = [&](auto change) {
    SumRequest bad = good;
    change(bad);
    return !check(bad);
  };
  EXPECT_TRUE(refused([](SumRequest& r) { r.k = 5; }));
  EXPECT_TRUE(refused([](SumRequest& r) { r.conv->column = 6; }));
  EXPECT_TRUE(refused([](SumRequest& r) { r.conv->column = -1; }));
  EXPECT_TRUE(refused([](SumRequest& r) { r.conv->row = 1; }));
  EXPECT_TRUE(refused([](SumRequest& r) { r.conv->channel = 1; }));
  EXPECT_TRUE(refused([](SumRequest& r) { r.conv->axes = 3; }));
  EXPECT_TRUE(refused([](SumRequest& r) { r.conv->stride_w = 0; }));
  EXPECT_TRUE(refused([](SumRequest& r) { r.conv->pad_left = -1; }));
  EXPECT_TRUE(refused([](SumRequest& r) { r.conv->kw = INT64_MAX; }));
  EXPECT_TRUE(refused([](SumRequest& r) { r.conv->ih = int64_t{1} << 23; }));
}

TEST(RevealKernels, OurFloat32SumsAreCorrectlyRounded) {
  platform::Engine engine(platform::parse_platform("ordered").value());
  for (const Target target : {Target::kSum, Target::kMean}) {
    const auto sum = open_summation({.target = target, .k = 500}, engine).value();
    EXPECT_EQ(reveal_tree(*sum).value().verdict, Verdict::kNoUnitLost) << name_of(target);
  }
  const auto softmax = open_summation({.target = Target::kSoftmax, .k = 100}, engine).value();
  EXPECT_EQ(reveal_positive_tree(*softmax).value().verdict, Verdict::kNoUnitLost);
}

TEST(RevealKernels, OurFloat64SumsAreChunksOf256) {
  platform::Engine engine(platform::parse_platform("ordered").value());
  for (const Target target : {Target::kSum, Target::kMean}) {
    const auto sum = open_summation({.target = target, .format = Format::kFloat64, .k = 1000}, engine).value();
    EXPECT_EQ(reveal_tree(*sum).value().tree.value(), block_tree(1000, 256)) << name_of(target);
  }
  const auto softmax =
      open_summation({.target = Target::kSoftmax, .format = Format::kFloat64, .k = 300}, engine).value();
  EXPECT_EQ(reveal_positive_tree(*softmax).value().tree.value(), block_tree(300, 256));
}

// A library's core type holds for a process: each platform in a child. Its tree, and the bits of one product.
Expected<std::pair<SumTree, std::string>> tree_and_bits(const std::string& platform, int64_t k) {
  ISOBIT_TRY(const Bytes answer,
             kernels::vendor::run_in_child(
                 platform,
                 [&]() -> Expected<Bytes> {
                   ISOBIT_TRY(const platform::Platform p, platform::parse_platform(platform));
                   platform::Engine engine(p);
                   ISOBIT_TRY(const auto sum,
                              open_summation({.target = Target::kMatmul, .k = k, .m = 48, .n = 48}, engine));
                   ISOBIT_TRY(const Revealed found, reveal_tree(*sum));
                   if (!found.tree) return unavailable(found.reason);
                   ISOBIT_TRY(const Confirmation confirmed, confirm(*sum, &*found.tree));
                   if (!confirmed.all(confirmed.plain)) return unavailable(confirmed.words(Format::kFloat32));
                   std::vector<double> terms(static_cast<size_t>(48 * k)), results(48);
                   for (size_t i = 0; i < terms.size(); ++i)
                     terms[i] = static_cast<double>(static_cast<float>(1.0 / (1.0 + static_cast<double>(i % 977))));
                   ISOBIT_RETURN_IF_ERROR(sum->sums(48, terms.data(), results.data()));
                   ByteWriter out;
                   out.text(text_of_tree(*found.tree));
                   for (const double r : results) out.f64(r);
                   return out.take();
                 },
                 120));
  ByteReader reader(answer, platform);
  ISOBIT_TRY(const std::string text, reader.text("tree", kMostTreeText));
  ISOBIT_TRY(SumTree tree, parse_tree(text, platform));
  ISOBIT_TRY(const ByteView bits, reader.fixed("bits", reader.remaining()));
  return std::pair(std::move(tree), std::string(bits.begin(), bits.end()));
}

TEST(RevealKernels, LibrariesDifferInBitsWhereTheirTreesDiffer) {
  std::map<std::string, std::string> bits_of_tree, tree_of_bits;
  for (const kernels::VendorId& id : kernels::known_vendors()) {
    const auto found = tree_and_bits(id.text() + "/1t", 500);
    if (!found) {
      EXPECT_EQ(found.error().code, ErrorCode::kUnavailable) << found.error().message;
      continue;
    }
    const std::string text = text_of_tree(found->first);
    EXPECT_EQ(bits_of_tree.emplace(text, found->second).first->second, found->second)
        << id.text() << ": same tree, other bits";
    EXPECT_EQ(tree_of_bits.emplace(found->second, text).first->second, text) << id.text() << ": same bits, other tree";
  }
  if (bits_of_tree.empty()) GTEST_SKIP() << "skipped: no product library";
}

}  // namespace
}  // namespace isobit::lab::reveal
