#include "isobit/verify/engagement.h"

#include <gtest/gtest.h>

#include "isobit/verify/testing.h"

namespace isobit::verify {
namespace {

using testing::fake_engagement;
using testing::key_of;

EngagementTerms three_keys() {
  EngagementTerms terms;
  terms.job_root = testing::fake_job_root();
  terms.trainer_keys = {key_of(5).public_key(), key_of(3).public_key(), key_of(4).public_key(), key_of(3).public_key()};
  return terms;
}

TEST(Engagement, RoundTripsAndVerifies) {
  const Engagement e = *make_engagement(three_keys(), key_of(1), key_of(4));
  EXPECT_EQ(e.terms.trainer_keys.size(), 3u);
  const Bytes bytes = encode(e);
  auto back = decode_engagement(bytes, "engagement");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, e);
  EXPECT_EQ(encode(*back), bytes);
  EXPECT_TRUE(verify_engagement(*back, key_of(1).public_key()));
  for (uint8_t k : {3, 4, 5}) EXPECT_TRUE(e.engages(key_of(k).public_key()));
  EXPECT_FALSE(e.engages(key_of(6).public_key()));
}

// Everything that is optional is there.
EngagementTerms full_terms() {
  EngagementTerms terms = three_keys();
  terms.job_digest.fill(7);
  terms.run_id.fill(9);
  terms.referee_key = key_of(6).public_key();
  terms.response_seconds = 60;
  terms.restart_seconds = kMaxDeadlineSeconds;
  terms.message_bytes = 800000;
  terms.head_every = 20;
  terms.accept_until = 1800000000;
  terms.checkpoints = {Keeper::kTrainer, 1900000000};
  terms.salts = {Keeper::kClient, kMaxUnixSeconds};
  return terms;
}

TEST(Engagement, LayoutIsTheDocumentedOne) {
  const Engagement e = fake_engagement();
  const Bytes bytes = encode(e);
  const size_t terms = 4 + 32 + 32 + 16 + 32 + 8 + 32 + 1 + 5 * 8 + 2 * 9;
  ASSERT_EQ(bytes.size(), 8u + 17 + 4 + terms + 64 + 32 + 64);
  EXPECT_EQ(std::string(bytes.begin() + 8, bytes.begin() + 25), "isobit.engagement");
  EXPECT_EQ(bytes[25], 2);
  EXPECT_EQ(bytes[29], 1);
  EXPECT_TRUE(std::equal(e.terms.job_root.begin(), e.terms.job_root.end(), bytes.begin() + 33));
  EXPECT_TRUE(std::equal(e.terms.run_id.begin(), e.terms.run_id.end(), bytes.begin() + 97));
  EXPECT_EQ(bytes[145], 1);  // one trainer key, at 153, and no referee's
  EXPECT_TRUE(std::equal(e.trainer_key.bytes.begin(), e.trainer_key.bytes.end(), bytes.begin() + 153));
  EXPECT_EQ(bytes[185], 0);
  // An offer is the same terms in another frame.
  const Offer offer = *make_offer(e.terms, key_of(testing::kClient));
  const Bytes offered = encode(offer);
  ASSERT_EQ(offered.size(), 8u + 12 + 4 + terms + 64);
  EXPECT_EQ(std::string(offered.begin() + 8, offered.begin() + 20), "isobit.offer");
  EXPECT_TRUE(std::equal(offered.begin() + 24, offered.end(), bytes.begin() + 29));
  // The bits of these objects, fixed for good: Ed25519 is deterministic.
  EXPECT_EQ(commit::hex_of(commit::sha256(bytes)), "b22364a4420dd5b188c60f09455af269261adc4efcb886681a25560ef33a949d");
  EXPECT_EQ(commit::hex_of(commit::sha256(encode(*make_engagement(full_terms(), key_of(1), key_of(4))))),
            "79526d6ac891888fc027ff287e96761f40c8bde23d08b7e69b0fe761689d653f");
}

TEST(Engagement, OfferRoundTripsAndIsAccepted) {
  const Offer offer = *make_offer(full_terms(), key_of(1));
  const Bytes bytes = encode(offer);
  const auto back = decode_offer(bytes, "offer");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, offer);
  ASSERT_TRUE(verify_offer(*back));
  const Engagement e = *countersign(*back, key_of(5));
  EXPECT_EQ(e.terms, offer.terms);
  EXPECT_EQ(e.trainer_key, key_of(5).public_key());
  EXPECT_TRUE(verify_engagement(e, key_of(1).public_key()));
  EXPECT_EQ(*decode_engagement(encode(e), "engagement"), e);
  // Neither is the other.
  EXPECT_FALSE(decode_engagement(bytes, "engagement"));
  EXPECT_FALSE(decode_offer(encode(e), "offer"));
}

TEST(Engagement, EveryFlippedBitOfAnOfferIsNoticed) {
  const Bytes good = encode(*make_offer(full_terms(), key_of(1)));
  const commit::PublicKey client = key_of(1).public_key();
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const auto decoded = decode_offer(bad, "offer");
    EXPECT_FALSE(decoded && decoded->terms.client_key == client && verify_offer(*decoded)) << "bit " << bit;
    EXPECT_FALSE(decoded && countersign(*decoded, key_of(4))) << "bit " << bit;
  }
}

