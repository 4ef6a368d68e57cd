#include "isobit/verify/shown_batch.h"

#include <gtest/gtest.h>

namespace isobit::verify {
namespace {

constexpr int64_t kTrain = 13;

Bytes sample_of(uint64_t i) { return {static_cast<uint8_t>(i), 7, static_cast<uint8_t>(i * i)}; }

// Thirteen samples and five of the test, under a salt.
struct Data {
  Data() {
    for (int64_t i = 0; i < kTrain; ++i) {
      leaves.push_back(commit::sample_leaf(sample_salt(salt, data::Split::kTrain, i), static_cast<uint64_t>(i),
                                           sample_of(static_cast<uint64_t>(i))));
    }
    const std::vector<commit::Digest> test(5, commit::sha256({}));
    const Bytes header = {'h', 'e', 'a', 'd'};
    trees = {header, {leaves.size(), commit::merkle_root(leaves)}, {test.size(), commit::merkle_root(test)}};
    root = dataset_root(trees);
  }
  ShownSample sample(uint64_t i) const { return ShownSample::of(trees, leaves, i, salt, sample_of(i)); }
  ShownLeaves batch(const std::vector<int64_t>& indices) const { return ShownLeaves::of(trees, leaves, indices); }

  commit::Salt salt = commit::sha256(as_bytes("salt"));
  std::vector<commit::Digest> leaves;
  DatasetTrees trees;
  commit::Digest root{};
};

TEST(ShownSample, IsThatOfTheDataset) {
  const Data data;
  for (uint64_t i = 0; i < kTrain; ++i) {
    const auto shown = decode_shown_sample(encode(data.sample(i)), "sample");
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(*shown, data.sample(i));
    EXPECT_EQ(shown->index(), i);
    const Status verified = verify_sample(*shown, i, data.root);
    EXPECT_TRUE(verified) << verified.error().message;
    for (const uint64_t other : {i + 1, i - 1}) {
      const Status wrong = verify_sample(*shown, other, data.root);
      ASSERT_FALSE(wrong);
      EXPECT_EQ(wrong.error().code, ErrorCode::kRejected);
    }
    EXPECT_FALSE(verify_sample(*shown, i, {}));
  }
}

TEST(ShownSample, OfTheTestIsNone) {
  // The leaf of a test sample is hashed with another salt and stands in another tree.
  Data data;
  std::swap(data.trees.train, data.trees.test);
  const Status wrong = verify_sample(data.sample(3), 3, dataset_root(data.trees));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kRejected);
}

TEST(ShownSample, AnotherSampleOrSaltIsRejected) {
  const Data data;
  ShownSample shown = data.sample(3);
  shown.sample = sample_of(4);
  EXPECT_FALSE(verify_sample(shown, 3, data.root));
  shown = data.sample(3);
  shown.salt = data.salt;
  EXPECT_FALSE(verify_sample(shown, 3, data.root));
  shown = data.sample(4);
  shown.inclusion.index = 3;
  EXPECT_FALSE(verify_sample(shown, 3, data.root));
  shown = data.sample(3);
  shown.trees.header.push_back(0);
  EXPECT_FALSE(verify_sample(shown, 3, data.root));
}

TEST(ShownLeaves, LeadToTheBatchCommitment) {
  const Data data;
  for (const std::vector<int64_t>& indices : std::vector<std::vector<int64_t>>{
           {0}, {12}, {5, 2, 9}, {4, 4, 4}, {12, 0, 7, 0, 12}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}) {
    const auto shown = decode_shown_leaves(encode(data.batch(indices)), "leaves");
    ASSERT_TRUE(shown) << shown.error().message;
    EXPECT_EQ(*shown, data.batch(indices));
    std::vector<commit::Digest> leaves;
    for (const int64_t i : indices) leaves.push_back(data.leaves[static_cast<size_t>(i)]);
    const auto commitment = batch_commitment(*shown, data.root, 9, indices);
    ASSERT_TRUE(commitment) << commitment.error().message;
    EXPECT_EQ(*commitment, batch_digest(9, leaves));
    EXPECT_NE(*commitment, batch_digest(8, leaves));
    EXPECT_FALSE(batch_commitment(*shown, {}, 9, indices));
  }
}

TEST(ShownLeaves, AreThoseOfTheBatchAndNoOthers) {
  const Data data;
  const ShownLeaves shown = data.batch({5, 2, 9});
  const auto message = [&](const std::vector<int64_t>& indices) {
    const auto commitment = batch_commitment(shown, data.root, 1, indices);
    EXPECT_FALSE(commitment);
    if (commitment) return std::string();
    EXPECT_EQ(commitment.error().code, ErrorCode::kRejected);
    return commitment.error().message;
  };
  EXPECT_EQ(message({5, 2, 9, 3}), "shown leaves: training sample 3 of the batch is not among them");
  EXPECT_EQ(message({5, 2}), "shown leaves: training sample 9 is shown, which the batch does not have");
  EXPECT_NE(message({}), "");
  EXPECT_NE(message({5, 2, 9, -1}), "");
  EXPECT_NE(message({5, 2, 9, 13}), "");
  // The order of the batch is what is committed to.
  EXPECT_NE(*batch_commitment(shown, data.root, 1, std::vector<int64_t>{2, 5, 9}),
            *batch_commitment(shown, data.root, 1, std::vector<int64_t>{5, 2, 9}));
  ShownLeaves swapped = shown;
  std::swap(swapped.leaves[0], swapped.leaves[1]);
  EXPECT_FALSE(batch_commitment(swapped, data.root, 1, std::vector<int64_t>{5, 2, 9}));
  swapped = shown;
  swapped.leaves.pop_back();
  EXPECT_FALSE(batch_commitment(swapped, data.root, 1, std::vector<int64_t>{5, 2, 9}));
}

// Every bit, cut and byte more of the bytes: refused, or something else that does not lead to the root.
template <class Decode, class Verify>
void expect_damage_seen(const Bytes& good, const Decode& decode, const Verify& verify) {
  ASSERT_TRUE(verify(*decode(good, "shown")));
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode(ByteView(good).first(n), "shown"));
  Bytes longer = good;
  longer.push_back(0);
  EXPECT_FALSE(decode(longer, "shown"));
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const auto decoded = decode(bad, "shown");
    if (!decoded) {
      EXPECT_EQ(decoded.error().code, ErrorCode::kUnreadable) << bit;
      continue;
    }
    EXPECT_EQ(encode(*decoded), bad) << bit;
    EXPECT_FALSE(verify(*decoded)) << bit;
  }
}

