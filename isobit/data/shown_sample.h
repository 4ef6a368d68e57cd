// What a step was fed of one sample, for who has no data: from the dataset's header and the sample's canonical bytes,
// which somebody shows (docs/formats/samples.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isobit/data/batch.h"
#include "isobit/data/header.h"
#include "isobit/data/preprocessing.h"

namespace isobit::data {

// Neither header nor samples need be honest; that they are those of a dataset root is shown elsewhere
// (verify/shown_batch.h). Immutable; every member may be called from many threads at once.
class ShownSamples {
 public:
  // Errors: as decode_dataset_header.
  static Expected<ShownSamples> open(ByteView header, const std::string& what);

  // As the dataset with this header has them.
  const std::string& name() const { return header_.name; }
  const std::vector<SampleInput>& inputs() const { return header_.inputs; }
  const Target& target() const { return header_.target; }
  int64_t count(Split split) const { return split == Split::kTrain ? header_.train_count : header_.test_count; }
  bool takes_augmentation() const { return data::takes_augmentation(inputs(), target()); }

  // Of every sample. What the header says of its size is as yet nobody's word: a row of an input or of the target takes
  // at most eight times these bytes, so compare them with those of the sample before making room for its rows.
  uint64_t sample_size() const { return sample_size_; }

  // What train_batch draws for that position of the batch of `step`, 0 for the first. kUnreadable where the options
  // augment what cannot be augmented. REQUIRES as draw_augment.
  Expected<AugmentDraw> draw(const BatchOptions& options, int64_t step, int64_t position) const;

  // Writes what Dataset::fill writes of the sample with these bytes: to_inputs[i] the elements of inputs()[i], and to
  // to_target those of target(); of kNone nothing, and to_target may be null. kUnreadable, with what was written of no
  // use: another length than sample_size(), a class or label out of range, a number that is not finite, a boolean that
  // is none; a draw for samples that take none.
  Status fill(ByteView sample, const AugmentDraw& draw, std::span<void* const> to_inputs, void* to_target) const;

 private:
  Status check_tokens(const int64_t* tokens) const;
  Status fill_target(ByteView stored, void* to) const;
  Status fill_input(size_t input, ByteView stored, void* to) const;
  tl::unexpected<Error> fail(const std::string& problem) const;

  std::string what_;
  DatasetHeader header_;
  std::vector<Preprocessing> rules_;  // of each input
  size_t target_size_ = 0;            // in a sample; of tokens 0: the target lies in those of the input
  std::vector<size_t> input_sizes_;
  uint64_t sample_size_ = 0;
};

}  // namespace isobit::data
