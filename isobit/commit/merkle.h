// Merkle trees of RFC 6962, section 2.1: leaf = SHA-256(0x00 || bytes), node = SHA-256(0x01 || left || right), the left
// subtree of n leaves holds the largest power of two below n. Encodings of the proofs: docs/formats/merkle.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/base/thread_pool.h"
#include "isobit/commit/hash.h"

namespace isobit::commit {

Digest leaf_hash(ByteView leaf);
Digest node_hash(const Digest& left, const Digest& right);

// A bare root does not bind the number of leaves, so nothing is signed or compared but commitment().
struct SizedRoot {
  uint64_t size = 0;
  Digest root{};
  // tagged_hash(tag, version, size || root).
  Digest commitment(std::string_view tag, uint32_t version) const;
  bool operator==(const SizedRoot&) const = default;
};

// Root of leaves already hashed with leaf_hash; of no leaves, SHA-256 of nothing. With a pool the levels are hashed in
// parallel, with the same result for every number of threads.
Digest merkle_root(std::span<const Digest> leaf_hashes, ThreadPool* pool = nullptr);

// The append-only tree in O(log n) memory: the roots of its complete subtrees, largest first.
class MerkleTree {
 public:
  MerkleTree() = default;
  // Continues a tree whose size() and frontier() were saved. kRejected when `frontier` has not one digest per set bit
  // of size.
  static Expected<MerkleTree> restore(uint64_t size, std::vector<Digest> frontier);

  void append(const Digest& leaf_hash);
  uint64_t size() const { return size_; }
  Digest root() const;
  SizedRoot sized_root() const { return {size_, root()}; }
  const std::vector<Digest>& frontier() const { return frontier_; }

 private:
  uint64_t size_ = 0;
  std::vector<Digest> frontier_;
};

// That a leaf stands at `index` in a tree of `size` leaves. path: siblings from the leaf upwards.
struct InclusionProof {
  uint64_t index = 0;
  uint64_t size = 0;
  std::vector<Digest> path;
  bool operator==(const InclusionProof&) const = default;
};

// That the first old_size leaves of a tree of new_size leaves are those of the older tree. Nodes as in RFC 6962,
// section 2.1.2. Also defined, without nodes, for old_size 0 and old_size == new_size.
struct ConsistencyProof {
  uint64_t old_size = 0;
  uint64_t new_size = 0;
  std::vector<Digest> nodes;
  bool operator==(const ConsistencyProof&) const = default;
};

// That several leaves stand at `indices` (strictly increasing, at least one). nodes: the roots of the largest subtrees
// without an opened leaf, left to right.
struct MultiProof {
  uint64_t size = 0;
  std::vector<uint64_t> indices;
  std::vector<Digest> nodes;
  bool operator==(const MultiProof&) const = default;
};

// REQUIRES index < leaf_hashes.size(). O(n) hashes, as the next two.
InclusionProof prove_inclusion(std::span<const Digest> leaf_hashes, uint64_t index);
// REQUIRES old_size <= leaf_hashes.size().
ConsistencyProof prove_consistency(std::span<const Digest> leaf_hashes, uint64_t old_size);
// REQUIRES indices strictly increasing, non-empty, all < leaf_hashes.size().
MultiProof prove_several(std::span<const Digest> leaf_hashes, std::span<const uint64_t> indices);

// The root of the tree of proof.size leaves that the proof leads to. kRejected when it is no proof of such a tree.
Expected<Digest> inclusion_root(const InclusionProof& proof, const Digest& leaf_hash);

// kRejected with the reason when the proof does not lead to exactly this tree. The proof may come from anybody; the
// SizedRoot must come from a commitment.
Status verify_inclusion(const InclusionProof& proof, const Digest& leaf_hash, const SizedRoot& tree);
Status verify_consistency(const ConsistencyProof& proof, const SizedRoot& old_tree, const SizedRoot& new_tree);
// leaf_hashes[i] is claimed to stand at proof.indices[i].
Status verify_several(const MultiProof& proof, std::span<const Digest> leaf_hashes, const SizedRoot& tree);

// Canonical bytes. Decoders reject every other encoding, and a number of digests that does not follow from the sizes
// and indices; `what` starts their messages.
Bytes encode(const InclusionProof& proof);
Bytes encode(const ConsistencyProof& proof);
Bytes encode(const MultiProof& proof);
Expected<InclusionProof> decode_inclusion_proof(ByteView data, std::string_view what);
Expected<ConsistencyProof> decode_consistency_proof(ByteView data, std::string_view what);
Expected<MultiProof> decode_multi_proof(ByteView data, std::string_view what);

}  // namespace isobit::commit
