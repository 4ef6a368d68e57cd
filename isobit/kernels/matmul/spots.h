// Where the outputs of a panel of columns lie. Internal to the driver (gemm.cpp).
#pragma once

#include <algorithm>

#include "isobit/base/scratch.h"
#include "isobit/kernels/matmul/problem.h"

namespace isobit::kernels::gemm {

// Neighbouring lanes of a panel whose outputs are evenly spaced: the first one's lies at `offset` in every row.
struct Spot {
  int64_t lane, count, offset;
};

// Those of one panel after those of others. No memory is asked for those of one.
class Spots {
 public:
  void clear() {
    count_ = 0;
    many_.clear();
  }
  int64_t count() const { return count_; }
  const Spot* data() const { return many_.empty() ? few_ : many_.data(); }

  // Of `columns` columns from j on, in vectors of so many lanes.
  template <class T>
  void add_panel(const Problem<T>& p, int64_t lanes, int64_t j, int64_t columns) {
    const product::Placement& o = p.out;
    first_ = count_;
    if (!p.padded || p.padded->is_dense()) {
      const int64_t most = o.column_stride == 1 ? kMaxWidth : lanes;
      for (int64_t l = 0, count = 0; l < columns; l += count) {
        count = std::min({most, columns - l, o.columns - (j + l) % o.columns});
        add(o, {.lane = l, .count = count, .offset = o.column(j + l)});
      }
      return;
    }
    typename Padded<T>::Piece pieces[kMaxWidth];
    for (int64_t first = 0; first < columns; first += lanes) {
      const int64_t count = p.padded->pieces((j + first) / lanes, pieces);
      for (int64_t i = 0; i < count; ++i) {
        add(o, {.lane = first + pieces[i].lane, .count = pieces[i].count, .offset = o.column(pieces[i].position)});
      }
    }
  }

 private:
  void add(const product::Placement& o, const Spot& spot) {
    if (count_ > first_ && o.column_stride == 1) {
      Spot& last = many_.empty() ? few_[count_ - 1] : many_.back();
      if (spot.lane == last.lane + last.count && spot.offset == last.offset + last.count) {
        last.count += spot.count;
        return;
      }
    }
    if (count_ < kMaxWidth) {
      few_[count_++] = spot;
      return;
    }
    if (many_.empty()) many_.assign(few_, few_ + count_);
    many_.push_back(spot);
    ++count_;
  }

  Spot few_[kMaxWidth];
  ScratchVector<Spot> many_;       // all of them, if there are more
  int64_t count_ = 0, first_ = 0;  // first_: of the panel
};

}  // namespace isobit::kernels::gemm
