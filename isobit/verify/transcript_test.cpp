#include "isobit/verify/transcript.h"

#include <gtest/gtest.h>

#include <random>

#include "isobit/verify/testing.h"

namespace isobit::verify {
namespace {

using testing::Cheat;
using testing::digest_of;
using testing::fake_leaves;
using testing::fake_transcript;

const TranscriptRules kRules{10, 4, DType::kFloat32, false};

TEST(Leaf, RoundTripsUnderEveryRule) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (bool logged : {false, true}) {
      for (uint64_t every : {1, 3, 10, 100}) {
        const TranscriptRules rules{10, every, dtype, logged};
        for (const Leaf& leaf : fake_leaves(rules)) {
          const Bytes bytes = encode(leaf);
          auto back = decode_leaf(bytes, rules, "leaf");
          ASSERT_TRUE(back) << back.error().message;
          EXPECT_EQ(*back, leaf);
          EXPECT_EQ(encode(*back), bytes);
        }
      }
    }
  }
}

TEST(Leaf, SizesAreTheDocumentedOnes) {
  const auto leaves = fake_leaves({10, 4, DType::kFloat32, true});
  EXPECT_EQ(encode(leaves[0]).size(), 24u + 64);
  EXPECT_EQ(encode(leaves[1]).size(), 24u + 8 + 32 + 9 + 33 + 1);
  EXPECT_EQ(encode(leaves[4]).size(), 24u + 8 + 32 + 9 + 33 + 33);
  EXPECT_EQ(encode(leaves[11]).size(), 24u + 8 + 32 + 8 + 32 + 8 + 3 * (8 + 4 + 57));
  FinalLeaf most = std::get<FinalLeaf>(leaves[11]);
  most.evaluation.metrics.clear();
  for (char c = 'a'; c < 'i'; ++c) most.evaluation.metrics.push_back({std::string(kMaxMetricName, c), {}});
  EXPECT_LE(encode(Leaf(most)).size(), kMaxLeafBytes);
}

// One encoding per value: whatever a decoder accepts is what the encoder writes.
TEST(Leaf, NoTwoEncodingsOfOneLeaf) {
  for (const Leaf& leaf : fake_leaves(kRules)) {
    const Bytes good = encode(leaf);
    for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_leaf(ByteView(good).first(n), kRules, "leaf"));
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      auto decoded = decode_leaf(bad, kRules, "leaf");
      if (decoded) {
        EXPECT_EQ(encode(*decoded), bad);
      }
    }
    Bytes longer = good;
    longer.push_back(0);
    EXPECT_FALSE(decode_leaf(longer, kRules, "leaf"));
  }
}

TEST(Leaf, StateRootMustBeWhereTheJobSays) {
  const auto leaves = fake_leaves(kRules);
  EXPECT_TRUE(std::get<StepLeaf>(leaves[4]).state_root);
  EXPECT_FALSE(std::get<StepLeaf>(leaves[5]).state_root);
  TranscriptRules other = kRules;
  other.commit_every = 5;
  EXPECT_FALSE(decode_leaf(encode(leaves[4]), other, "leaf"));
  EXPECT_FALSE(decode_leaf(encode(leaves[5]), other, "leaf"));
  EXPECT_TRUE(decode_leaf(encode(leaves[6]), other, "leaf"));
  StepLeaf extra = std::get<StepLeaf>(leaves[5]);
  extra.state_root = digest_of("x");
  EXPECT_FALSE(decode_leaf(encode(Leaf(extra)), kRules, "leaf"));
  Transcript transcript(kRules);
  for (size_t i = 0; i < 5; ++i) ASSERT_TRUE(transcript.append(leaves[i]));
  const Status status = transcript.append(extra);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kRejected);
}

TEST(Leaf, LossBitsAreChecked) {
  StepLeaf leaf = std::get<StepLeaf>(fake_leaves(kRules)[1]);
  leaf.loss.bits |= uint64_t{1} << 40;
  EXPECT_FALSE(decode_leaf(encode(Leaf(leaf)), kRules, "leaf"));
  leaf.loss = LossBits::of(0.5);
  EXPECT_FALSE(decode_leaf(encode(Leaf(leaf)), kRules, "leaf"));
  EXPECT_EQ(LossBits::of(0.5f).bits, 0x3f000000u);
  EXPECT_EQ(LossBits::of(0.5).bits, 0x3fe0000000000000u);
  EXPECT_EQ(LossBits::of(0.1f).value(), static_cast<double>(0.1f));
}

TEST(Leaf, EvaluationMustMakeSense) {
  FinalLeaf leaf = std::get<FinalLeaf>(fake_leaves(kRules).back());
  Transcript transcript = fake_transcript(kRules);
  std::swap(leaf.evaluation.metrics[0], leaf.evaluation.metrics[1]);
  EXPECT_FALSE(decode_leaf(encode(Leaf(leaf)), kRules, "leaf"));
  const Status status = transcript.fits(leaf, 11);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kRejected);
}

