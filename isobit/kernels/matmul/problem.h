// What the driver (gemm.cpp) computes. Internal to it.
#pragma once

#include <algorithm>
#include <optional>

#include "isobit/kernels/matmul/gemm.h"
#include "isobit/kernels/matmul/kept_panels.h"
#include "isobit/kernels/matmul/padded.h"
#include "isobit/kernels/product/geometry.h"

namespace isobit::kernels::gemm {

// The weights (channel, tap) that a part of the windows meets, in channel order (conv.h).
template <class T>
class PartWeights {
 public:
  // finite: whether no weight is Inf or NaN, where that is known. REQUIRES that both outlive it.
  PartWeights(const product::Product<T>& product, const product::WindowPart& part, std::optional<bool> finite)
      : product_(&product), part_(&part), finite_(finite) {}

  int64_t terms() const { return product_->geometry.right.windows.channels * part_->grid.tap_count; }
  // What row `row` of all batches has of the block of channels that begins with `channel`, to `to`. Returns how many.
  int64_t write_block(const Table<T>& kernels, int64_t row, int64_t channel, T* to) const;
  // All rows as they lie when written, dense; where there is one tap the original, with its data.
  Operand<T> rows() const;
  // Their data. Valid until the thread's next call.
  const T* written_rows(const KernelContext& ctx, const Table<T>& kernels) const;
  // Whether leaving out products of missing places changes no bit.
  bool are_finite() const;

 private:
  const product::Product<T>* product_;
  const product::WindowPart* part_;
  std::optional<bool> finite_;
};

// The positions [begin, end) of those from `first` up to `last` of an axis at which a tap meets a place (layout.h).
struct Met {
  int64_t begin, end;
  Met(int64_t first, int64_t last, int64_t step, int64_t tap, int64_t places)
      : begin(std::max(first, tap >= 0 ? 0 : (-tap + step - 1) / step)),
        end(std::max(begin, tap >= places ? 0 : std::min(last, (places - 1 - tap) / step + 1))) {}
  int64_t count() const { return end - begin; }
};

// A product whose sides are laid out as it reads them, or a part of one.
template <class T>
struct Problem {
  int64_t m = 0, n = 0;
  product::Order order;
  Operand<T> left, right;  // of positions the left side is what `weights` gives
  const PartWeights<T>* weights = nullptr;
  product::Placement out;
  T* c = nullptr;
  const T* bias = nullptr;
  bool bias_per_row = false;  // else one per column
  int64_t bias_batch_stride = 0;
  int64_t batch = 1;
  // Of the operand that is the same in every call with this, if not null; kept_data: as the caller knows it.
  KeptPanels* kept = nullptr;
  const T* kept_data = nullptr;
  bool kept_is_right = false;
  const Ending<T>* ending = nullptr;
  const T* addend_at(const T* output) const { return ending->addend ? ending->addend + (output - c) : nullptr; }
  // Set by the driver, where the right side is read so: n then counts lanes of its vectors.
  const Padded<T>* padded = nullptr;
};

// A part of a product with windows. REQUIRES that `weights`, which are read for positions alone, are those of the part,
// and that all three outlive it.
template <class T>
Problem<T> problem_of(const product::Product<T>& product, const product::WindowPart& part,
                      const PartWeights<T>& weights);

void compute(const KernelContext& ctx, const Problem<float>& problem);
void compute(const KernelContext& ctx, const Problem<double>& problem);

}  // namespace isobit::kernels::gemm
