#include "isobit/lab/explain/versions.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "isobit/tensor/dtype_named.h"

namespace isobit::lab::explain {

Expected<Versions> Versions::load(const deviation::TracedValue& value, const deviation::TensorSource& tensors,
                                  uint64_t most, const std::vector<size_t>& platforms) {
  Versions versions;
  std::set<int> seen;
  for (size_t p = 0; p < value.at.size(); ++p) {
    const records::ValueRecord* record = value.at[p];
    if (!platforms.empty() && std::ranges::count(platforms, p) == 0) continue;
    if (record == nullptr || !seen.insert(value.classes[p]).second) continue;
    const auto dtype = dtype_named(record->dtype);
    if (!dtype || (versions.size_ != 0 && record->dims != versions.dims_)) continue;
    ISOBIT_TRY(std::optional<Bytes> bytes, tensors(record->hash));
    if (!bytes || bytes->empty() || bytes->size() % size_of(*dtype) != 0) continue;
    if (!versions.bits_.empty() && bytes->size() != versions.bits_.front().size()) continue;
    if (bytes->size() * (versions.bits_.size() + 1) > most) break;
    versions.dims_ = record->dims;
    versions.size_ = size_of(*dtype);
    versions.elements_ = static_cast<int64_t>(bytes->size() / versions.size_);
    versions.bits_.push_back(*std::move(bytes));
  }
  return versions;
}

std::optional<Versions::Element> Versions::most_different(const std::function<bool(int64_t)>& allowed) const {
  std::optional<Element> best;
  std::vector<const uint8_t*> different;
  for (int64_t i = 0; i < elements_; ++i) {
    different.clear();
    for (const Bytes& bits : bits_) {
      const uint8_t* element = bits.data() + static_cast<size_t>(i) * size_;
      const auto same = [&](const uint8_t* other) { return std::memcmp(element, other, size_) == 0; };
      if (std::ranges::none_of(different, same)) different.push_back(element);
    }
    if (different.size() < 2 || (best && different.size() <= best->versions) || !allowed(i)) continue;
    best = Element{i, different.size()};
  }
  return best;
}

}  // namespace isobit::lab::explain
