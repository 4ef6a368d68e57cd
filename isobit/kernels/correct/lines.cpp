#include "isobit/kernels/correct/lines.h"

#include <algorithm>

namespace isobit::kernels::correct {

void Lines::assign(std::vector<int64_t> lines) {
  lines_ = std::move(lines);
  direct_ = lines_.empty() || operand_.direct(lines_[0]) != nullptr;
  const size_t elements = lines_.size() * static_cast<size_t>(k_);
  if (!direct_ && packed_.size() < elements) packed_.resize(elements);
  if (masks_.size() < lines_.size() * words()) masks_.resize(lines_.size() * words());
}

void Lines::pack(int64_t first, int64_t last) {
  if (!direct_) {
    const auto some =
        std::span<const int64_t>(lines_).subspan(static_cast<size_t>(first), static_cast<size_t>(last - first));
    operand_.pack(some, packed_.data() + first * k_);
  }
  for (int64_t q = first; q < last; ++q) {
    const auto index = static_cast<size_t>(q);
    steps_.mask(k_, at(index), masks_.data() + index * words());
  }
}

size_t Lines::index_of(int64_t line) const {
  return static_cast<size_t>(std::lower_bound(lines_.begin(), lines_.end(), line) - lines_.begin());
}

}  // namespace isobit::kernels::correct
