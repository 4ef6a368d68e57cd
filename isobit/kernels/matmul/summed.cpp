#include "isobit/kernels/matmul/summed.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "isobit/base/scratch.h"
#include "isobit/kernels/matmul/gemm.h"
#include "isobit/kernels/matmul/reference.h"
#include "isobit/kernels/matmul/tiling.h"
#include "isobit/kernels/reduce/reference.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/kernels/reduce/table.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

using gemm::ceil_div;
using gemm::Operand;
using gemm::Panels;

// Products that are added to the totals of a tile at a time.
constexpr int64_t kTogether = 4;
// What the totals of the tiles that are computed together may take: they stay in a first-level cache.
constexpr int64_t kTotalsBytes = 24 << 10, kTotalBytes = sizeof(double) + 2 * sizeof(float);
// What both sides may take, laid out; more is computed a rectangle of outputs at a time.
constexpr int64_t kLaidOutBytes = 16 << 20, kFewestLines = 64;

Operand<float> left_of(const MatmulArgs<float>& a) {
  return {.data = a.a,
          .batch_stride = a.a_batch_stride,
          .strides = {.line = a.a_row_stride, .inner = a.a_col_stride, .period = a.k},
          .grid = {}};
}
Operand<float> right_of(const MatmulArgs<float>& a) {
  return {.data = a.b,
          .batch_stride = a.b_batch_stride,
          .strides = {.line = a.b_col_stride, .inner = a.b_row_stride, .period = a.k},
          .grid = {}};
}

// Rows of the outputs, or columns.
struct Range {
  int64_t first, count;
};

// Some lines of one side of all products, laid out once: panel after panel, of each its part in every product one after
// another.
class Side {
 public:
  // A panel is most_units units of lines or fewer.
  Side(const KernelContext& ctx, const gemm::Table<float>& kernels, const Operand<float>& operand, const Range& lines,
       int64_t unit, int64_t most_units, const MatmulArgs<float>& args)
      : panels_{.units = ceil_div(lines.count, unit),
                .unit = unit,
                .count = ceil_div(ceil_div(lines.count, unit), most_units)},
        terms_(args.k),
        batch_(args.batch) {
    elements_.resize(static_cast<size_t>(panels_.first(panels_.count) * terms_ * batch_));
    const int64_t grain = std::max<int64_t>(1, 16384 / (width(0) * terms_));
    ctx.pool->parallel_for(panels_.count * batch_, grain, [&](int64_t begin, int64_t end) {
      ScratchVector<float> staging(static_cast<size_t>(gemm::kMaxWidth * (terms_ + gemm::kMaxWidth)));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t product = i / panels_.count, panel = i % panels_.count, first = panels_.first(panel);
        Operand<float> one = operand;
        one.data += product * operand.batch_stride;
        kernels.pack(one, elements_.data() + at(panel, product), staging.data(), width(panel), lines.first + first,
                     std::min(width(panel), lines.count - first), 0, terms_);
      }
    });
  }

  int64_t width(int64_t panel) const { return panels_.first(panel + 1) - panels_.first(panel); }
  const float* of(int64_t panel, int64_t product) const { return elements_.data() + at(panel, product); }
  const Panels& panels() const { return panels_; }

 private:
  int64_t at(int64_t panel, int64_t product) const {
    return (panels_.first(panel) * batch_ + product * width(panel)) * terms_;
  }

  Panels panels_;
  int64_t terms_, batch_;
  ScratchVector<float> elements_;
};

// Neighbouring tiles of a panel of columns, through all products.
class Block {
 public:
  // columns: of the right side. dst: where outputs of the two sides begin.
  Block(const KernelContext& ctx, const MatmulArgs<float>& args, const Side& left, const Side& right, int64_t columns,
        float* dst)
      : kernels_(gemm::table_of<float>(ctx.isa)),
        sums_(reduce::table_of(ctx.isa)),
        args_(args),
        left_(left),
        right_(right),
        columns_(columns),
        dst_(dst) {
    step_.terms = args.k;
    step_.end_block = step_.last = true;
  }

