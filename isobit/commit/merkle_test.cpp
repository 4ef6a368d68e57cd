#include "isobit/commit/merkle.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

namespace isobit::commit {
namespace {

// The eight leaves of the reference implementation of RFC 6962 and the roots of their prefixes.
const char* const kLeaves[] = {
    "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
const char* const kRoots[] = {"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                              "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                              "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                              "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                              "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                              "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                              "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                              "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                              "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

std::vector<Digest> reference_leaves() {
  std::vector<Digest> out;
  for (const char* leaf : kLeaves) out.push_back(leaf_hash(from_hex(leaf).value()));
  return out;
}

std::vector<std::string> hexes(const std::vector<Digest>& digests) {
  std::vector<std::string> out;
  for (const Digest& d : digests) out.push_back(hex_of(d));
  return out;
}

using Texts = std::vector<std::string>;

TEST(Rfc6962, RootsOfTheReferenceLeaves) {
  const auto leaves = reference_leaves();
  MerkleTree tree;
  for (size_t n = 0; n <= 8; ++n) {
    EXPECT_EQ(hex_of(merkle_root(std::span(leaves).first(n))), kRoots[n]) << n;
    EXPECT_EQ(hex_of(tree.root()), kRoots[n]) << n;
    if (n < 8) tree.append(leaves[n]);
  }
}

TEST(Rfc6962, ProofsOfTheReferenceLeaves) {
  const auto leaves = reference_leaves();
  const Texts first = {"96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
                       "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                       "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"};
  EXPECT_EQ(hexes(prove_inclusion(leaves, 0).path), first);
  EXPECT_EQ(hexes(prove_inclusion(leaves, 5).path),
            (Texts{"bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
                   "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                   "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}));
  EXPECT_EQ(hexes(prove_consistency(leaves, 1).nodes), first);
  EXPECT_EQ(hexes(prove_consistency(leaves, 6).nodes),
            (Texts{"0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
                   "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
                   "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"}));
  EXPECT_EQ(hexes(prove_consistency(std::span(leaves).first(5), 2).nodes),
            (Texts{"5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
                   "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"}));
}

// n leaves, all different.
std::vector<Digest> leaves_of(size_t n) {
  std::vector<Digest> out;
  for (size_t i = 0; i < n; ++i) {
    const uint8_t bytes[] = {static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8)};
    out.push_back(leaf_hash(bytes));
  }
  return out;
}

SizedRoot root_of(std::span<const Digest> leaves) { return {leaves.size(), merkle_root(leaves)}; }

TEST(Merkle, EverySmallProofVerifies) {
  const auto all = leaves_of(33);
  for (size_t n = 0; n <= all.size(); ++n) {
    const auto leaves = std::span(all).first(n);
    for (size_t i = 0; i < n; ++i)
      EXPECT_TRUE(verify_inclusion(prove_inclusion(leaves, i), leaves[i], root_of(leaves)));
    for (size_t m = 0; m <= n; ++m) {
      EXPECT_TRUE(verify_consistency(prove_consistency(leaves, m), root_of(leaves.first(m)), root_of(leaves)));
    }
  }
}

TEST(Merkle, EverySubsetOfNineLeavesVerifies) {
  const auto leaves = leaves_of(9);
  for (unsigned mask = 1; mask < 512; ++mask) {
    std::vector<uint64_t> indices;
    std::vector<Digest> opened;
    for (unsigned i = 0; i < 9; ++i) {
      if (mask >> i & 1) indices.push_back(i), opened.push_back(leaves[i]);
    }
    const MultiProof proof = prove_several(leaves, indices);
    EXPECT_TRUE(verify_several(proof, opened, root_of(leaves)));
    EXPECT_EQ(decode_multi_proof(encode(proof), "proof").value(), proof);
  }
}

TEST(Merkle, SameRootForEveryNumberOfThreads) {
  const auto leaves = leaves_of(5003);
  const Digest expected = merkle_root(leaves);
  MerkleTree tree;
  for (const Digest& leaf : leaves) tree.append(leaf);
  EXPECT_EQ(tree.root(), expected);
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(merkle_root(leaves, &pool), expected) << threads;
  }
}

TEST(Merkle, RestoresATreeFromItsFrontier) {
  const auto leaves = leaves_of(77);
  MerkleTree tree;
  for (size_t i = 0; i < leaves.size(); ++i) {
    auto again = MerkleTree::restore(tree.size(), tree.frontier());
    ASSERT_TRUE(again);
    again->append(leaves[i]);
    tree.append(leaves[i]);
    EXPECT_EQ(again->sized_root(), tree.sized_root());
  }
  EXPECT_FALSE(MerkleTree::restore(3, {Digest{}}));
}

TEST(Merkle, CommitmentBindsTagVersionSizeAndRoot) {
  const SizedRoot root{8, merkle_root(reference_leaves())};
  SizedRoot other_size = root, other_root = root;
  other_size.size = 9;
  other_root.root[0] ^= 1;
  const std::set<Digest> all = {root.commitment("isobit.a", 1), root.commitment("isobit.b", 1),
                                root.commitment("isobit.a", 2), other_size.commitment("isobit.a", 1),
                                other_root.commitment("isobit.a", 1)};
  EXPECT_EQ(all.size(), 5u);
}

void flip_a_bit(Digest& digest) {
  const int bit = *rc::gen::inRange(0, 256);
  digest[static_cast<size_t>(bit / 8)] ^= static_cast<uint8_t>(1 << bit % 8);
}

size_t below(size_t n) { return *rc::gen::inRange<size_t>(0, n); }

RC_GTEST_PROP(MerkleProperty, AnAlteredInclusionProofFails, ()) {
  const auto leaves = leaves_of(1 + below(200));
  const size_t index = below(leaves.size());
  const SizedRoot tree = root_of(leaves);
  const InclusionProof proof = prove_inclusion(leaves, index);
  RC_ASSERT(bool(verify_inclusion(proof, leaves[index], tree)));
  RC_ASSERT(decode_inclusion_proof(encode(proof), "proof").value() == proof);

  InclusionProof altered = proof;
  altered.index = (index + 1 + below(leaves.size() + 3)) % (leaves.size() + 4);
  RC_ASSERT(altered.index == index || !verify_inclusion(altered, leaves[index], tree));
  altered = proof;
  altered.size += 1 + below(300);
  RC_ASSERT(!verify_inclusion(altered, leaves[index], tree));
  SizedRoot wrong_tree = tree;
  flip_a_bit(wrong_tree.root);
  RC_ASSERT(!verify_inclusion(proof, leaves[index], wrong_tree));
  Digest wrong_leaf = leaves[index];
  flip_a_bit(wrong_leaf);
  RC_ASSERT(!verify_inclusion(proof, wrong_leaf, tree));
  altered = proof;
  altered.path.push_back(wrong_leaf);
  RC_ASSERT(!verify_inclusion(altered, leaves[index], tree));
  if (proof.path.empty()) return;
  altered.path = proof.path;
  altered.path.pop_back();
  RC_ASSERT(!verify_inclusion(altered, leaves[index], tree));
  altered.path = proof.path;
  flip_a_bit(altered.path[below(altered.path.size())]);
  RC_ASSERT(!verify_inclusion(altered, leaves[index], tree));
}

RC_GTEST_PROP(MerkleProperty, AnAlteredConsistencyProofFails, ()) {
  const auto leaves = leaves_of(1 + below(200));
  const size_t old_size = 1 + below(leaves.size());
  const SizedRoot new_tree = root_of(leaves), old_tree = root_of(std::span(leaves).first(old_size));
  const ConsistencyProof proof = prove_consistency(leaves, old_size);
  RC_ASSERT(bool(verify_consistency(proof, old_tree, new_tree)));
  RC_ASSERT(decode_consistency_proof(encode(proof), "proof").value() == proof);

  // Another history: one leaf among the first old_size differs.
  auto forged = leaves;
  flip_a_bit(forged[below(old_size)]);
  RC_ASSERT(!verify_consistency(prove_consistency(forged, old_size), old_tree, root_of(forged)));
  SizedRoot wrong = old_tree;
  flip_a_bit(wrong.root);
  RC_ASSERT(!verify_consistency(proof, wrong, new_tree));
  wrong = new_tree;
  flip_a_bit(wrong.root);
  RC_ASSERT(!verify_consistency(proof, old_tree, wrong));
  wrong = new_tree;
  wrong.size += 1 + below(9);
  RC_ASSERT(!verify_consistency(proof, old_tree, wrong));
  ConsistencyProof altered = proof;
  altered.nodes.push_back(Digest{});
  RC_ASSERT(!verify_consistency(altered, old_tree, new_tree));
  if (proof.nodes.empty()) return;
  altered = proof;
  flip_a_bit(altered.nodes[below(altered.nodes.size())]);
  RC_ASSERT(!verify_consistency(altered, old_tree, new_tree));
  altered = proof;
  altered.nodes.pop_back();
  RC_ASSERT(!verify_consistency(altered, old_tree, new_tree));
}

RC_GTEST_PROP(MerkleProperty, AnAlteredProofOfSeveralLeavesFails, ()) {
  const auto leaves = leaves_of(2 + below(200));
  std::set<uint64_t> chosen;
  for (size_t i = 1 + below(20); i > 0; --i) chosen.insert(below(leaves.size()));
  const std::vector<uint64_t> indices(chosen.begin(), chosen.end());
  std::vector<Digest> opened;
  for (uint64_t i : indices) opened.push_back(leaves[i]);
  const SizedRoot tree = root_of(leaves);
  const MultiProof proof = prove_several(leaves, indices);
  RC_ASSERT(bool(verify_several(proof, opened, tree)));
  RC_ASSERT(decode_multi_proof(encode(proof), "proof").value() == proof);

  auto wrong_leaves = opened;
  flip_a_bit(wrong_leaves[below(opened.size())]);
  RC_ASSERT(!verify_several(proof, wrong_leaves, tree));
  wrong_leaves = opened;
  wrong_leaves.pop_back();
  RC_ASSERT(!verify_several(proof, wrong_leaves, tree));
  MultiProof altered = proof;
  uint64_t& index = altered.indices[below(indices.size())];
  const uint64_t before = index;
  index = below(leaves.size() + 2);
  RC_ASSERT(index == before || !verify_several(altered, opened, tree));
  altered = proof;
  altered.size += 1 + below(5);
  RC_ASSERT(!verify_several(altered, opened, tree));
  altered = proof;
  altered.nodes.push_back(Digest{});
  RC_ASSERT(!verify_several(altered, opened, tree));
  if (proof.nodes.empty()) return;
  altered = proof;
  flip_a_bit(altered.nodes[below(altered.nodes.size())]);
  RC_ASSERT(!verify_several(altered, opened, tree));
}

// Sizes nobody can build, reached only through a proof from outside: no overflow, no endless walk.
TEST(Merkle, TheLargestSizesAreCheckedWithoutOverflow) {
  const SizedRoot huge{UINT64_MAX, {}};
  InclusionProof inclusion{UINT64_MAX - 1, UINT64_MAX, std::vector<Digest>(64)};
  EXPECT_FALSE(verify_inclusion(inclusion, Digest{}, huge));
  inclusion.path.resize(63);
  EXPECT_FALSE(verify_inclusion(inclusion, Digest{}, huge));
  EXPECT_FALSE(verify_consistency({UINT64_MAX - 1, UINT64_MAX, {}}, {UINT64_MAX - 1, {}}, huge));
  EXPECT_FALSE(verify_several({UINT64_MAX, {0, UINT64_MAX - 1}, std::vector<Digest>(126)}, leaves_of(2), huge));
}

// Every shorter and every longer text than a valid proof is refused, and so is a count nothing could hold.
TEST(MerkleCodec, RefusesEveryOtherLengthAndHugeCounts) {
  const auto leaves = leaves_of(13);
  const std::vector<uint64_t> indices = {2, 3, 9};
  const Bytes valid = encode(prove_several(leaves, indices));
  for (size_t n = 0; n < valid.size(); ++n) EXPECT_FALSE(decode_multi_proof(ByteView(valid).first(n), "proof")) << n;
  const Bytes path = encode(prove_inclusion(leaves, 7));
  for (size_t n = 0; n < path.size(); ++n) EXPECT_FALSE(decode_inclusion_proof(ByteView(path).first(n), "proof")) << n;
  const Bytes growth = encode(prove_consistency(leaves, 7));
  for (size_t n = 0; n < growth.size(); ++n) {
    EXPECT_FALSE(decode_consistency_proof(ByteView(growth).first(n), "proof")) << n;
  }
  Bytes longer = valid;
  longer.push_back(0);
  EXPECT_FALSE(decode_multi_proof(longer, "proof"));
  EXPECT_FALSE(decode_multi_proof(path, "proof")) << "another kind of proof";
  Bytes huge = valid;
  const size_t count_at = 8 + std::string_view("isobit.multi-proof").size() + 4 + 8;
  std::fill_n(huge.begin() + static_cast<std::ptrdiff_t>(count_at), 8, uint8_t{0xff});
  EXPECT_FALSE(decode_multi_proof(huge, "proof"));
}

}  // namespace
}  // namespace isobit::commit
