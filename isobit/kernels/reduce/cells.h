// Which elements each result of a reduction has, whatever the axes: for kernels that are one plain loop over them.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/base/scratch.h"

namespace isobit::kernels::reduce {

// Whether an array of these dimensions has no elements, and how many results it has when the axes whose bits are set
// are reduced. REQUIRES dims.size() <= 64, each >= 0.
bool is_empty(std::span<const int64_t> dims);
int64_t result_count(std::span<const int64_t> dims, uint64_t axes);

// A row-major array reduced over the axes whose bits are set. The elements of a result are blocks of length() elements,
// step() apart; visited block by block they are in ascending row-major order. Places are in elements.
class Cells {
 public:
  // REQUIRES dims.size() <= 64, each >= 0, and that an array of them exists.
  Cells(std::span<const int64_t> dims, uint64_t axes);

  int64_t results() const { return results_; }
  int64_t terms() const { return static_cast<int64_t>(blocks_.size()) * length_; }  // of each result
  int64_t length() const { return length_; }
  int64_t step() const { return step_; }
  // Where a result's blocks begin, counted from its place.
  const ScratchVector<int64_t>& blocks() const { return blocks_; }
  int64_t place(int64_t result) const;
  // Whether the elements of a result lie one behind the other.
  bool dense() const { return blocks_.size() == 1 && (step_ == 1 || length_ <= 1); }

  // f(place of an element) for all of a result, in ascending order; in descending order.
  template <class F>
  void for_each(int64_t result, F&& f) const {
    const int64_t first = place(result);
    for (int64_t block : blocks_) {
      for (int64_t i = 0; i < length_; ++i) f(first + block + i * step_);
    }
  }
  template <class F>
  void for_each_backwards(int64_t result, F&& f) const {
    const int64_t first = place(result);
    for (size_t b = blocks_.size(); b-- > 0;) {
      for (int64_t i = length_; i-- > 0;) f(first + blocks_[b] + i * step_);
    }
  }

  // dst[0 .. terms() - 1] = the elements of a result, in ascending order.
  template <class T>
  void gather(int64_t result, const T* src, T* dst) const {
    for_each(result, [&dst, src](int64_t at) { *dst++ = src[at]; });
  }

 private:
  struct Run {
    int64_t size, step;
  };
  ScratchVector<Run> kept_;  // innermost first
  ScratchVector<int64_t> blocks_;
  int64_t results_ = 0, length_ = 0, step_ = 1;
};

}  // namespace isobit::kernels::reduce
