#include "isobit/verify/evidence.h"

#include <gtest/gtest.h>

#include "isobit/verify/testing.h"

namespace isobit::verify {
namespace {

using testing::Cheat;
using testing::fake_engagement;
using testing::fake_transcript;
using testing::key_of;
using testing::kTrainer;

constexpr uint8_t kOther = 3;  // the number of another trainer's key
const TranscriptRules kRules{10, 4, DType::kFloat32, false};

struct Copy {
  Transcript transcript;
  std::vector<SignedHead> heads;
  History history() const { return {&transcript, heads}; }
};

Copy copy_of(const Cheat& cheat, const std::vector<uint64_t>& sizes, uint8_t key = kTrainer) {
  Copy copy{fake_transcript(kRules, cheat), {}};
  for (uint64_t size : sizes) {
    copy.heads.push_back(sign_head(copy.transcript.sized_root(size), fake_engagement().terms, key_of(key)));
  }
  return copy;
}

// As far as `leaves`.
Copy begun(const Cheat& cheat, uint64_t leaves, const std::vector<uint64_t>& sizes) {
  const Copy whole = copy_of(cheat, sizes);
  Copy copy{Transcript(kRules), whole.heads};
  for (uint64_t i = 0; i < leaves; ++i) ISOBIT_CHECK(copy.transcript.append(whole.transcript.leaf(i)).has_value());
  return copy;
}

std::optional<ForkEvidence> fork(const Copy& a, const Copy& b) {
  return find_fork(fake_engagement(), a.history(), b.history());
}

TEST(Evidence, TwoFinishedRunsThatDiffer) {
  const Copy a = copy_of({}, {5, 9, 12});
  for (uint64_t step = 1; step <= 10; ++step) {
    const Copy b = copy_of({.wrong_loss_at = step}, {5, 9, 12});
    for (const auto& found : {fork(a, b), fork(b, a)}) {
      ASSERT_TRUE(found) << step;
      EXPECT_EQ(found->older.tree.size, step < 5 ? 5u : step < 9 ? 9u : 12u) << "the earliest head that shows it";
      EXPECT_TRUE(verify_evidence(*found)) << verify_evidence(*found).error().message;
      const Bytes bytes = encode(*found);
      EXPECT_LE(bytes.size(), kMaxEvidenceBytes);
      const auto back = decode_evidence(bytes, "evidence");
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, *found);
    }
  }
}

TEST(Evidence, HeadsOfDifferentSizes) {
  const Copy a = copy_of({}, {3, 7, 12}), b = copy_of({.wrong_state_at = 5}, {4, 8, 10});
  const auto found = fork(a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->older.tree.size, 7u);
  EXPECT_EQ(found->newer.tree.size, 8u);
  EXPECT_TRUE(verify_evidence(*found));
}

TEST(Evidence, WhatAgreesIsNone) {
  const Copy a = copy_of({}, {5, 9, 12});
  EXPECT_FALSE(fork(a, a));
  EXPECT_FALSE(fork(a, copy_of({}, {1, 6, 12}))) << "other heads of the same leaves";
  EXPECT_FALSE(fork(a, begun({}, 6, {5}))) << "a run that goes on";
  EXPECT_FALSE(fork(a, begun({.wrong_loss_at = 7}, 8, {5}))) << "the difference is not signed for";
  EXPECT_FALSE(fork(begun({}, 6, {5}), begun({}, 10, {5, 9})));
  EXPECT_TRUE(fork(a, begun({.wrong_loss_at = 4}, 6, {5})));
}

TEST(Evidence, EveryFlippedBitIsNoticed) {
  const Bytes good = encode(*fork(copy_of({}, {5, 12}), copy_of({.wrong_loss_at = 2}, {9, 12})));
  ASSERT_TRUE(verify_evidence(*decode_evidence(good, "e")));
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const auto decoded = decode_evidence(bad, "evidence");
    if (decoded) {
      ASSERT_FALSE(verify_evidence(*decoded)) << "bit " << bit;
    }
  }
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_evidence(ByteView(good).first(n), "evidence"));
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(decode_evidence(longer, "evidence"));
}

