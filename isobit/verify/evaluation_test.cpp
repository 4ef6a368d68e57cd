#include "isobit/verify/evaluation.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "isobit/commit/merkle.h"

namespace isobit::verify {
namespace {

using numerics::ExactTotal;
using train::MetricSum;

// The rows of the golden file (tests/oracles/evaluation_oracle.py).
float row(uint64_t i, uint64_t r, uint64_t m) {
  if (i == 11 && m > 0) return std::numeric_limits<float>::infinity();
  const auto bits = static_cast<uint32_t>(i * 2654435761u + r * 40503u + m * 2246822519u);
  return std::bit_cast<float>(bits & 0xbfffffffu);
}

train::SampleScores scored(uint64_t samples, std::vector<std::string> names) {
  train::SampleScores e{std::move(names), {}};
  for (uint64_t i = 0; i < samples; ++i) {
    for (uint64_t m = 0; m < e.metrics.size(); ++m) {
      MetricSum sum;
      for (uint64_t r = 0; r < i % 3 + 1; ++r, ++sum.count) sum.sum.add(row(i, r, m));
      e.sums.push_back(sum);
    }
  }
  return e;
}

const std::vector<std::string> kThree = {"loss", "top1", "top5"};

Bytes bytes_of(const Evaluation& e) {
  ByteWriter w;
  write_evaluation(w, e);
  return w.take();
}

TEST(EvaluationTree, EqualsTheIndependentEncoder) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  std::ifstream file(std::string(source ? source : ".") + "/tests/golden/evaluation.txt");
  ASSERT_TRUE(file) << "run from the root of the tree, or set ISOBIT_SOURCE_DIR";
  int checked = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    uint64_t samples = 0;
    std::string list, digest, name;
    in >> samples >> list >> digest;
    std::vector<std::string> names;
    for (std::istringstream items(list); std::getline(items, name, ',');) names.push_back(name);
    EXPECT_EQ(commit::hex_of(commit::sha256(bytes_of(EvaluationTree(scored(samples, names)).evaluation()))), digest)
        << line;
    ++checked;
  }
  EXPECT_GE(checked, 8);
}

TEST(SampleProof, OpensEverySampleOfEveryTree) {
  for (uint64_t n = 1; n <= 40; ++n) {
    const EvaluationTree tree(scored(n, kThree));
    for (uint64_t i = 0; i < n; ++i) {
      const SampleProof proof = tree.prove(i);
      EXPECT_TRUE(std::ranges::equal(proof.sums, scored(n, kThree).of_sample(i)));
      const Bytes bytes = encode(proof);
      const auto back = decode_sample_proof(bytes, "proof");
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, proof);
      const Status status = verify_sample(*back, tree.evaluation());
      EXPECT_TRUE(status) << n << " " << i << ": " << status.error().message;
    }
  }
}

TEST(SampleProof, IsUnderTheMessageLimitForAnyNumberOfSamples) {
  SampleProof proof{0, UINT64_MAX, std::vector<MetricSum>(kMaxMetrics), {}};
  proof.path.assign(64, {{}, std::vector<MetricSum>(kMaxMetrics)});
  const Bytes bytes = encode(proof);
  EXPECT_LT(bytes.size(), 32u << 10);
  EXPECT_TRUE(decode_sample_proof(bytes, "proof"));
}

// Whatever is changed of a proof or of the final leaf, the proof fails.
TEST(SampleProof, EveryBitCounts) {
  const EvaluationTree tree(scored(5, {"loss", "top1"}));
  for (const uint64_t sample : {0, 3, 4}) {
    const Bytes good = encode(tree.prove(sample));
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      const auto proof = decode_sample_proof(bad, "proof");
      if (!proof) continue;
      EXPECT_EQ(encode(*proof), bad);
      EXPECT_FALSE(verify_sample(*proof, tree.evaluation())) << bit;
    }
    for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_sample_proof(ByteView(good).first(n), "proof"));
    const SampleProof proof = tree.prove(sample);
    Evaluation other = tree.evaluation();
    ++other.samples;
    EXPECT_FALSE(verify_sample(proof, other));
    other = tree.evaluation();
    other.metrics[1].total.sum.add(1);
    EXPECT_FALSE(verify_sample(proof, other));
    other = tree.evaluation();
    other.metrics[1].name = "top2";
    EXPECT_FALSE(verify_sample(proof, other));
    other.metrics.pop_back();
    EXPECT_FALSE(verify_sample(proof, other));
  }
}