TEST(Leaf, AnOlderOneIsNotRead) {
  Bytes bytes = encode(fake_leaves(kRules)[0]);
  bytes[19] = 1;
  const auto decoded = decode_leaf(bytes, kRules, "leaf");
  ASSERT_FALSE(decoded);
  EXPECT_NE(decoded.error().message.find("found 1, this isobit reads 2"), std::string::npos) << decoded.error().message;
}

TEST(Transcript, TakesLeavesInTheirOneOrder) {
  const auto leaves = fake_leaves(kRules);
  for (size_t at = 0; at < leaves.size(); ++at) {
    Transcript transcript(kRules);
    for (size_t i = 0; i < at; ++i) ASSERT_TRUE(transcript.append(leaves[i]));
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (i == at) continue;
      const Status status = transcript.append(leaves[i]);
      ASSERT_FALSE(status) << i << " at " << at;
      EXPECT_EQ(status.error().code, ErrorCode::kRejected);
    }
    EXPECT_EQ(transcript.size(), at);
    EXPECT_FALSE(transcript.complete());
  }
  Transcript whole = fake_transcript(kRules);
  EXPECT_TRUE(whole.complete());
  EXPECT_EQ(whole.steps(), 10u);
  for (const Leaf& leaf : leaves) EXPECT_FALSE(whole.append(leaf));
}

TEST(Transcript, RootIsThatOfTheReferenceTree) {
  const Transcript transcript = fake_transcript(kRules);
  std::vector<commit::Digest> hashes;
  for (const Leaf& leaf : fake_leaves(kRules)) {
    Bytes with_prefix{0};
    const Bytes bytes = encode(leaf);
    with_prefix.insert(with_prefix.end(), bytes.begin(), bytes.end());
    hashes.push_back(commit::sha256(with_prefix));
  }
  EXPECT_EQ(transcript.sized_root().root, commit::merkle_root(hashes));
  for (uint64_t n = 0; n <= transcript.size(); ++n) {
    EXPECT_EQ(transcript.sized_root(n).root, commit::merkle_root(std::span(hashes).first(n)));
  }
  // From transcript_golden.py, which shares no code with this.
  EXPECT_EQ(commit::hex_of(transcript.transcript_root()),
            "18eaddceccafe7a689c633bda8a3885b722de0c4a974f5f8b2d4a19a5e17250d");
}

TEST(Transcript, EveryResultReachesTheRoot) {
  const commit::Digest honest = fake_transcript(kRules).transcript_root();
  EXPECT_EQ(honest, fake_transcript(kRules).transcript_root());
  for (const Cheat& cheat : {Cheat{.swapped_batch_at = 3}, Cheat{.wrong_loss_at = 10}, Cheat{.wrong_state_at = 10},
                             Cheat{.wrong_start = true}, Cheat{.wrong_evaluation = true}}) {
    EXPECT_NE(honest, fake_transcript(kRules, cheat).transcript_root());
  }
}

TEST(Transcript, CommittedStates) {
  const Transcript transcript = fake_transcript(kRules);
  EXPECT_EQ(*transcript.committed_state(0), transcript.initial().state_root);
  EXPECT_FALSE(transcript.committed_state(3));
  EXPECT_EQ(*transcript.committed_state(8), *transcript.step(8).state_root);
  EXPECT_EQ(*transcript.committed_state(10), transcript.final().state_root);
  EXPECT_FALSE(transcript.committed_state(11));
  Transcript begun(kRules);
  EXPECT_FALSE(begun.committed_state(0));
  EXPECT_EQ(begun.steps(), 0u);
}

TEST(Transcript, RunOfNoSteps) {
  const Transcript transcript = fake_transcript({0, 1, DType::kFloat32, false});
  EXPECT_TRUE(transcript.complete());
  EXPECT_EQ(transcript.steps(), 0u);
  EXPECT_EQ(*transcript.committed_state(0), transcript.initial().state_root);
}

TEST(TranscriptRules, LimitsAreChecked) {
  EXPECT_FALSE((TranscriptRules{kMaxSteps + 1, 1, DType::kFloat32, false}.check("r")));
  EXPECT_FALSE((TranscriptRules{1, 0, DType::kFloat32, false}.check("r")));
  EXPECT_FALSE((TranscriptRules{1, 1, DType::kInt64, false}.check("r")));
  EXPECT_TRUE((TranscriptRules{kMaxSteps, 1, DType::kFloat64, true}.check("r")));
}

// Random bytes and random edits of good leaves: accepted only if they encode back to themselves.
TEST(Leaf, DecoderTakesOnlyCanonicalBytes) {
  std::mt19937_64 random(20260101);
  const auto leaves = fake_leaves(kRules);
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = encode(leaves[random() % leaves.size()]);
    for (uint64_t edits = 1 + random() % 4; edits > 0; --edits)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    if (random() % 4 == 0) bytes.resize(random() % 200);
    auto decoded = decode_leaf(bytes, kRules, "leaf");
    if (decoded) {
      ASSERT_EQ(encode(*decoded), bytes);
    }
  }
}

}  // namespace
}  // namespace isobit::verify
