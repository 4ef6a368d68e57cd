#include "isobit/kernels/matmul/summed.h"

#include <algorithm>
#include <limits>

#include "isobit/base/scratch.h"
#include "isobit/kernels/matmul/gemm.h"
#include "isobit/kernels/matmul/reference.h"
#include "isobit/kernels/matmul/tiling.h"
#include "isobit/kernels/reduce/reference.h"
#include "isobit/kernels/reduce/settle.h"
#include "isobit/kernels/reduce/table.h"

namespace isobit::kernels {
namespace {

using gemm::ceil_div;
using gemm::Operand;
using gemm::Panels;

// Products that are added to the totals of a tile at a time.
constexpr int64_t kTogether = 4;
// What the totals of the tiles that are computed together may take: they stay in a first-level cache.
constexpr int64_t kTotalsBytes = 24 << 10, kTotalBytes = sizeof(double) + 2 * sizeof(float);

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

// One side of all products, laid out once: panel after panel, of each its part in every product one after another.
class Side {
 public:
  Side(const KernelContext& ctx, const gemm::Table<float>& kernels, const Operand<float>& operand, int64_t lines,
       const Panels& panels, const MatmulArgs<float>& args)
      : panels_(panels), terms_(args.k), batch_(args.batch) {
    elements_.resize(static_cast<size_t>(panels.first(panels.count) * terms_ * batch_));
    const int64_t grain = std::max<int64_t>(1, 16384 / (width(0) * terms_));
    ctx.pool->parallel_for(panels.count * batch_, grain, [&](int64_t begin, int64_t end) {
      ScratchVector<float> staging(static_cast<size_t>(gemm::kMaxWidth * (terms_ + gemm::kMaxWidth)));
      for (int64_t i = begin; i < end; ++i) {
        const int64_t product = i / panels_.count, panel = i % panels_.count, first = panels_.first(panel);
        Operand<float> one = operand;
        one.data += product * operand.batch_stride;
        kernels.pack(one, elements_.data() + at(panel, product), staging.data(), width(panel), first,
                     std::min(width(panel), lines - first), 0, terms_);
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
  Block(const KernelContext& ctx, const MatmulArgs<float>& args, const Side& left, const Side& right, float* dst)
      : kernels_(gemm::table_of<float>(ctx.isa)),
        sums_(reduce::table_of(ctx.isa)),
        args_(args),
        left_(left),
        right_(right),
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
    size_.assign(elements, 0.0F);
    least_.assign(elements, std::numeric_limits<float>::infinity());
    panels_.clear();
    for (int64_t panel = first; panel < last; ++panel) {
      panels_.push_back({left_.of(panel, 0), left_.width(panel), (left_.panels().first(panel) - row) * width_});
    }
    const float* const right = right_.of(column_panel, 0);
    for (int64_t product = 0; product < args_.batch; product += kTogether) {
      const int64_t here = std::min(kTogether, args_.batch - product);
      for (const RowPanel& p : panels_) {
        const int64_t count = p.rows * width_;
        for (int64_t i = 0; i < here; ++i) {
          const int64_t terms = (product + i) * args_.k;
          compute(p.left + terms * p.rows, p.rows, right + terms * width_, width_, tiles_ + i * count);
        }
        sums_.add_terms(count, here, tiles_, sum_.data() + p.at, size_.data() + p.at, least_.data() + p.at);
      }
    }
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

  // One product's outputs, `width` in a row.
  void compute(const float* left, int64_t rows, const float* right, int64_t width, float* to) {
    step_.left = left;
    step_.right = right;
    step_.right_k_stride = width_;
    step_.c = to;
    step_.c_row_stride = step_.columns = width;
    kernels_.tile[width / kernels_.lanes - 1][rows - 1](step_);
  }

  // Row `row` of the output, whose totals begin at `at`.
  void round_row(int64_t panel, int64_t row, int64_t at) {
    double size[gemm::kMaxWidth];
    uint8_t undecided[gemm::kMaxWidth];
    const int64_t j0 = right_.panels().first(column_panel_), columns = std::min(width_, args_.n - j0);
    // Sums of so many magnitudes in float32 may be too small by 2^-13.
    static_assert(kMostStacked <= reduce::kTermsAtMost);
    for (int64_t j = 0; j < columns; ++j) {
      size[j] = static_cast<double>(size_[static_cast<size_t>(at + j)]) * (1 + 0x1p-12);
    }
    float* const to = dst_ + row * args_.n + j0;
    if (sums_.round_columns(columns, sum_.data() + at, size, least_.data() + at, static_cast<double>(args_.batch), to,
                            undecided) == 0) {
      return;
    }
    for (int64_t j = 0; j < columns; ++j) {
      if (undecided[j] != 0) to[j] = settled(panel, row - left_.panels().first(panel), j);
    }
  }

  // The exact sum, rounded; of products that are computed again.
  float settled(int64_t panel, int64_t r, int64_t j) {
    const int64_t lanes = kernels_.lanes, rows = left_.width(panel);
    float line[kMostStackedTerms];
    terms_.resize(static_cast<size_t>(args_.batch));
    for (int64_t product = 0; product < args_.batch; ++product) {
      const float* const left = left_.of(panel, product) + r;
      for (int64_t k = 0; k < args_.k; ++k) line[k] = left[k * rows];
      compute(line, 1, right_.of(column_panel_, product) + j / lanes * lanes, lanes, tiles_);
      terms_[static_cast<size_t>(product)] = tiles_[j % lanes];
    }
    return sum_settled(terms_.data(), args_.batch);
  }

  const gemm::Table<float>& kernels_;
  const reduce::Table& sums_;
  const MatmulArgs<float>& args_;
  const Side &left_, &right_;
  float* const dst_;
  int64_t column_panel_ = 0, width_ = 0;
  ScratchVector<RowPanel> panels_;
  ScratchVector<double> sum_;
  ScratchVector<float> size_, least_, terms_;
  gemm::TileStep<float> step_{};
  alignas(64) float tiles_[kTogether * gemm::kMaxRows * gemm::kMaxWidth];
};

void sum_by_tiles(const KernelContext& ctx, const MatmulArgs<float>& args, float* dst) {
  const gemm::Table<float>& kernels = gemm::table_of<float>(ctx.isa);
  const int vectors = gemm::best_width(kernels, args.m, args.n).vectors;
  const int64_t column_vectors = ceil_div(args.n, kernels.lanes);
  const Side left(ctx, kernels, left_of(args), args.m,
                  {.units = args.m, .unit = 1, .count = ceil_div(args.m, kernels.max_rows[vectors - 1])}, args);
  const Side right(ctx, kernels, right_of(args), args.n,
                   {.units = column_vectors, .unit = kernels.lanes, .count = ceil_div(column_vectors, vectors)}, args);
  const int64_t tile = left.width(0) * vectors * kernels.lanes;
  const int64_t together = std::max<int64_t>(1, kTotalsBytes / kTotalBytes / tile);
  const int64_t groups = ceil_div(left.panels().count, together);
  // Those that share a panel of columns, which stays in a second-level cache, follow each other.
  ctx.pool->parallel_for(groups * right.panels().count, 1, [&](int64_t begin, int64_t end) {
    Block block(ctx, args, left, right, dst);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % groups * together;
      block.run(first, std::min(first + together, left.panels().count), i / groups);
    }
  });
}

}  // namespace

bool worth_summing(const MatmulArgs<float>& args) {
  constexpr int64_t kLargeStack = 1 << 20, kFewTerms = 24, kFewProducts = 4, kFewRows = 8, kFewColumns = 16;
  if (args.batch < kFewProducts || args.batch > kMostStacked || args.k < 1 || args.k > kFewTerms) return false;
  if (args.m < kFewRows || args.n < kFewColumns) return false;
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
