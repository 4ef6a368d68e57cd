#include "isobit/commit/merkle.h"

#include <algorithm>
#include <bit>

#include "isobit/base/text.h"
#include "isobit/commit/hash_pair.h"
#include "isobit/commit/merkle_internal.h"

namespace isobit::commit {
namespace {

constexpr uint8_t kLeafPrefix = 0, kNodePrefix = 1;

using NodeBytes = std::array<uint8_t, 65>;

NodeBytes node_bytes(const Digest& left, const Digest& right) {
  NodeBytes bytes;
  bytes[0] = kNodePrefix;
  std::copy(left.begin(), left.end(), bytes.begin() + 1);
  std::copy(right.begin(), right.end(), bytes.begin() + 33);
  return bytes;
}

// out[i] = parent of in[2i] and in[2i + 1] for whole pairs; a last odd one moves up unchanged. Level by level this is
// the tree of RFC 6962: its left subtrees are complete, so only the right edge has odd ones.
void hash_level(std::span<const Digest> in, std::span<Digest> out, ThreadPool* pool) {
  const auto pairs = static_cast<int64_t>(in.size() / 2);
  auto range = [&](int64_t begin, int64_t end) {
    auto i = static_cast<size_t>(begin);
    for (; i + 1 < static_cast<size_t>(end); i += 2) {
      const NodeBytes first = node_bytes(in[2 * i], in[2 * i + 1]), second = node_bytes(in[2 * i + 2], in[2 * i + 3]);
      const TwoDigests both = sha256_pair(first, second);
      out[i] = both.first;
      out[i + 1] = both.second;
    }
    if (i < static_cast<size_t>(end)) out[i] = node_hash(in[2 * i], in[2 * i + 1]);
  };
  constexpr int64_t kGrain = 512;  // below this a wake-up costs more than the hashes
  if (pool != nullptr && pairs >= 2 * kGrain) {
    pool->parallel_for(pairs, kGrain, range);
  } else {
    range(0, pairs);
  }
  if (in.size() % 2 != 0) out[in.size() / 2] = in.back();
}

}  // namespace

Digest leaf_hash(ByteView leaf) { return Sha256().update({&kLeafPrefix, 1}).update(leaf).digest(); }

Digest node_hash(const Digest& left, const Digest& right) { return sha256(node_bytes(left, right)); }

Digest SizedRoot::commitment(std::string_view tag, uint32_t version) const {
  ByteWriter payload;
  payload.u64(size);
  payload.fixed(root);
  return tagged_hash(tag, version, payload.view());
}

Digest merkle_root(std::span<const Digest> leaf_hashes, ThreadPool* pool) {
  if (leaf_hashes.empty()) return internal::empty_root();
  if (leaf_hashes.size() == 1) return leaf_hashes[0];
  std::vector<Digest> level((leaf_hashes.size() + 1) / 2), next((level.size() + 1) / 2);
  hash_level(leaf_hashes, level, pool);
  while (level.size() > 1) {
    next.resize((level.size() + 1) / 2);
    hash_level(level, next, pool);
    std::swap(level, next);
  }
  return level[0];
}

Expected<MerkleTree> MerkleTree::restore(uint64_t size, std::vector<Digest> frontier) {
  if (frontier.size() != static_cast<size_t>(std::popcount(size))) {
    return rejected(text_of("tree of ", size, " leaves: found a frontier of ", frontier.size(), " digests, expected ",
                            std::popcount(size)));
  }
  MerkleTree tree;
  tree.size_ = size;
  tree.frontier_ = std::move(frontier);
  return tree;
}

void MerkleTree::append(const Digest& leaf_hash) {
  ISOBIT_CHECK(size_ != UINT64_MAX);
  Digest subtree = leaf_hash;
  // As a binary counter carries: every trailing one bit of the size is a complete subtree of the same height.
  for (uint64_t rest = size_; rest & 1; rest >>= 1) {
    subtree = node_hash(frontier_.back(), subtree);
    frontier_.pop_back();
  }
  frontier_.push_back(subtree);
  ++size_;
}

Digest MerkleTree::root() const {
  if (frontier_.empty()) return internal::empty_root();
  Digest out = frontier_.back();
  for (size_t i = frontier_.size() - 1; i-- > 0;) out = node_hash(frontier_[i], out);
  return out;
}

}  // namespace isobit::commit
