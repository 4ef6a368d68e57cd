// Samples in .npy files: several inputs of any type and shape, and any kind of target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/data/npy_column.h"
#include "isobit/data/npy_targets.h"
#include "isobit/data/preprocessing.h"
#include "isobit/data/sample_check.h"

namespace isobit::data {

// One input: its files, and what becomes of their elements.
struct NpyInput {
  std::string name;
  NpyColumn train;
  std::optional<NpyColumn> test;
  Preprocessing preprocessing;
};

class NpyDataset final : public Dataset {
 public:
  // REQUIRES 1 to kMaxInputs inputs with as many samples in each split as one another and as the targets have, if there
  // are any; each of one type and shape in both splits.
  NpyDataset(std::vector<NpyInput> inputs, NpyTargets targets);

  const std::string& name() const override { return name_; }
  const std::vector<SampleInput>& inputs() const override { return inputs_; }
  const Target& target() const override { return targets_.target(); }
  int64_t count(Split split) const override;
  uint64_t held_bytes() const override;
  Bytes header_bytes() const override;
  Status sample_bytes(Split split, int64_t index, Bytes& out) const override;
  Status fill(Split split, int64_t index, const AugmentDraw& draw, std::span<void* const> to_inputs,
              void* to_target) const override;
  // data::check_reads.
  void check_reads(SampleCheck check);

 private:
  const NpyColumn& column(size_t input, Split split) const {
    return split == Split::kTrain ? columns_[input].train : *columns_[input].test;
  }
  // As the model is fed it. Returns what is stored, which lies in `to`, in `scratch` or in memory.
  Expected<ByteView> fill_input(size_t input, Split split, int64_t index, void* to,
                                ScratchVector<uint8_t>& scratch) const;
  bool reads(Split split) const;  // from the disk, any part of a sample
  Status check(Split split, int64_t index, std::span<const ByteView> stored) const;

  std::string name_ = "npy";
  std::vector<NpyInput> columns_;
  NpyTargets targets_;
  std::vector<SampleInput> inputs_;
  SampleCheck check_;  // may be empty
};

}  // namespace isobit::data
