// The lines that undecided outputs need: packed where they are not contiguous in memory, and described. Internal.
#pragma once

#include <span>
#include <vector>

#include "isobit/kernels/correct/operand.h"

namespace isobit::kernels::correct {

class Lines {
 public:
  Lines(const Steps& steps, const Operand& operand, int64_t k) : steps_(steps), operand_(operand), k_(k) {}

  // REQUIRES lines ascending, without repetition.
  void assign(std::vector<int64_t> lines);
  // Packs lines [first, last) of those assigned and makes their masks. Once for each; different lines may be packed at
  // the same time.
  void pack(int64_t first, int64_t last);

  size_t size() const { return lines_.size(); }
  size_t index_of(int64_t line) const;
  const float* at(size_t index) const {
    return direct_ ? operand_.direct(lines_[index]) : packed_.data() + static_cast<int64_t>(index) * k_;
  }
  // Bit l: element l is not zero. words() words.
  const uint64_t* mask(size_t index) const { return masks_.data() + index * words(); }
  size_t words() const { return static_cast<size_t>((k_ + 63) / 64); }
  // The largest e such that all elements, which are finite, are integer multiples of 2^e.
  int grid(size_t index) const { return steps_.grid(k_, at(index)); }

 private:
  const Steps& steps_;
  const Operand& operand_;
  int64_t k_;
  bool direct_ = true;
  std::vector<int64_t> lines_;
  std::vector<float> packed_;
  std::vector<uint64_t> masks_;
};

}  // namespace isobit::kernels::correct
