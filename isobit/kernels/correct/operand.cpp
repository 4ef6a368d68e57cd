#include "isobit/kernels/correct/operand.h"

#include <algorithm>

namespace isobit::kernels::correct {

void StridedOperand::fill(const Steps& steps, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
                          int64_t ld) const {
  if (!k_contiguous()) {
    for (int64_t l = l0; l < l1; ++l) steps.widen(last - first, data_ + offset(l) + first, out + (l - l0) * ld);
    return;
  }
  for (int64_t line = first; line < last; ++line) {
    double* to = out + (line - first) * ld;
    const float* from = data_ + line * line_stride_;
    for (int64_t l = l0; l < l1;) {
      const int64_t count = std::min(l1 - l, period_ - l % period_);
      const float* run = from + offset(l);
      if (inner_stride_ == 1) {
        steps.widen(count, run, to + (l - l0));
      } else {
        for (int64_t q = 0; q < count; ++q) to[l - l0 + q] = static_cast<double>(run[q * inner_stride_]);
      }
      l += count;
    }
  }
}

void StridedOperand::pack(std::span<const int64_t> lines, float* out) const {
  if (inner_stride_ == 1) {
    for (const int64_t line : lines) {
      for (int64_t l = 0; l < k_; l += period_, out += period_) {
        const float* run = data_ + line * line_stride_ + offset(l);
        std::copy(run, run + period_, out);
      }
    }
    return;
  }
  // All lines for one l before the next l: neighbours share a cache line. Eight l at a time, so that what is written
  // stays in the first-level cache.
  constexpr int64_t kBlock = 8;
  for (int64_t l0 = 0; l0 < k_; l0 += kBlock) {
    const int64_t l1 = std::min(l0 + kBlock, k_);
    const float* at[kBlock];
    for (int64_t l = l0; l < l1; ++l) at[l - l0] = data_ + offset(l);
    for (size_t q = 0; q < lines.size(); ++q) {
      float* to = out + static_cast<int64_t>(q) * k_ + l0;
      const int64_t line = lines[q] * line_stride_;
      for (int64_t l = l0; l < l1; ++l) to[l - l0] = at[l - l0][line];
    }
  }
}

}  // namespace isobit::kernels::correct
