#include "isobit/data/npy_dataset.h"

#include "isobit/data/header.h"

namespace isobit::data {

NpyDataset::NpyDataset(std::vector<NpyInput> inputs, NpyTargets targets)
    : columns_(std::move(inputs)), targets_(std::move(targets)) {
  ISOBIT_CHECK(!columns_.empty() && columns_.size() <= kMaxInputs);
  for (const NpyInput& input : columns_) {
    inputs_.push_back({input.name, input.preprocessing.fed, input.train.row_shape()});
    for (const Split split : {Split::kTrain, Split::kTest}) {
      if (split == Split::kTest && !input.test) continue;
      ISOBIT_CHECK(column(inputs_.size() - 1, split).rows() == count(split));
      ISOBIT_CHECK(target().kind == TargetKind::kNone || targets_.rows(split) == count(split));
    }
  }
}

int64_t NpyDataset::count(Split split) const {
  if (split == Split::kTrain) return columns_[0].train.rows();
  return columns_[0].test ? columns_[0].test->rows() : 0;
}

uint64_t NpyDataset::held_bytes() const {
  uint64_t bytes = targets_.held_bytes();
  for (const NpyInput& input : columns_) {
    bytes += input.train.held_bytes() + (input.test ? input.test->held_bytes() : 0);
  }
  return bytes;
}

Bytes NpyDataset::header_bytes() const {
  std::vector<StoredInput> stored;
  for (const NpyInput& input : columns_) stored.push_back({input.train.dtype(), input.preprocessing.name});
  return dataset_header(*this, std::move(stored));
}

Status NpyDataset::sample_bytes(Split split, int64_t index, Bytes& out) const {
  size_t at = targets_.bytes(), size = at;
  for (const NpyInput& input : columns_) size += input.train.row_bytes();
  out.resize(size);
  if (at > 0) ISOBIT_RETURN_IF_ERROR(targets_.fill(split, index, out.data()));
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::span<uint8_t> row(out.data() + at, columns_[i].train.row_bytes());
    ISOBIT_RETURN_IF_ERROR(column(i, split).read_row(index, row));
    at += row.size();
  }
  const ByteView stored = out;
  return check(split, index, {&stored, 1});
}

Expected<ByteView> NpyDataset::fill_input(size_t input, Split split, int64_t index, void* to,
                                          ScratchVector<uint8_t>& scratch) const {
  const NpyColumn& from = column(input, split);
  const Preprocessing& rule = columns_[input].preprocessing;
  if (rule.passes()) {
    const std::span<uint8_t> row(static_cast<uint8_t*>(to), from.row_bytes());
    ISOBIT_RETURN_IF_ERROR(from.read_row(index, row));
    return ByteView(row);
  }
  ISOBIT_TRY(const ByteView row, from.row(index, scratch));
  rule.apply(row, to);
  return row;
}

// What is checked is what was read into the batch, or what the batch was made of: nothing is read a second time.
Status NpyDataset::fill(Split split, int64_t index, const AugmentDraw& draw, std::span<void* const> to_inputs,
                        void* to_target) const {
  ISOBIT_CHECK(index >= 0 && index < count(split) && to_inputs.size() == columns_.size());
  ScratchVector<ScratchVector<uint8_t>> scratch(columns_.size());
  ScratchVector<ByteView> stored(1 + columns_.size());  // the target, then the inputs
  if (target().kind != TargetKind::kNone) {
    ISOBIT_RETURN_IF_ERROR(targets_.fill(split, index, to_target));
    stored[0] = ByteView(static_cast<const uint8_t*>(to_target), targets_.bytes());
  }
  ISOBIT_CHECK(draw.identity() || takes_augmentation());
  for (size_t i = 0; i < columns_.size(); ++i) {
    ISOBIT_RETURN_IF_ERROR(write_augmented(draw, inputs_[i].shape, to_inputs[i], [&](void* to) -> Status {
      ISOBIT_TRY(stored[i + 1], fill_input(i, split, index, to, scratch[i]));
      // With the last one all that was read is there, and nothing of it has been changed yet.
      return i + 1 == columns_.size() ? check(split, index, stored) : Status();
    }));
  }
  return {};
}

bool NpyDataset::reads(Split split) const {
  if (targets_.reads(split)) return true;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (column(i, split).reads()) return true;
  }
  return false;
}

Status NpyDataset::check(Split split, int64_t index, std::span<const ByteView> stored) const {
  if (!check_ || !reads(split)) return {};
  return check_(split, index, stored);
}

void NpyDataset::check_reads(SampleCheck check) {
  check_ = std::move(check);
  targets_.ignore_times();
  for (NpyInput& input : columns_) {
    input.train.ignore_times();
    if (input.test) input.test->ignore_times();
  }
}

// No other dataset reads from the disk.
void check_reads(Dataset& dataset, SampleCheck check) {
  if (auto* npy = dynamic_cast<NpyDataset*>(&dataset)) npy->check_reads(std::move(check));
}

}  // namespace isobit::data