// Nobody who signed one history only is convicted.
TEST(Evidence, AnHonestSignerIsNotConvicted) {
  const Copy honest = copy_of({}, {5, 9, 12});
  const Copy forged = copy_of({.wrong_loss_at = 2}, {5, 9, 12}, 3);  // by somebody who is not engaged
  EXPECT_TRUE(heads_contradict(honest.history(), forged.history()));
  EXPECT_FALSE(fork(honest, forged)) << "but one is not the trainer's";
  EXPECT_FALSE(verify_evidence({fake_engagement(), honest.heads[0], forged.heads[0], forged.heads[0].tree.root,
                                prove_extends(forged.transcript, 5, 5)}));
  // Made up from two honest heads: with the true prefix there is no contradiction, with another no proof.
  ForkEvidence made{fake_engagement(), honest.heads[0], honest.heads[1], honest.heads[0].tree.root,
                    prove_extends(honest.transcript, 5, 9)};
  EXPECT_FALSE(verify_evidence(made));
  made.prefix_root[0] ^= 1;
  EXPECT_FALSE(verify_evidence(made));
  made.newer = made.older;
  made.proof = prove_extends(honest.transcript, 5, 5);
  EXPECT_FALSE(verify_evidence(made));
  // The wrong way round: a newer head is no prefix of an older one.
  const Copy other = copy_of({.wrong_loss_at = 2}, {5, 9, 12});
  ForkEvidence turned = *fork(honest, other);
  turned.older = other.heads[1];
  turned.newer = honest.heads[0];
  EXPECT_FALSE(verify_evidence(turned));
  // Heads of another run, by the same key.
  EngagementTerms terms = fake_engagement().terms;
  terms.run_id[0] ^= 1;
  ForkEvidence foreign = *fork(honest, other);
  foreign.older = sign_head(foreign.older.tree, terms, key_of(kTrainer));
  EXPECT_FALSE(verify_evidence(foreign));
  // Before the first leaf all histories are one.
  ForkEvidence nothing = *fork(honest, other);
  nothing.older = sign_head({0, {}}, fake_engagement().terms, key_of(kTrainer));
  nothing.proof = prove_extends(honest.transcript, 0, 12);
  EXPECT_FALSE(verify_evidence(nothing));
}

// The fake run's terms for two trainers, accepted by one of them: what a client can make alone when one key is its own.
Engagement of_two(uint8_t accepted_by) {
  EngagementTerms terms = fake_engagement().terms;
  terms.trainer_keys.push_back(key_of(kOther).public_key());
  return *make_engagement(terms, key_of(testing::kClient), key_of(accepted_by));
}

TEST(Evidence, HistoriesOfTwoTrainersConvictNobody) {
  const Copy a = copy_of({}, {5, 9, 12}), b = copy_of({.wrong_loss_at = 2}, {5, 9, 12}, kOther);
  for (const uint8_t accepted_by : {kTrainer, kOther}) {
    const Engagement engagement = of_two(accepted_by);
    EXPECT_FALSE(find_fork(engagement, a.history(), b.history()));
    EXPECT_FALSE(find_fork(engagement, b.history(), a.history()));
    for (const auto& [older, newer] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      const ForkEvidence made{engagement, older->heads[0], newer->heads[1], newer->transcript.sized_root(5).root,
                              prove_extends(newer->transcript, 5, 9)};
      const Status checked = verify_evidence(made);
      ASSERT_FALSE(checked);
      EXPECT_NE(checked.error().message.find("two trainers convict nobody"), std::string::npos);
      for (const SignedHead* head : {&made.older, &made.newer}) {
        EXPECT_NE(checked.error().message.find(commit::hex_of(head->key)), std::string::npos);
      }
    }
  }
  EXPECT_TRUE(heads_contradict(a.history(), b.history()));
  EXPECT_FALSE(heads_contradict(a.history(), copy_of({}, {6, 12}, kOther).history()));
}

TEST(Evidence, ATrainerAnswersUnderTheEngagementThatItAccepted) {
  const Copy a = copy_of({}, {5, 9, 12}), b = copy_of({.wrong_loss_at = 2}, {5, 9, 12});
  EXPECT_FALSE(find_fork(of_two(kOther), a.history(), b.history()));
  const auto found = find_fork(of_two(kTrainer), a.history(), b.history());
  ASSERT_TRUE(found);
  EXPECT_TRUE(verify_evidence(*found));
  ForkEvidence foreign = *found;
  foreign.engagement = of_two(kOther);
  const Status checked = verify_evidence(foreign);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::kRejected);
  EXPECT_NE(checked.error().message.find("'trainer_key'"), std::string::npos) << checked.error().message;
}

// Two keys may sign the heads of one copy: the fork is looked for among those of the one that accepted.
TEST(Evidence, HeadsOfAnotherKeyAreNoHindrance) {
  const Copy a = copy_of({}, {5, 9, 12});
  Copy b = copy_of({.wrong_loss_at = 2}, {5, 9, 12});
  b.heads[0] = copy_of({.wrong_loss_at = 2}, {5}, kOther).heads[0];
  b.heads[2] = copy_of({.wrong_loss_at = 2}, {12}, kOther).heads[0];
  for (const auto& found :
       {find_fork(of_two(kTrainer), a.history(), b.history()), find_fork(of_two(kTrainer), b.history(), a.history())}) {
    ASSERT_TRUE(found);
    EXPECT_TRUE(verify_evidence(*found));
    EXPECT_EQ(found->older.tree.size, 5u) << "the first head of the copy whose heads are all of one key";
    EXPECT_EQ(found->newer.tree.size, 9u);
  }
}

}  // namespace
}  // namespace isobit::verify
