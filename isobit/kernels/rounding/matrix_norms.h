// How long the rows and the columns of an operand are, from one pass over it: a step multiplies most matrices once by
// rows and once by columns.
#pragma once

#include <span>
#include <vector>

#include "isobit/kernels/context.h"
#include "isobit/kernels/product/lines.h"

namespace isobit::kernels::rounding {

// Of equal matrices, one behind the other: at least the 2-norm of each row and column, but for 2^-20 of it; zero where
// all elements are. Infinities and NaN give either.
struct MatrixNorms {
  int64_t rows = 0, columns = 0;            // of each matrix
  std::vector<double> of_rows, of_columns;  // matrix by matrix

  // The norms of the lines, if they are the rows or the columns of one of the matrices that begin at `data`; else none.
  std::span<const double> of(const product::Lines<double>& lines, const double* data) const;
  double most() const;
};

// REQUIRES data.size() a multiple of rows * columns, which is not 0. The squares are added up in unspecified order.
MatrixNorms matrix_norms(const KernelContext& ctx, std::span<const double> data, int64_t rows, int64_t columns);

}  // namespace isobit::kernels::rounding
