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

TEST(Engagement, LayoutIsTheDocumentedOne) {
  const Engagement e = fake_engagement();
  const Bytes bytes = encode(e);
  ASSERT_EQ(bytes.size(), 8u + 17 + 4 + 32 + 16 + 32 + 8 + 32 + 8 + 8 + 64 + 32 + 64);
  EXPECT_EQ(std::string(bytes.begin() + 8, bytes.begin() + 25), "isobit.engagement");
  EXPECT_EQ(bytes[25], 1);
  EXPECT_TRUE(std::equal(e.terms.job_root.begin(), e.terms.job_root.end(), bytes.begin() + 29));
  // The bits of this object, fixed for good: Ed25519 is deterministic.
  EXPECT_EQ(commit::hex_of(commit::sha256(bytes)), "4507f90723c17f6dc1a46140e9812f37441c481947aa261862ef1b0e70358e1d");
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

TEST(Engagement, NewerVersionSaysSo) {
  Bytes bytes = encode(fake_engagement());
  bytes[25] = 3;
  const auto decoded = decode_engagement(bytes, "engagement");
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(decoded.error().message.find("newer version: found 3, this isobit reads up to 1; update isobit"),
            std::string::npos)
      << decoded.error().message;
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
  EngagementTerms terms = fake_engagement().terms;
  const auto signature = sign_terms(terms, key_of(testing::kClient));
  ASSERT_TRUE(signature);
  EXPECT_FALSE(sign_terms(terms, key_of(3)));
  EXPECT_EQ(countersign(terms, *signature, key_of(3)).error().code, ErrorCode::kUsage);
  terms.response_seconds += 1;
  EXPECT_EQ(countersign(terms, *signature, key_of(testing::kTrainer)).error().code, ErrorCode::kRejected);
}

TEST(Engagement, InvalidTermsAreUsageErrors) {
  EngagementTerms none;
  EXPECT_EQ(make_engagement(none, key_of(1), key_of(2)).error().code, ErrorCode::kUsage);
  EngagementTerms zero = three_keys();
  zero.response_seconds = 0;
  EXPECT_EQ(make_engagement(zero, key_of(1), key_of(3)).error().code, ErrorCode::kUsage);
  EngagementTerms many = three_keys();
  for (uint8_t i = 10; i < 80; ++i) many.trainer_keys.push_back(key_of(i).public_key());
  EXPECT_EQ(make_engagement(many, key_of(1), key_of(3)).error().code, ErrorCode::kUsage);
  EXPECT_EQ(make_engagement(three_keys(), key_of(1), key_of(9)).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace isobit::verify