TEST(ShownSample, EveryBitCounts) {
  const Data data;
  for (const uint64_t i : {uint64_t{0}, uint64_t{6}, uint64_t{12}}) {
    expect_damage_seen(encode(data.sample(i)), decode_shown_sample,
                       [&](const ShownSample& shown) { return verify_sample(shown, i, data.root).has_value(); });
  }
}

TEST(ShownLeaves, EveryBitCounts) {
  const Data data;
  const std::vector<int64_t> indices = {11, 3, 4, 3};
  expect_damage_seen(encode(data.batch(indices)), decode_shown_leaves, [&](const ShownLeaves& shown) {
    return batch_commitment(shown, data.root, 2, indices).has_value();
  });
}

TEST(ShownSample, TooLongIsNotLookedAt) {
  const Data data;
  ShownSample shown = data.sample(2);
  shown.sample.resize(kMaxShownSampleBytes);
  const auto decoded = decode_shown_sample(encode(shown), "sample");
  ASSERT_FALSE(decoded);
  EXPECT_NE(decoded.error().message.find("expected at most 1048576"), std::string::npos);
}

// From tests/oracles/shown_batch_oracle.py, which shares no code with this.
TEST(ShownBatch, GoldenBytes) {
  const Data data;
  EXPECT_EQ(commit::hex_of(data.root), "58876942daf9c722146f34519bcd8cdf292f6aaa2e08699b5d9f51ace91e12a4");
  EXPECT_EQ(
      commit::hex_of(*batch_commitment(data.batch({11, 3, 4, 3}), data.root, 2, std::vector<int64_t>{11, 3, 4, 3})),
      "18d7ad28d3a597e8728f4a3f7e7a92f02282159129440f08fe5415bab5dd3134");
  EXPECT_EQ(commit::hex_of(commit::sha256(encode(data.sample(6)))),
            "f3488abc0e4d812046f9952e29b212d5a936597c6edf3956ee75d849d6abe1c3");
  EXPECT_EQ(commit::hex_of(commit::sha256(encode(data.batch({11, 3, 4, 3})))),
            "eb6c54d55abb721fcb2f538b50cfa78907fd34dbd4bc8cc05e2eb99800e85731");
}

}  // namespace
}  // namespace isobit::verify