// A total that no samples add up to, and a tree that agrees with it: some proof of it fails, whichever node lies.
TEST(SampleProof, ALieInAnyNodeShowsInTheSamplesBelowIt) {
  const auto sum = [](float x) { return std::vector<MetricSum>{{ExactTotal::of(x), 1}}; };
  const EvaluationNode a = sample_node(0, sum(1)), b = sample_node(1, sum(0));
  EvaluationNode inflated = b;
  inflated.sums[0].sum.add(1);  // its hash is that of 0
  const EvaluationNode root = *joined(a, inflated);
  ByteWriter w;
  w.u64(2);
  w.u64(1);
  w.text("top1");
  w.fixed(root.hash);
  w.u8(0);
  w.fixed(root.sums[0].sum.bytes());
  w.u64(2);
  const Evaluation claimed{2, commit::tagged_hash("isobit.evaluation", 1, w.view()), {{"top1", root.sums[0]}}};
  EXPECT_TRUE(verify_sample({0, 2, a.sums, {inflated}}, claimed));
  EXPECT_FALSE(verify_sample({1, 2, b.sums, {a}}, claimed)) << "the honest sample does not lead to the total";
  EXPECT_FALSE(verify_sample({1, 2, inflated.sums, {a}}, claimed)) << "what leads to it is no leaf of the tree";
}

TEST(SampleProof, SumsThatWrapAroundAreRejected) {
  std::array<uint8_t, ExactTotal::kBytes> most;
  most.fill(0xff);
  most.back() = 0x7f;
  const EvaluationNode a = sample_node(0, {{ExactTotal::of(1), 1}});
  const EvaluationNode large = sample_node(1, {{*ExactTotal::from_bytes(0, most), 1}});
  const EvaluationNode many = sample_node(1, {{ExactTotal(), UINT64_MAX}});
  for (const EvaluationNode* other : {&large, &many}) {
    const auto node = joined(a, *other);
    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().code, ErrorCode::kRejected);
    EXPECT_FALSE(verify_sample({0, 2, a.sums, {*other}}, Evaluation{2, {}, {{"top1", a.sums[0]}}}));
  }
  EXPECT_FALSE(joined(a, sample_node(1, {})));
}

TEST(Evaluation, DecodesOnlyWhatIsCanonical) {
  const Evaluation e = EvaluationTree(scored(9, kThree)).evaluation();
  const auto decoded = [](const Bytes& bytes) -> Expected<Evaluation> {
    ByteReader reader(bytes, "leaf");
    ISOBIT_TRY(Evaluation out, read_evaluation(reader));
    ISOBIT_RETURN_IF_ERROR(reader.finish());
    return out;
  };
  EXPECT_EQ(decoded(bytes_of(e)).value(), e);
  for (const char* name : {"", "Top1", "top 1", "top\n1", "123456789012345678901234567890123", "loss"}) {
    Evaluation bad = e;
    bad.metrics[1].name = name;
    EXPECT_FALSE(decoded(bytes_of(bad))) << name;
    EXPECT_FALSE(metrics_problem(bad.metrics).empty()) << name;
  }
  Evaluation many = e;
  many.metrics.clear();
  for (char c = 'a'; c < 'j'; ++c) many.metrics.push_back({std::string(1, c), {}});
  EXPECT_FALSE(decoded(bytes_of(many)));
  many.metrics.pop_back();
  EXPECT_TRUE(decoded(bytes_of(many)));
  Bytes infinite = bytes_of(e);
  infinite[8 + 32 + 8 + 8 + 4] = 1;  // the kind of the loss, whose value is not zero
  EXPECT_FALSE(decoded(infinite));
}

TEST(Evaluation, ReadsForPeople) {
  train::SampleScores two{{"top1"}, {{ExactTotal::of(1), 1}, {ExactTotal::of(0), 1}}};
  const std::string text = text_of_evaluation(EvaluationTree(two).evaluation());
  EXPECT_TRUE(text.starts_with("2 samples, top1 0.5 of 2, tree ")) << text;
}

}  // namespace
}  // namespace isobit::verify
