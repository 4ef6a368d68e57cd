// Where the two sides of a product come from. A side is a set of lines (rows of a, columns of b) of k float32 values
// each; the engine asks for blocks of them in float64, the repair for single lines. Internal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isobit/kernels/correct/steps.h"

namespace isobit::kernels::correct {

class Operand {
 public:
  virtual ~Operand() = default;

  // Whether fill writes lines (true) or, for each l, the elements of all lines (false) contiguously.
  virtual bool k_contiguous() const = 0;

  // Elements [l0, l1) of lines [first, last): at out[(line - first) * ld + (l - l0)] if k_contiguous(), else at
  // out[(l - l0) * ld + (line - first)].
  virtual void fill(const Steps& steps, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
                    int64_t ld) const = 0;

  // Whether line_squares has them without laying the lines out.
  virtual bool knows_squares() const { return false; }
  // out[q] = the sum of squares of line first + q up to rounding, or more, but finite only if that line is.
  virtual void line_squares(int64_t first, int64_t last, double* out) const { (void)first, (void)last, (void)out; }

  // out[q * k + l] = element l of lines[q], for all l < k. REQUIRES lines ascending.
  virtual void pack(std::span<const int64_t> lines, float* out) const = 0;

  // The line where it lies contiguously in memory, else null.
  virtual const float* direct(int64_t line) const = 0;
};

// Lines [first, last) of an operand, as far as they are laid out: terms [l0, l1) in float64.
struct Side {
  const Operand* operand = nullptr;
  double* block = nullptr;    // not owned
  std::vector<double> norms;  // 2-norms of the lines or a little more
  int64_t first = -1, last = -1, l0 = -1, l1 = -1;
  bool add_squares = true;  // of what is laid out, to the norms

  int64_t count() const { return last - first; }
  double norm(int64_t line) const { return norms[static_cast<size_t>(line - first)]; }
  int64_t ld() const { return operand->k_contiguous() ? l1 - l0 : last - first; }
  // Where element (first, l) is.
  const double* at(int64_t l) const { return block + (l - l0) * (operand->k_contiguous() ? 1 : ld()); }
};

// Element l of a line is data[line * line_stride + (l / period) * outer_stride + (l % period) * inner_stride].
class StridedOperand final : public Operand {
 public:
  StridedOperand(const float* data, int64_t k, int64_t line_stride, int64_t k_stride)
      : StridedOperand(data, k, line_stride, k < 1 ? 1 : k, 0, k_stride) {}
  StridedOperand(const float* data, int64_t k, int64_t line_stride, int64_t period, int64_t outer_stride,
                 int64_t inner_stride)
      : data_(data),
        k_(k),
        line_stride_(line_stride),
        period_(period),
        outer_stride_(outer_stride),
        inner_stride_(inner_stride) {}

  bool k_contiguous() const override { return inner_stride_ == 1 || line_stride_ != 1; }
  void fill(const Steps& steps, int64_t first, int64_t last, int64_t l0, int64_t l1, double* out,
            int64_t ld) const override;
  void pack(std::span<const int64_t> lines, float* out) const override;
  const float* direct(int64_t line) const override {
    return period_ == k_ && inner_stride_ == 1 ? data_ + line * line_stride_ : nullptr;
  }

 private:
  int64_t offset(int64_t l) const { return l / period_ * outer_stride_ + l % period_ * inner_stride_; }

  const float* data_;
  int64_t k_, line_stride_, period_, outer_stride_, inner_stride_;
};

}  // namespace isobit::kernels::correct
