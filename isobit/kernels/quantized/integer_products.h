// Inner products of 8-bit integers (ONNX MatMulInteger-10, ConvInteger-10, QLinearMatMul-21, QLinearConv-10).
//
// A sum is exact: of the products (a - zero of a) * (b - zero of b), modulo 2^32 as int32. Padding counts as the zero
// point, so it adds nothing. Its order cannot be seen, so any kernel may be used; this one is compiled once for the
// baseline machine. Determinism class: exact, and for what is scaled ordered-1.
#pragma once

#include <cstdint>
#include <span>

#include "isobit/kernels/columns/sliding_axis.h"
#include "isobit/kernels/context.h"

namespace isobit::kernels {

// A number for each line of each matrix, or one for several of them: values[matrix * matrix_step + line * line_step].
template <class T>
struct PerLine {
  const T* values = nullptr;
  int64_t matrix_step = 0, line_step = 0;

  T at(int64_t matrix, int64_t line) const { return values[matrix * matrix_step + line * line_step]; }
};

// int8 or uint8.
struct ByteOperand {
  const void* data = nullptr;
  bool is_signed = false;
  PerLine<int32_t> zero;  // REQUIRES values of the operand's type
};

// What becomes of a sum: in T (float or double), each operation rounded, with scale = (left scale * right scale) /
// `scale`,
//   y = T(sum) * scale, rounded to the nearest integer, ties to even; y + zero, limited to the type's range.
// NaN is 0.
template <class T>
struct Requantised {
  PerLine<T> left, right;
  T scale = 1;
  int32_t zero = 0;
  bool is_signed = false;
  void* dst = nullptr;
};

// dst [matrices, m, n] = a [.., m, k] b [.., k, n]: number i of the result is that of matrices a_matrices[i] of a and
// b_matrices[i] of b. Lines: rows of a, columns of b. REQUIRES as many of either.
struct IntegerMatmulShape {
  int64_t m = 0, n = 0, k = 0;
  std::span<const int64_t> a_matrices, b_matrices;
};
void integer_matmul(const KernelContext&, const IntegerMatmulShape& shape, const ByteOperand& a, const ByteOperand& b,
                    int32_t* dst);
template <class T>
void quantized_matmul(const KernelContext&, const IntegerMatmulShape& shape, const ByteOperand& a, const ByteOperand& b,
                      const Requantised<T>& out);

// src [n, groups * channels, image ..], weights [groups * filters, channels, kernel ..], dst [n, groups * filters,
// windows ..]. Lines: of the weights (left) their filters, of src (right) all one; matrices: none of them.
struct IntegerConvShape {
  int64_t n = 0, groups = 1, channels = 1, filters = 1;
  std::span<const SlidingAxis> axes;
};
// bias: of length groups * filters, added to the sums modulo 2^32; null for none.
void integer_conv(const KernelContext&, const IntegerConvShape& shape, const ByteOperand& src,
                  const ByteOperand& weights, const int32_t* bias, int32_t* dst);
template <class T>
void quantized_conv(const KernelContext&, const IntegerConvShape& shape, const ByteOperand& src,
                    const ByteOperand& weights, const int32_t* bias, const Requantised<T>& out);

}  // namespace isobit::kernels