  // Panels [first, last) of rows.
  void run(int64_t first, int64_t last, int64_t column_panel) {
    column_panel_ = column_panel;
    width_ = right_.width(column_panel);
    const int64_t row = left_.panels().first(first), rows = left_.panels().first(last) - row;
    const auto elements = static_cast<size_t>(rows * width_);
    sum_.assign(elements, 0.0);
    largest_.assign(elements, 0.0F);
    least_.assign(elements, std::numeric_limits<float>::infinity());
    panels_.clear();
    for (int64_t panel = first; panel < last; ++panel) {
      panels_.push_back({left_.of(panel, 0), left_.width(panel), (left_.panels().first(panel) - row) * width_});
    }
    add_products();
    for (int64_t panel = first; panel < last; ++panel) {
      for (int64_t r = left_.panels().first(panel); r < left_.panels().first(panel + 1); ++r) {
        round_row(panel, r, (r - row) * width_);
      }
    }
  }

 private:
  struct RowPanel {
    const float* left;  // of the first product; the others follow
    int64_t rows, at;   // at: where its totals begin
  };

  void add_products() {
    const float* const right = right_.of(column_panel_, 0);
    for (int64_t product = 0; product < args_.batch; product += kTogether) {
      const int64_t here = std::min(kTogether, args_.batch - product);
      for (const RowPanel& p : panels_) {
        const int64_t count = p.rows * width_;
        for (int64_t i = 0; i < here; ++i) {
          const int64_t terms = (product + i) * args_.k;
          compute(p.left + terms * p.rows, p.rows, right + terms * width_, width_, tiles_ + i * count);
        }
        sums_.add_terms(count, here, tiles_, sum_.data() + p.at, largest_.data() + p.at, least_.data() + p.at);
      }
    }
  }

  // One product's outputs, `width` in a row.
  void compute(const float* left, int64_t rows, const float* right, int64_t width, float* to) {
    step_.left = left;
    step_.right = right;
    step_.right_k_stride = width_;
    step_.c = to;
    step_.c_row_stride = step_.columns = width;
    kernels_.tile[width / kernels_.lanes - 1][rows - 1](step_);
  }

  // Row `row` of the left side, whose totals begin at `at`. Magnitudes are as many times the largest at most.
  void round_row(int64_t panel, int64_t row, int64_t at) {
    double size[gemm::kMaxWidth];
    uint8_t undecided[gemm::kMaxWidth];
    const int64_t j0 = right_.panels().first(column_panel_), columns = std::min(width_, columns_ - j0);
    const auto count = static_cast<double>(args_.batch);
    for (int64_t j = 0; j < columns; ++j) {
      size[j] = count * static_cast<double>(largest_[static_cast<size_t>(at + j)]);
    }
    float* const to = dst_ + row * args_.n + j0;
    const double* const sum = sum_.data() + at;
    if (sums_.round_columns(columns, sum, size, least_.data() + at, count, to, undecided) == 0) return;
    for (int64_t j = 0, laid_out = -1; j < columns; ++j) {
      if (undecided[j] == 0) continue;
      // The sum is an infinity, or NaN, just where the exact one is: no sum of so many floats is as large.
      if (!(std::abs(sum[j]) < std::numeric_limits<double>::infinity())) {
        to[j] = numerics::canonical(static_cast<float>(sum[j]));
        continue;
      }
      if (j / kernels_.lanes != laid_out) compute_again(panel, row - left_.panels().first(panel), j);
      laid_out = j / kernels_.lanes;
      const numerics::StridedSegment terms{terms_.data() + j % kernels_.lanes, args_.batch, kernels_.lanes};
      to[j] = sum_settled(&terms, 1);
    }
  }

  // All terms of row r of a panel, in the lanes of the vector that has column j, to terms_.
  void compute_again(int64_t panel, int64_t r, int64_t j) {
    const int64_t lanes = kernels_.lanes, rows = left_.width(panel);
    float line[kMostStackedTerms];
    terms_.resize(static_cast<size_t>(args_.batch * lanes));
    for (int64_t product = 0; product < args_.batch; ++product) {
      const float* const left = left_.of(panel, product) + r;
      for (int64_t k = 0; k < args_.k; ++k) line[k] = left[k * rows];
      compute(line, 1, right_.of(column_panel_, product) + j / lanes * lanes, lanes, terms_.data() + product * lanes);
    }
  }

