// Where a product finds what is kept of an operand. Internal to the driver (gemm.cpp).
#pragma once

#include "isobit/kernels/matmul/block_sizes.h"
#include "isobit/kernels/matmul/kept_panels.h"
#include "isobit/kernels/matmul/problem.h"
#include "isobit/kernels/matmul/tiling.h"

namespace isobit::kernels::gemm {

// Panels that outlive the call (kept_panels.h), of one batch entry. Those of lines that are packed together begin at
// their first line's number times `terms`; within them chunk follows chunk.
template <class T>
struct Kept {
  T* panels = nullptr;  // null: there are none
  bool right = false;   // of which side, after the exchange
  bool fill = false;    // this call lays them out
};

// Panels of the operand that stays, if there is one: of all batch entries that have their own. It has the memory
// while it lives.
template <class T>
class KeptOperand {
 public:
  // parts: how many the lines of that operand are cut into. REQUIRES that none of them is empty.
  KeptOperand(const Table<T>& kernels, const Problem<T>& p, const Tiling<T>& tiling, int64_t parts) {
    if (p.kept == nullptr) return;
    const Operand<T>& operand = p.kept_is_right ? p.right : p.left;
    const int64_t unit = kernels.lanes, lines = p.kept_is_right ? p.n : p.m;
    first_.right = p.kept_is_right != tiling.swapped;
    const int64_t panels = p.order.terms() * (first_.right ? ceil_div(lines, unit) * unit : lines);
    stride_ = operand.batch_stride == 0 ? 0 : panels;
    const KeptPanels::Layout layout{.kernels = &kernels,
                                    .data = p.kept_data,
                                    .lines = lines,
                                    .terms = p.order.terms(),
                                    .batches = operand.batch_stride == 0 ? 1 : p.batch,
                                    .period = p.order.period,
                                    .chunk = p.order.chunk,
                                    .line_stride = operand.strides.line,
                                    .term_stride = operand.strides.inner,
                                    .batch_stride = operand.batch_stride,
                                    .unit = first_.right ? tiling.vectors * unit : tiling.mr,
                                    .parts = parts,
                                    .cut_unit = first_.right ? unit : 1,
                                    .right = first_.right};
    const KeptPanels::Room room = p.kept->open(layout, static_cast<size_t>(layout.batches * panels) * sizeof(T));
    if (room.memory != nullptr) kept_ = p.kept;
    first_.panels = static_cast<T*>(room.memory);
    first_.fill = room.memory != nullptr && !room.filled;
    is_right_operand_ = p.kept_is_right;
  }

  ~KeptOperand() {
    if (kept_ != nullptr) kept_->close(is_there());
  }
  KeptOperand(const KeptOperand&) = delete;
  KeptOperand& operator=(const KeptOperand&) = delete;

  bool is_there() const { return first_.panels != nullptr && !first_.fill; }
  // Every part has laid out what is its.
  void say_filled() { first_.fill = false; }

  // For the part in row r and column c of the parts of a batch entry. Of those with the same lines one lays them out.
  Kept<T> of(int64_t batch, int64_t r, int64_t c) const {
    Kept<T> kept = first_;
    if (kept.fill && ((is_right_operand_ ? r : c) != 0 || (stride_ == 0 && batch != 0))) return {};
    if (kept.panels != nullptr) kept.panels += batch * stride_;
    return kept;
  }

 private:
  KeptPanels* kept_ = nullptr;  // open; null: nothing is kept of this call
  Kept<T> first_;
  int64_t stride_ = 0;
  bool is_right_operand_ = false;
};

// Panels of a left side that all batch entries have: a thread lays them out for its first entry.
template <class T>
Kept<T> shared_left(const Table<T>& kernels, const Problem<T>& p, const Tiling<T>& tiling) {
  const auto bytes = static_cast<size_t>(p.m * p.order.terms()) * sizeof(T);
  const bool is_packed = ceil_div(p.n, kernels.lanes * tiling.vectors) > kDirectPanels;
  if (p.weights || p.left.batch_stride != 0 || tiling.swapped || !is_packed || bytes > kMostShared) return {};
  return {.panels = static_cast<T*>(scratch(Slot::kWeights, bytes)), .right = false, .fill = true};
}

}  // namespace isobit::kernels::gemm
