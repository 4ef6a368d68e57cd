// The one description of an inner product: which elements of which operand make up which output, in what order. No
// data, no type, no arithmetic.
//
// A geometry is a number of equal batches. In each, output (i, j) of m x n is the sum over l < k of element l of line i
// of the left side times element l of line j of the right side, and a bias of its row or column. A matrix product is
// one; so is a convolution, whose groups are batches, and so are its gradients:
//
//                        left side                 right side                                  element l is
//   matmul               rows of a                 columns of b                                l
//   conv, forward        weights of an oc          positions (n, oh, ow) of src                (ic, kh, kw)
//   gradient of src      weights of an ic          positions (n, ih, iw), backward, of diff_dst (oc, kh, kw)
//   gradient of weights  diff_dst of an oc         taps (ic, kh, kw) of src                    (n, oh, ow)
//
// Everything that computes, checks or evaluates inner products reads operands through this: the ordered kernels
// (matmul/gemm.h), correct/, rounding/. Products of libraries (plain_inner_products.h) take the forward geometry in all
// three directions, since im2col lays out forward windows only. The scalar references do not: they are the
// specification, and the test of this folder compares the two term by term. Offsets and strides are in elements.
#pragma once

#include <cstdint>

#include "isobit/kernels/conv/conv.h"
#include "isobit/kernels/matmul/matmul.h"
#include "isobit/kernels/product/ending.h"
#include "isobit/kernels/product/layout.h"
#include "isobit/kernels/product/windows.h"

namespace isobit::kernels::product {

// With one period for all k elements, where those lie evenly.
Strides merged(const Strides& strides, int64_t k);

// One side of a batch. Batch b begins at b * batch_stride of the operand.
struct Side {
  SideKind kind = SideKind::kStrided;
  int64_t lines = 0, k = 0;
  int64_t batch_stride = 0;
  Strides strides;  // of kStrided
  Windows windows;  // of the others

  // Where element l of a line lies, counted from where the batch begins; -1: it is missing, and +0.
  int64_t offset(int64_t line, int64_t l) const;
};

// Output (i, j) of batch b lies at first + b * batch_stride + i * row_stride + j / (lines * columns) * image_stride +
// j / columns % lines * line_stride + j % columns * column_stride.
struct Placement {
  int64_t first = 0, batch_stride = 0, row_stride = 0;
  int64_t image_stride = 0, lines = 1, line_stride = 0, columns = 1, column_stride = 1;

  int64_t column(int64_t j) const {
    const int64_t line = j / columns, within = j % columns * column_stride;
    return lines == 1 ? line * image_stride + within
                      : line / lines * image_stride + line % lines * line_stride + within;
  }
  int64_t at(int64_t batch, int64_t i, int64_t j) const {
    return first + batch * batch_stride + i * row_stride + column(j);
  }
};

// The written order of a sum's terms (matmul.h, conv.h), which only `ordered-1` needs. The p-th term is element
// element(p) of both lines and belongs to chunk chunk_of(p); blocks are 16 chunks.
struct Order {
  int64_t periods = 1, period = 0;  // periods * period = k; chunks end with a period
  int64_t chunk = 1;                // terms; the last of a period may be short
  int64_t channels = 0, taps = 1;   // channel order of (channel, tap) where taps > 1, else ascending

  int64_t terms() const { return periods * period; }
  int64_t chunks_of_period() const { return (period + chunk - 1) / chunk; }
  int64_t element(int64_t p) const;
  int64_t chunk_of(int64_t p) const { return p / period * chunks_of_period() + p % period / chunk; }
  // From term p on: where the last chunk ends that has no term from `most` on; p where the first one has. The work is
  // that of a period, however many there are. REQUIRES p <= most <= k.
  int64_t end_of_chunks(int64_t p, int64_t most) const;
};

// Of a sum over channels and `taps` of the kernel_taps taps, the others being left out.
Order channel_order(int64_t channels, int64_t kernel_taps, int64_t taps);

// Where the outputs of a part of the positions lie, whole being the placement of all of them.
Placement placement_of(const Placement& whole, const Windows& windows, const WindowPart& part);

enum class BiasSide { kRows, kColumns };

struct Geometry {
  int64_t batches = 1, m = 0, n = 0, k = 0;
  Side left, right;
  Placement out;
  Order order;
  // Which index the bias has, if there is one; of batch b it begins at b * bias_batch_stride.
  BiasSide bias_side = BiasSide::kColumns;
  int64_t bias_batch_stride = 0;
};

enum class Direction { kForward, kGradSrc, kGradWeights };

// REQUIRES what conv.h asks of the shape.
Geometry conv_geometry(const ConvShape& shape, Direction direction);

// Batches, sizes and strides of MatmulArgs, as matmul.h has them.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row_stride = 0, a_col_stride = 1;
  int64_t b_row_stride = 0, b_col_stride = 1;
  int64_t c_row_stride = 0;
  int64_t batch = 1;
  int64_t a_batch_stride = 0, b_batch_stride = 0, c_batch_stride = 0;
};
Geometry matmul_geometry(const MatmulShape& shape);

// A geometry and its arrays.
template <class T>
struct Product {
  Geometry geometry;
  const T* left = nullptr;
  const T* right = nullptr;
  const T* bias = nullptr;  // null for none
  T* out = nullptr;
  // What is kept of one side, whose elements are the same in every call with it (matmul/kept_panels.h); null: nothing.
  KeptPanels* kept = nullptr;
  bool kept_is_right = false;
  // What the ordered kernels make of every output (others have none of it); null: nothing. REQUIRES a convolution
  // forward, whose windows are of one part.
  const Ending<T>* ending = nullptr;
};

template <class T>
Product<T> product_of(const MatmulArgs<T>& p) {
  const MatmulShape shape{.m = p.m,
                          .n = p.n,
                          .k = p.k,
                          .a_row_stride = p.a_row_stride,
                          .a_col_stride = p.a_col_stride,
                          .b_row_stride = p.b_row_stride,
                          .b_col_stride = p.b_col_stride,
                          .c_row_stride = p.c_row_stride,
                          .batch = p.batch,
                          .a_batch_stride = p.a_batch_stride,
                          .b_batch_stride = p.b_batch_stride,
                          .c_batch_stride = p.c_batch_stride};
  return {.geometry = matmul_geometry(shape),
          .left = p.a,
          .right = p.b,
          .bias = p.bias,
          .out = p.c,
          .kept = p.kept_b,
          .kept_is_right = true};
}

// first, second: the operands in the order of conv.h; src or diff_dst, weights; for the gradient of weights src and
// diff_dst.
template <class T>
Product<T> product_of(const ConvShape& shape, Direction direction, const T* first, const T* second, const T* bias,
                      T* out, KeptPanels* kept_weights = nullptr) {
  return {.geometry = conv_geometry(shape, direction),
          .left = second,
          .right = first,
          .bias = bias,
          .out = out,
          .kept = kept_weights};
}

}  // namespace isobit::kernels::product