  const gemm::Table<float>& kernels_;
  const reduce::Table& sums_;
  const MatmulArgs<float>& args_;
  const Side &left_, &right_;
  const int64_t columns_;
  float* const dst_;
  int64_t column_panel_ = 0, width_ = 0;
  ScratchVector<RowPanel> panels_;
  ScratchVector<double> sum_;
  ScratchVector<float> largest_, least_, terms_;
  gemm::TileStep<float> step_{};
  alignas(64) float tiles_[kTogether * gemm::kMaxRows * gemm::kMaxWidth];
};

void sum_rectangle(const KernelContext& ctx, const MatmulArgs<float>& args, int vectors, const Range& rows,
                   const Range& columns, float* dst) {
  const gemm::Table<float>& kernels = gemm::table_of<float>(ctx.isa);
  const Side left(ctx, kernels, left_of(args), rows, 1, kernels.max_rows[vectors - 1], args);
  const Side right(ctx, kernels, right_of(args), columns, kernels.lanes, vectors, args);
  const int64_t tile = left.width(0) * vectors * kernels.lanes;
  const int64_t together = std::max<int64_t>(1, kTotalsBytes / kTotalBytes / tile);
  const int64_t groups = ceil_div(left.panels().count, together);
  // Those that share a panel of columns, which stays in a second-level cache, follow each other.
  ctx.pool->parallel_for(groups * right.panels().count, 1, [&](int64_t begin, int64_t end) {
    Block block(ctx, args, left, right, columns.count, dst + rows.first * args.n + columns.first);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % groups * together;
      block.run(first, std::min(first + together, left.panels().count), i / groups);
    }
  });
}

void sum_by_tiles(const KernelContext& ctx, const MatmulArgs<float>& args, float* dst) {
  const gemm::Table<float>& kernels = gemm::table_of<float>(ctx.isa);
  const int vectors = gemm::best_width(kernels, args.m, args.n).vectors;
  const int64_t line_bytes = args.batch * args.k * static_cast<int64_t>(sizeof(float));
  const int64_t most = std::max(2 * kFewestLines, kLaidOutBytes / line_bytes);
  const int64_t columns = std::min(args.n, std::max(most / 2, most - args.m)),
                rows = std::max(kFewestLines, most - columns);
  for (int64_t j = 0; j < args.n; j += columns) {
    for (int64_t i = 0; i < args.m; i += rows) {
      sum_rectangle(ctx, args, vectors, {i, std::min(rows, args.m - i)}, {j, std::min(columns, args.n - j)}, dst);
    }
  }
}

}  // namespace

// Of fewer rows, columns or products laying out both sides and rounding take longer than the stack would.
bool worth_summing(const MatmulArgs<float>& args) {
  constexpr int64_t kLargeStack = 1 << 20, kFewTerms = 24, kFewProducts = 16;
  if (args.batch < kFewProducts || args.batch > kMostStacked || args.k < 1 || args.k > kFewTerms) return false;
  if (args.m < kFewestLines || args.n < kFewestLines) return false;
  return static_cast<double>(args.m) * static_cast<double>(args.n) * static_cast<double>(args.batch) >= kLargeStack;
}

void sum_of_products(const KernelContext& ctx, const MatmulArgs<float>& args, float* dst) {
  ISOBIT_CHECK(args.batch >= 1 && args.batch <= kMostStacked && args.k >= 1 && args.k <= kMostStackedTerms);
  if (args.m == 0 || args.n == 0) return;
  if (ctx.isa != Isa::kReference) return sum_by_tiles(ctx, args, dst);
  ScratchVector<float> stack(static_cast<size_t>(args.batch * args.m * args.n));
  MatmulArgs<float> each = args;
  each.c = stack.data();
  each.c_row_stride = args.n;
  each.c_batch_stride = args.m * args.n;
  reference::matmul(each);
  reference::reduce_sum(AxisView{.axis = args.batch, .inner = args.m * args.n}, stack.data(), dst);
}

}  // namespace isobit::kernels
