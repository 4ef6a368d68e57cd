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

// What could be said before there were several inputs and other targets is said as it was then, so that its commitments
// stay.
bool NpyDataset::has_old_form() const {
  const std::string& rule = columns_[0].preprocessing.name;
  return columns_.size() == 1 && inputs_[0].name == "input" && (rule == "f32" || rule == "u8/255") &&
         target().kind == TargetKind::kClass;
}

Bytes NpyDataset::header_bytes() const {
  if (has_old_form()) return dataset_header(*this, columns_[0].train.dtype(), columns_[0].preprocessing.name);
  std::vector<StoredInput> stored;
  for (const NpyInput& input : columns_) stored.push_back({input.train.dtype(), input.preprocessing.name});
  return dataset_header(*this, stored);
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
  return {};
}

Status NpyDataset::fill_input(size_t input, Split split, int64_t index, void* to) const {
  const NpyColumn& from = column(input, split);
  const auto& table = columns_[input].preprocessing.table;
  if (!table) return from.read_row(index, {static_cast<uint8_t*>(to), from.row_bytes()});
  ScratchVector<uint8_t> scratch;
  ISOBIT_TRY(const ByteView row, from.row(index, scratch));
  auto* values = static_cast<float*>(to);
  for (const uint8_t v : row) *values++ = (*table)[v];
  return {};
}

Status NpyDataset::fill(Split split, int64_t index, const AugmentDraw& draw, std::span<void* const> to_inputs,
                        void* to_target) const {
  ISOBIT_CHECK(index >= 0 && index < count(split) && to_inputs.size() == columns_.size());
  if (target().kind != TargetKind::kNone) ISOBIT_RETURN_IF_ERROR(targets_.fill(split, index, to_target));
  if (draw.identity()) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      ISOBIT_RETURN_IF_ERROR(fill_input(i, split, index, to_inputs[i]));
    }
    return {};
  }
  ISOBIT_CHECK(takes_augmentation());
  const std::vector<int64_t>& shape = inputs_[0].shape;
  ScratchVector<float> plain(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
  ISOBIT_RETURN_IF_ERROR(fill_input(0, split, index, plain.data()));
  apply_augment(draw, shape[0], shape[1], shape[2], plain.data(), static_cast<float*>(to_inputs[0]));
  return {};
}

}  // namespace isobit::data
