#include "isobit/kernels/correct/undecided_lines.h"

#include <utility>

namespace isobit::kernels::correct {

void UndecidedLines::assign(std::vector<int64_t> lines, int64_t first, int64_t last) {
  lines_ = std::move(lines);
  first_ = first;
  index_.resize(static_cast<size_t>(last - first));
  for (size_t q = 0; q < lines_.size(); ++q) index_[static_cast<size_t>(lines_[q] - first)] = static_cast<uint32_t>(q);
  make_room();
}

void UndecidedLines::make_room() {
  direct_ = lines_.empty() || all_.contiguous(lines_[0]) != nullptr;
  const size_t elements = lines_.size() * static_cast<size_t>(k_);
  if (!direct_ && packed_.size() < elements) packed_.resize(elements);
  if (grids_.size() < lines_.size()) grids_.resize(lines_.size());
  if (masks_.size() < lines_.size() * words()) masks_.resize(lines_.size() * words());
}

void UndecidedLines::pack(int64_t first, int64_t last) {
  if (!direct_) {
    const auto some =
        std::span<const int64_t>(lines_).subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
    all_.read(some, packed_.data() + first * k_);
  }
  for (int64_t q = first; q < last; ++q) {
    const auto index = static_cast<size_t>(q);
    loops_.mask(k_, at(index), masks_.data() + index * words());
    if (with_grids_) grids_[index] = loops_.grid(k_, at(index));
  }
}

}  // namespace isobit::kernels::correct
