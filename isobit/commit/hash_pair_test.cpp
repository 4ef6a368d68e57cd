// Pairs against the library's SHA-256 of each, which hash_test.cpp holds to the published examples. On a processor
// without SHA instructions pairs come from the library too: what is held there is which of the two is which.
#include "isobit/commit/hash_pair.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "isobit/commit/merkle.h"

namespace isobit::commit {
namespace {

// Ends just before, at and after each length at which another block begins, and those of leaves and nodes.
TEST(Sha256Pair, GivesWhatTheLibraryGivesAtEveryLengthAndAlignment) {
  std::vector<uint8_t> bytes(8192);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i * 31 + i / 7);
  for (size_t size = 0; size <= 1300; ++size) {
    const ByteView first(bytes.data() + size % 17, size), second(bytes.data() + 4096 + size % 5, size);
    const TwoDigests both = sha256_pair(first, second);
    ASSERT_EQ(both.first, sha256(first)) << size;
    ASSERT_EQ(both.second, sha256(second)) << size;
  }
}

RC_GTEST_PROP(Sha256Pair, OfAnyBytes, (const std::vector<uint8_t>& a, std::vector<uint8_t> b)) {
  b.resize(a.size(), 0xa5);
  const TwoDigests both = sha256_pair(a, b);
  RC_ASSERT(both.first == sha256(a));
  RC_ASSERT(both.second == sha256(b));
}

TEST(Sha256Pair, OfOneMessageTwiceIsItsHashTwice) {
  const Bytes message(1073, 7);
  const TwoDigests both = sha256_pair(message, message);
  EXPECT_EQ(both.first, both.second);
  EXPECT_EQ(both.first, sha256(message));
}

TEST(Sha256PairDeathTest, RefusesTwoLengths) {
  const Bytes one(64), other(65);
  EXPECT_DEATH(sha256_pair(one, other), "size");
}

// Levels of a tree are hashed in pairs; a tree that grows leaf by leaf is not.
TEST(MerkleRoot, IsThatOfATreeThatGrowsForEveryNumberOfLeaves) {
  std::vector<Digest> leaves;
  MerkleTree tree;
  for (uint8_t n = 0; n < 130; ++n) {
    EXPECT_EQ(merkle_root(leaves), tree.root()) << int{n};
    leaves.push_back(sha256({&n, 1}));
    tree.append(leaves.back());
  }
}

}  // namespace
}  // namespace isobit::commit
