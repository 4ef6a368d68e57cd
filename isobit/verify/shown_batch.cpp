#include "isobit/verify/shown_batch.h"

#include <algorithm>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/data/header.h"

namespace isobit::verify {
namespace {

constexpr uint32_t kShownBatchVersion = 1;
constexpr uint64_t kMaxInclusionBytes = 1 << 13;

void write_tree(ByteWriter& writer, const commit::SizedRoot& tree) {
  writer.u64(tree.size);
  writer.fixed(tree.root);
}

// What dataset_root hashes, and how both documents begin.
void write_trees(ByteWriter& writer, const DatasetTrees& trees) {
  writer.bytes(trees.header);
  write_tree(writer, trees.train);
  write_tree(writer, trees.test);
}

Expected<commit::SizedRoot> read_tree(ByteReader& reader, const char* samples, const char* root) {
  commit::SizedRoot tree;
  ISOBIT_TRY(tree.size, reader.u64(samples));
  ISOBIT_TRY(tree.root, commit::read_digest(reader, root));
  return tree;
}

Expected<DatasetTrees> read_trees(ByteReader& reader) {
  DatasetTrees trees;
  ISOBIT_TRY(const ByteView header, reader.bytes("header", data::kMaxHeaderBytes));
  trees.header.assign(header.begin(), header.end());
  ISOBIT_TRY(trees.train, read_tree(reader, "training samples", "training root"));
  ISOBIT_TRY(trees.test, read_tree(reader, "test samples", "test root"));
  return trees;
}

Status check_size(const ByteReader& reader, const char* field, uint64_t most) {
  if (reader.remaining() <= most) return {};
  return reader.fail(field, text_of("has ", reader.remaining(), " bytes, expected at most ", most));
}

Status check_root(const DatasetTrees& trees, const commit::Digest& root, const char* what) {
  if (dataset_root(trees) == root) return {};
  return rejected(text_of(what, ": header and trees do not lead to the dataset root ", commit::hex_of(root)));
}

}  // namespace

commit::Digest dataset_root(const DatasetTrees& trees) {
  ByteWriter writer;
  write_trees(writer, trees);
  return commit::tagged_hash("isobit.dataset", 1, writer.view());
}

commit::Salt sample_salt(const commit::Salt& dataset, data::Split split, int64_t index) {
  ByteWriter writer;
  writer.fixed(dataset);
  writer.u8(static_cast<uint8_t>(split));
  writer.i64(index);
  return commit::tagged_hash("isobit.sample-salt", 1, writer.view());
}

commit::Digest batch_digest(int64_t step, std::span<const commit::Digest> leaves) {
  ByteWriter writer;
  writer.i64(step);
  write_tree(writer, {leaves.size(), commit::merkle_root(leaves)});
  return commit::tagged_hash("isobit.batch", 1, writer.view());
}

ShownLeaves ShownLeaves::of(DatasetTrees trees, std::span<const commit::Digest> leaves,
                            std::span<const int64_t> indices) {
  std::vector<uint64_t> distinct(indices.begin(), indices.end());
  std::ranges::sort(distinct);
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  ShownLeaves shown{std::move(trees), commit::prove_several(leaves, distinct), {}};
  for (const uint64_t index : distinct) shown.leaves.push_back(leaves[index]);
  return shown;
}

Expected<commit::Digest> batch_commitment(const ShownLeaves& shown, const commit::Digest& dataset_root, int64_t step,
                                          std::span<const int64_t> indices) {
  constexpr const char* kWhat = "shown leaves";
  ISOBIT_RETURN_IF_ERROR(check_root(shown.trees, dataset_root, kWhat));
  ISOBIT_RETURN_IF_ERROR(commit::verify_several(shown.proof, shown.leaves, shown.trees.train));
  const std::vector<uint64_t>& known = shown.proof.indices;
  std::vector<bool> used(known.size());
  std::vector<commit::Digest> leaves;
  leaves.reserve(indices.size());
  for (const int64_t index : indices) {
    const auto found = std::ranges::lower_bound(known, static_cast<uint64_t>(index));
    if (found == known.end() || *found != static_cast<uint64_t>(index)) {
      return rejected(text_of(kWhat, ": training sample ", index, " of the batch is not among them"));
    }
    const auto at = static_cast<size_t>(found - known.begin());
    used[at] = true;
    leaves.push_back(shown.leaves[at]);
  }
  const auto unused = std::ranges::find(used, false);
  if (unused != used.end()) {
    return rejected(text_of(kWhat, ": training sample ", known[static_cast<size_t>(unused - used.begin())],
                            " is shown, which the batch does not have"));
  }
  return batch_digest(step, leaves);
}

ShownSample ShownSample::of(DatasetTrees trees, std::span<const commit::Digest> leaves, uint64_t index,
                            const commit::Salt& dataset, Bytes sample, data::Split split) {
  return {std::move(trees), sample_salt(dataset, split, static_cast<int64_t>(index)), std::move(sample),
          commit::prove_inclusion(leaves, index)};
}

Status verify_sample(const ShownSample& shown, uint64_t index, const commit::Digest& dataset_root, data::Split split) {
  constexpr const char* kWhat = "shown sample";
  const bool trains = split == data::Split::kTrain;
  if (shown.index() != index) {
    return rejected(
        text_of(kWhat, ": found ", trains ? "training" : "test", " sample ", shown.index(), ", expected ", index));
  }
  ISOBIT_RETURN_IF_ERROR(check_root(shown.trees, dataset_root, kWhat));
  return commit::verify_inclusion(shown.inclusion, commit::sample_leaf(shown.salt, index, shown.sample),
                                  trains ? shown.trees.train : shown.trees.test);
}

Bytes encode(const ShownLeaves& shown) {
  ISOBIT_CHECK(shown.leaves.size() == shown.proof.indices.size());
  ByteWriter writer;
  write_frame(writer, kShownLeavesTag, kShownBatchVersion);
  write_trees(writer, shown.trees);
  writer.bytes(commit::encode(shown.proof));
  for (const commit::Digest& leaf : shown.leaves) writer.fixed(leaf);
  return writer.take();
}

Bytes encode(const ShownSample& shown) {
  ByteWriter writer;
  write_frame(writer, kShownSampleTag, kShownBatchVersion);
  write_trees(writer, shown.trees);
  writer.fixed(shown.salt);
  writer.bytes(shown.sample);
  writer.bytes(commit::encode(shown.inclusion));
  return writer.take();
}

Expected<ShownLeaves> decode_shown_leaves(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(check_size(reader, "shown leaves", kMaxShownLeavesBytes));
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kShownLeavesTag, kShownBatchVersion));
  ShownLeaves shown;
  ISOBIT_TRY(shown.trees, read_trees(reader));
  ISOBIT_TRY(const ByteView proof, reader.bytes("proof", kMaxShownLeavesBytes));
  ISOBIT_TRY(shown.proof, commit::decode_multi_proof(proof, what + ", proof"));
  const size_t count = shown.proof.indices.size();
  if (reader.remaining() != count * sizeof(commit::Digest)) {
    return reader.fail("leaves",
                       text_of("found ", reader.remaining(), " bytes, expected ", count, " digests of 32 bytes"));
  }
  shown.leaves.resize(count);
  for (commit::Digest& leaf : shown.leaves) {
    ISOBIT_TRY(leaf, commit::read_digest(reader, "leaves"));
  }
  return shown;
}

Expected<ShownSample> decode_shown_sample(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(check_size(reader, "shown sample", kMaxShownSampleBytes));
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kShownSampleTag, kShownBatchVersion));
  ShownSample shown;
  ISOBIT_TRY(shown.trees, read_trees(reader));
  ISOBIT_TRY(shown.salt, commit::read_digest(reader, "salt"));
  ISOBIT_TRY(const ByteView sample, reader.bytes("sample", kMaxShownSampleBytes));
  shown.sample.assign(sample.begin(), sample.end());
  ISOBIT_TRY(const ByteView inclusion, reader.bytes("inclusion", kMaxInclusionBytes));
  ISOBIT_TRY(shown.inclusion, commit::decode_inclusion_proof(inclusion, what + ", inclusion"));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return shown;
}

}  // namespace isobit::verify
