// One value as several platforms made it, element by element.
#pragma once

#include <functional>

#include "isobit/lab/deviation/comparison.h"
#include "isobit/lab/deviation/trace.h"

namespace isobit::lab::explain {

class Versions {
 public:
  // One of each class that one of these platforms made and whose tensor the labs have kept, as many as fit into `most`
  // bytes; no platforms: of all. Errors: those of `tensors`.
  static Expected<Versions> load(const deviation::TracedValue& value, const deviation::TensorSource& tensors,
                                 uint64_t most, const std::vector<size_t>& platforms = {});

  const std::vector<int64_t>& dims() const { return dims_; }
  size_t count() const { return bits_.size(); }

  struct Element {
    int64_t place = 0;    // row-major
    size_t versions = 0;  // different bits there, at least 2
  };
  // The first of those elements that have most versions; none where none differs, or none is allowed.
  std::optional<Element> most_different(const std::function<bool(int64_t)>& allowed) const;

 private:
  std::vector<int64_t> dims_;
  std::vector<Bytes> bits_;  // of equal sizes
  size_t size_ = 0;          // of an element
  int64_t elements_ = 0;
};

}  // namespace isobit::lab::explain
