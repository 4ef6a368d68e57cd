#include "isobit/verify/head.h"

#include <gtest/gtest.h>

#include "isobit/verify/testing.h"

namespace isobit::verify {
namespace {

using testing::fake_engagement;
using testing::fake_transcript;
using testing::key_of;
using testing::kTrainer;

const TranscriptRules kRules{10, 4, DType::kFloat32, false};

std::vector<SignedHead> heads_of(const Transcript& transcript, std::vector<uint64_t> sizes) {
  std::vector<SignedHead> heads;
  for (uint64_t size : sizes) {
    heads.push_back(sign_head(transcript.sized_root(size), fake_engagement().terms, key_of(kTrainer)));
  }
  return heads;
}

TEST(Head, RoundTripsAndVerifies) {
  const Transcript transcript = fake_transcript(kRules);
  const SignedHead head = heads_of(transcript, {5})[0];
  const Bytes bytes = encode(head);
  EXPECT_EQ(bytes.size(), 8u + 11 + 4 + 8 + 32 + 32 + 16 + 32 + 64);
  auto back = decode_head(bytes, "head");
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, head);
  EXPECT_TRUE(verify_head(*back, fake_engagement()));
  EXPECT_TRUE(verify_heads(heads_of(transcript, {1, 5, 9, 12}), fake_engagement(), transcript, "heads"));
  EXPECT_TRUE(verify_heads({}, fake_engagement(), transcript, "heads"));
}

TEST(Head, EveryFlippedBitIsNoticed) {
  const Transcript transcript = fake_transcript(kRules);
  const Bytes good = encode(heads_of(transcript, {5})[0]);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    auto decoded = decode_head(bad, "head");
    if (!decoded) continue;
    const Status status = verify_head(*decoded, fake_engagement());
    ASSERT_FALSE(status) << "bit " << bit;
    EXPECT_EQ(status.error().code, ErrorCode::kRejected);
  }
}

TEST(Head, OtherKeyRunOrJobIsRejected) {
  const Transcript transcript = fake_transcript(kRules);
  EngagementTerms terms = fake_engagement().terms;
  EXPECT_FALSE(verify_head(sign_head(transcript.sized_root(), terms, key_of(3)), fake_engagement()));
  terms.run_id[0] ^= 1;
  EXPECT_FALSE(verify_head(sign_head(transcript.sized_root(), terms, key_of(kTrainer)), fake_engagement()));
  terms = fake_engagement().terms;
  terms.job_root[0] ^= 1;
  EXPECT_FALSE(verify_head(sign_head(transcript.sized_root(), terms, key_of(kTrainer)), fake_engagement()));
}

TEST(Head, MustGrowAndBelongToTheTranscript) {
  const Transcript transcript = fake_transcript(kRules);
  const Transcript other = fake_transcript(kRules, {.wrong_loss_at = 5});
  const Engagement engagement = fake_engagement();
  EXPECT_FALSE(verify_heads(heads_of(transcript, {5, 5}), engagement, transcript, "heads"));
  EXPECT_FALSE(verify_heads(heads_of(transcript, {9, 5}), engagement, transcript, "heads"));
  EXPECT_TRUE(verify_heads(heads_of(other, {5}), engagement, transcript, "heads")) << "the prefix is shared";
  EXPECT_FALSE(verify_heads(heads_of(other, {6}), engagement, transcript, "heads"));
  Transcript begun(kRules);
  ASSERT_TRUE(begun.append(transcript.leaf(0)));
  EXPECT_FALSE(verify_heads(heads_of(transcript, {5}), engagement, begun, "heads")) << "covers what is not there";
}

TEST(Head, ConsistencyProofsJoinHeads) {
  const Transcript transcript = fake_transcript(kRules);
  for (uint64_t newer = 1; newer <= transcript.size(); ++newer) {
    for (uint64_t older = 1; older <= newer; ++older) {
      const auto heads = heads_of(transcript, {older, newer});
      EXPECT_TRUE(verify_extends(heads[0], heads[1], prove_extends(transcript, older, newer)));
    }
  }
}

TEST(Head, ForksHaveNoProof) {
  const Transcript one = fake_transcript(kRules);
  const Transcript two = fake_transcript(kRules, {.wrong_state_at = 6});
  // Both signed by the engaged key, both valid alone.
  const SignedHead a = heads_of(one, {8})[0], b = heads_of(two, {9})[0], c = heads_of(two, {8})[0];
  EXPECT_TRUE(verify_head(a, fake_engagement()) && verify_head(b, fake_engagement()));
  EXPECT_FALSE(verify_extends(a, b, prove_extends(two, 8, 9)));
  EXPECT_FALSE(verify_extends(a, b, prove_extends(one, 8, 9)));
  EXPECT_FALSE(verify_extends(a, c, prove_extends(two, 8, 8)));
  SignedHead foreign = heads_of(one, {9})[0];
  foreign.run_id[3] ^= 1;
  EXPECT_FALSE(verify_extends(a, foreign, prove_extends(one, 8, 9)));
}

TEST(Head, CadenceAsksForTheFirstCommittedStateAtOrAfterEachMultiple) {
  const auto due = [](const TranscriptRules& rules, uint64_t every) {
    std::vector<uint64_t> steps;
    for (uint64_t step = 0; step <= rules.steps; ++step) {
      if (head_is_due(rules, every, step)) steps.push_back(step);
    }
    return steps;
  };
  const TranscriptRules threes{20, 3, DType::kFloat32, false};
  using Steps = std::vector<uint64_t>;
  EXPECT_EQ(due(threes, 1), (Steps{3, 6, 9, 12, 15, 18}));
  EXPECT_EQ(due(threes, 3), (Steps{3, 6, 9, 12, 15, 18}));
  EXPECT_EQ(due(threes, 5), (Steps{6, 12, 15}));  // for 5, 10 and 15; after 20 no state is committed
  EXPECT_EQ(due(threes, 7), (Steps{9, 15}));
  EXPECT_EQ(due(threes, 100), Steps{});
  EXPECT_EQ(due({6, 1, DType::kFloat32, false}, 2), (Steps{2, 4, 6}));

  // A state every 4 of 10 steps: committed after 4 and 8.
  const Transcript transcript = fake_transcript(kRules);
  const auto kept = [&](std::vector<uint64_t> sizes, uint64_t every) {
    return verify_cadence(heads_of(transcript, sizes), every, transcript, "heads");
  };
  EXPECT_TRUE(kept({1, 5, 9, 12}, 1));
  EXPECT_TRUE(kept({5, 9}, 4));
  EXPECT_TRUE(kept({2, 3, 5, 6, 9, 11, 12}, 2)) << "more heads than asked for";
  EXPECT_TRUE(kept({5, 12}, 9)) << "for 9 the next committed state would be 12";
  EXPECT_TRUE(kept({12}, 100));
  for (const auto& sizes : {Steps{1, 9, 12}, Steps{1, 5, 12}, Steps{4, 6, 9, 12}, Steps{}}) {
    const Status status = kept(sizes, 4);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kRejected);
    EXPECT_NE(status.error().message.find("one every 4 steps"), std::string::npos) << status.error().message;
  }
  EXPECT_TRUE(kept({1, 9, 12}, 5)) << "for 5 it is 8, and 10 is the end";
}

}  // namespace
}  // namespace isobit::verify
