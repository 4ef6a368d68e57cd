// The lines that undecided outputs need: packed where they are not contiguous in memory, and described. Internal.
#pragma once

#include <span>
#include <vector>

#include "isobit/kernels/correct/table.h"
#include "isobit/kernels/product/lines.h"

namespace isobit::kernels::correct {

// Whether lines are described by grid(), too.
enum class Grids { kWithout, kWith };

class UndecidedLines {
 public:
  // lines: of one side; must outlive this.
  UndecidedLines(const Table& loops, const product::Lines<float>& lines, Grids grids)
      : loops_(loops), all_(lines), k_(lines.k()), with_grids_(grids == Grids::kWith) {}

  // REQUIRES lines ascending, without repetition, in [first, last).
  void assign(std::vector<int64_t> lines, int64_t first, int64_t last);
  // Packs lines [first, last) of those assigned and describes them. Once for each; different lines may be packed at
  // the same time.
  void pack(int64_t first, int64_t last);

  size_t size() const { return lines_.size(); }
  size_t index_of(int64_t line) const { return index_[static_cast<size_t>(line - first_)]; }
  const float* at(size_t index) const {
    return direct_ ? all_.contiguous(lines_[index]) : packed_.data() + static_cast<int64_t>(index) * k_;
  }
  // Bit l: element l is not zero. words() words.
  const uint64_t* mask(size_t index) const { return masks_.data() + index * words(); }
  size_t words() const { return static_cast<size_t>((k_ + 63) / 64); }
  // REQUIRES Grids::kWith. The largest e such that all elements, which are finite, are integer multiples of 2^e.
  int grid(size_t index) const { return grids_[index]; }

 private:
  void make_room();

  const Table& loops_;
  const product::Lines<float>& all_;
  int64_t k_;
  bool with_grids_;
  int64_t first_ = 0;
  bool direct_ = true;
  std::vector<int64_t> lines_;
  std::vector<uint32_t> index_;  // of lines first_ ...; meaningless for others
  std::vector<float> packed_;
  std::vector<uint64_t> masks_;
  std::vector<int> grids_;
};

}  // namespace isobit::kernels::correct
