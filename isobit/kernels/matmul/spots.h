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

// Those of one panel after those of others.
class Spots {
 public:
  void clear() { all_.clear(); }
  int64_t count() const { return static_cast<int64_t>(all_.size()); }
  const Spot* data() const { return all_.data(); }

  // Of `columns` columns from j on, in vectors of so many lanes.
  template <class T>
  void add_panel(const Problem<T>& p, int64_t lanes, int64_t j, int64_t columns) {
    const product::Placement& o = p.out;
    first_ = all_.size();
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
    if (all_.size() > first_ && o.column_stride == 1) {
      Spot& last = all_.back();
      if (spot.lane == last.lane + last.count && spot.offset == last.offset + last.count) {
        last.count += spot.count;
        return;
      }
    }
    all_.push_back(spot);
  }

  ScratchVector<Spot> all_;
  size_t first_ = 0;  // of the panel
};

}  // namespace isobit::kernels::gemm
