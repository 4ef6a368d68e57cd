// Samples shown to who has no data: that they are those of a dataset root, alone or as the batch of a step.
// What a step was fed of one: data/shown_sample.h. Byte layout: docs/formats/job.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/merkle.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/data/dataset.h"

namespace isobit::verify {

// What a dataset root is the root of.
struct DatasetTrees {
  Bytes header;  // data::Dataset::header_bytes()
  commit::SizedRoot train, test;
  bool operator==(const DatasetTrees&) const = default;
};
commit::Digest dataset_root(const DatasetTrees& trees);

// The salt of one sample, which shows nothing of those of others. Its leaf is commit::sample_leaf under it.
commit::Salt sample_salt(const commit::Salt& dataset, data::Split split, int64_t index);

// The batch commitment of a step, 1 for the first, from the leaves of its samples in batch order.
commit::Digest batch_digest(int64_t step, std::span<const commit::Digest> leaves);

// The leaves of the samples of a batch, each once, however often the batch has the sample.
struct ShownLeaves {
  DatasetTrees trees;
  commit::MultiProof proof;            // in trees.train; its indices are those of the samples, ascending
  std::vector<commit::Digest> leaves;  // of these indices
  bool operator==(const ShownLeaves&) const = default;

  // `leaves`: of all training samples. REQUIRES at least one index, all in [0, leaves.size()), in any order.
  static ShownLeaves of(DatasetTrees trees, std::span<const commit::Digest> leaves, std::span<const int64_t> indices);
};
// batch_digest of the batch with these samples, in batch order. kRejected with the reason unless what is shown leads to
// the dataset root, and shows the samples of the batch and no others.
Expected<commit::Digest> batch_commitment(const ShownLeaves& shown, const commit::Digest& dataset_root, int64_t step,
                                          std::span<const int64_t> indices);

// One sample. It discloses the sample, and by its salt nothing else.
struct ShownSample {
  DatasetTrees trees;
  commit::Salt salt{};               // of the sample
  Bytes sample;                      // data::Dataset::sample_bytes
  commit::InclusionProof inclusion;  // in trees.train, or trees.test
  bool operator==(const ShownSample&) const = default;
  uint64_t index() const { return inclusion.index; }

  // `leaves`: of all samples of the split; `dataset`: the salt of the dataset. REQUIRES index < leaves.size().
  static ShownSample of(DatasetTrees trees, std::span<const commit::Digest> leaves, uint64_t index,
                        const commit::Salt& dataset, Bytes sample, data::Split split = data::Split::kTrain);
};
// kRejected with the reason unless it is sample `index` of that split of the dataset with that root.
Status verify_sample(const ShownSample& shown, uint64_t index, const commit::Digest& dataset_root,
                     data::Split split = data::Split::kTrain);

inline constexpr std::string_view kShownSampleTag = "isobit.shown-sample", kShownLeavesTag = "isobit.shown-leaves";
inline constexpr uint64_t kMaxShownSampleBytes = 1 << 20;
inline constexpr uint64_t kMaxShownLeavesBytes = 64 << 20;
// Canonical bytes; the decoders take no others and none that are longer, and allocate nothing that the data do not
// hold. Neither headers nor samples are looked at, nor what the proofs lead to. REQUIRES as many leaves as indices.
Bytes encode(const ShownLeaves& shown);
Bytes encode(const ShownSample& shown);
Expected<ShownLeaves> decode_shown_leaves(ByteView data, const std::string& what);
Expected<ShownSample> decode_shown_sample(ByteView data, const std::string& what);

}  // namespace isobit::verify
