#include "isobit/kernels/rounding/matrix_norms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "isobit/base/status.h"
#include "isobit/kernels/rounding/table.h"

namespace isobit::kernels::rounding {
namespace {

constexpr int64_t kTile = 2048;  // columns whose sums stay in the first-level cache

// Adds the squares of some rows to their sums and to those of the columns.
void add_squares(const Table& loops, int64_t rows, int64_t columns, const double* x, double* of_rows,
                 double* of_columns) {
  for (int64_t c = 0; c < columns; c += kTile) {
    const int64_t width = std::min(kTile, columns - c);
    for (int64_t r = 0; r < rows; ++r) of_rows[r] += loops.squares_of_each(width, x + r * columns + c, of_columns + c);
  }
}

void take_roots(std::vector<double>& squares) {
  for (double& x : squares) x = std::sqrt(x);
}

}  // namespace

MatrixNorms matrix_norms(const KernelContext& ctx, std::span<const double> data, int64_t rows, int64_t columns) {
  const int64_t size = rows * columns, matrices = static_cast<int64_t>(data.size()) / size;
  ISOBIT_CHECK(matrices * size == static_cast<int64_t>(data.size()));
  const Table& loops = table_of(ctx.isa);
  MatrixNorms norms{rows, columns, std::vector<double>(static_cast<size_t>(matrices * rows)),
                    std::vector<double>(static_cast<size_t>(matrices * columns))};
  std::mutex merging;
  ctx.pool->parallel_for(matrices * rows, 32768 / columns + 1, [&](int64_t begin, int64_t end) {
    std::vector<double> own;  // sums of the columns of a matrix that other threads have rows of
    for (int64_t r = begin; r < end;) {
      const int64_t matrix = r / rows, last = std::min(end, (matrix + 1) * rows);
      double* of_columns = norms.of_columns.data() + matrix * columns;
      const bool whole = r == matrix * rows && last == (matrix + 1) * rows;
      if (!whole) own.assign(static_cast<size_t>(columns), 0.0);
      add_squares(loops, last - r, columns, data.data() + r * columns, norms.of_rows.data() + r,
                  whole ? of_columns : own.data());
      if (!whole) {
        const std::lock_guard<std::mutex> lock(merging);
        for (int64_t c = 0; c < columns; ++c) of_columns[c] += own[static_cast<size_t>(c)];
      }
      r = last;
    }
  });
  take_roots(norms.of_rows);
  take_roots(norms.of_columns);
  return norms;
}

std::span<const double> MatrixNorms::of(const product::Lines<double>& lines, const double* data) const {
  const product::Side& side = lines.side();
  const product::Strides& s = side.strides;
  const int64_t at = lines.data() - data, size = rows * columns;
  if (side.kind != product::SideKind::kStrided || s.period < side.k || at < 0 || at % size != 0) return {};
  const auto matrix = static_cast<size_t>(at / size);
  const auto of_matrix = [&](const std::vector<double>& norms, int64_t count) {
    const size_t n = static_cast<size_t>(count);
    return (matrix + 1) * n <= norms.size() ? std::span(norms).subspan(matrix * n, n) : std::span<const double>();
  };
  if (side.lines == rows && side.k == columns && s.line == columns && s.inner == 1) return of_matrix(of_rows, rows);
  if (side.lines == columns && side.k == rows && s.line == 1 && s.inner == columns) {
    return of_matrix(of_columns, columns);
  }
  return {};
}

double MatrixNorms::most() const {
  double most = 0;
  for (const std::vector<double>* norms : {&of_rows, &of_columns}) {
    for (const double x : *norms) {
      if (!(x < std::numeric_limits<double>::infinity())) return std::numeric_limits<double>::infinity();
      most = std::max(most, x);
    }
  }
  return most;
}

}  // namespace isobit::kernels::rounding