TEST(Engagement, EveryFlippedBitIsNoticed) {
  const Bytes good = encode(fake_engagement());
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    auto decoded = decode_engagement(bad, "engagement");
    if (!decoded) continue;
    const Status status = verify_engagement(*decoded, key_of(testing::kClient).public_key());
    ASSERT_FALSE(status) << "bit " << bit;
    EXPECT_EQ(status.error().code, ErrorCode::kRejected);
  }
}

TEST(Engagement, TruncationAndTrailingBytesAreUnreadable) {
  const Bytes good = encode(fake_engagement());
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_engagement(ByteView(good).first(n), "e"));
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(decode_engagement(longer, "e"));
}

TEST(Engagement, AnotherVersionSaysSo) {
  const auto complaint = [](size_t at, uint8_t version) {
    Bytes bytes = encode(fake_engagement());
    bytes[at] = version;
    const auto decoded = decode_engagement(bytes, "engagement");
    EXPECT_FALSE(decoded);
    if (decoded) return std::string();
    EXPECT_EQ(decoded.error().code, ErrorCode::kUnreadable);
    return decoded.error().message;
  };
  EXPECT_NE(complaint(25, 3).find("newer version: found 3, this isobit reads 2; update isobit"), std::string::npos);
  EXPECT_NE(complaint(25, 1).find("older version: found 1, this isobit reads 2"), std::string::npos);
  EXPECT_NE(complaint(29, 2).find("protocol_version is 2, this isobit knows 1; update isobit"), std::string::npos);
}

TEST(Engagement, TrustIsPinned) {
  // A run signed afresh by somebody who makes both keys is valid in itself and rejected all the same.
  const Engagement other = fake_engagement(7, 8);
  EXPECT_TRUE(verify_engagement(other, key_of(7).public_key()));
  const Status status = verify_engagement(other, key_of(testing::kClient).public_key());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kRejected);
}

TEST(Engagement, BothHalvesAreNeeded) {
  Offer offer = *make_offer(fake_engagement().terms, key_of(testing::kClient));
  EXPECT_EQ(countersign(offer, key_of(3)).error().code, ErrorCode::kUsage);
  offer.terms.response_seconds += 1;
  EXPECT_EQ(verify_offer(offer).error().code, ErrorCode::kRejected);
  EXPECT_EQ(countersign(offer, key_of(testing::kTrainer)).error().code, ErrorCode::kRejected);
}

TEST(Engagement, InvalidTermsAreUsageErrorsThatNameTheField) {
  using Change = void (*)(EngagementTerms&);
  const std::pair<const char*, Change> cases[] = {
      {"no trainer key", [](auto& t) { t.trainer_keys.clear(); }},
      {"71 trainer keys",
       [](auto& t) {
         for (uint8_t i = 10; i < 78; ++i) t.trainer_keys.push_back(key_of(i).public_key());
       }},
      {"protocol_version is 0", [](auto& t) { t.protocol_version = 0; }},
      {"protocol_version is 2", [](auto& t) { t.protocol_version = 2; }},
      {"referee's key is the client's", [](auto& t) { t.referee_key = key_of(1).public_key(); }},
      {"referee's key is a trainer's", [](auto& t) { t.referee_key = key_of(4).public_key(); }},
      {"response_seconds is 0", [](auto& t) { t.response_seconds = 0; }},
      {"response_seconds is 2592001", [](auto& t) { t.response_seconds = kMaxDeadlineSeconds + 1; }},
      {"restart_seconds is 0", [](auto& t) { t.restart_seconds = 0; }},
      {"restart_seconds is 2592001", [](auto& t) { t.restart_seconds = kMaxDeadlineSeconds + 1; }},
      {"message_bytes is 786431", [](auto& t) { t.message_bytes = kMinMessageBytes - 1; }},
      {"message_bytes is 1048577", [](auto& t) { t.message_bytes = kMaxMessageBytes + 1; }},
      {"head_every is 0", [](auto& t) { t.head_every = 0; }},
      {"head_every is 4194305", [](auto& t) { t.head_every = kMaxSteps + 1; }},
      {"accept_until is 253402300800", [](auto& t) { t.accept_until = kMaxUnixSeconds + 1; }},
      {"checkpoints_until is 0",
       [](auto& t) {
         t.checkpoints = {Keeper::kTrainer, 0};
       }},
      {"checkpoints_until is 5",
       [](auto& t) {
         t.checkpoints = {Keeper::kNobody, 5};
       }},
      {"salts_until is 0",
       [](auto& t) {
         t.salts = {Keeper::kClient, 0};
       }},
      {"salts_until is 253402300800",
       [](auto& t) {
         t.salts = {Keeper::kTrainer, kMaxUnixSeconds + 1};
       }},
  };
  for (const auto& [says, change] : cases) {
    EngagementTerms terms = three_keys();
    change(terms);
    const auto made = make_engagement(terms, key_of(1), key_of(3));
    ASSERT_FALSE(made) << says;
    EXPECT_EQ(made.error().code, ErrorCode::kUsage) << says;
    EXPECT_NE(made.error().message.find(says), std::string::npos) << made.error().message;
  }
  EXPECT_EQ(make_engagement(three_keys(), key_of(1), key_of(9)).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace isobit::verify
