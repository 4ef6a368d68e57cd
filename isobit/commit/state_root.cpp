#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/commit/tensor_root.h"

namespace isobit::commit {

Digest StateRoot::digest() const {
  ByteWriter out;
  out.u64(step);
  out.u64(tensors.size);
  out.fixed(tensors.root);
  return tagged_hash("isobit.state-root", 1, out.view());
}

Bytes state_leaf(const StateEntry& entry) {
  ByteWriter out;
  out.text(entry.name);
  out.fixed(entry.tensor_root);
  return out.take();
}

Expected<StateRoot> state_root(std::span<const StateEntry> entries, uint64_t step) {
  std::vector<const StateEntry*> sorted;
  sorted.reserve(entries.size());
  for (const StateEntry& entry : entries) sorted.push_back(&entry);
  // std::string compares as unsigned bytes, in every locale.
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  MerkleTree tree;
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i]->name == sorted[i - 1]->name) {
      return rejected(text_of("state of step ", step, ": two tensors are named '", sorted[i]->name,
                              "'; every tensor needs a name of its own"));
    }
    tree.append(leaf_hash(state_leaf(*sorted[i])));
  }
  return StateRoot{step, tree.sized_root()};
}

Expected<StateRoot> state_root(std::span<const NamedTensor> tensors, uint64_t step, ThreadPool& pool) {
  std::vector<StateEntry> entries;
  entries.reserve(tensors.size());
  for (const NamedTensor& t : tensors) {
    entries.push_back({t.name, tensor_root(t.name, t.tensor, TensorLayout{}, pool).digest()});
  }
  return state_root(entries, step);
}

Digest sample_leaf(const Salt& salt, uint64_t index, ByteView sample) {
  return sample_leaf(salt, index, std::span(&sample, 1));
}

Digest sample_leaf(const Salt& salt, uint64_t index, std::span<const ByteView> pieces) {
  uint64_t size = 0;
  for (const ByteView piece : pieces) size += piece.size();
  ByteWriter head;
  head.u8(0);  // the leaf prefix of the tree
  head.text("isobit.sample");
  head.u32(1);
  head.fixed(salt);
  head.u64(index);
  head.u64(size);
  Sha256 hash;
  hash.update(head.view());
  for (const ByteView piece : pieces) hash.update(piece);
  return hash.digest();
}

}  // namespace isobit::commit
