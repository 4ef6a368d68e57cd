#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/sieves.h"
#include "isobit/kernels/rounding/table.h"

namespace isobit::kernels::rounding {
namespace {

void add(Extent& to, const Extent& other) {
  to.peak = std::max(to.peak, other.peak);
  to.squares += other.squares;
}

// The first two sieves, over the output as one piece.
class FirstSieves {
 public:
  FirstSieves(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, double bound, double width, int bits)
      : ctx_(ctx),
        loops_(table_of(ctx.isa)),
        blocks_(blocks),
        width_(width),
        interval_(width * bound),
        widest_(interval_),
        bits_(bits),
        out_(blocks[0].out - blocks[0].offset),
        outputs_(static_cast<int64_t>(blocks.size()) * blocks[0].m * blocks[0].n),
        patience_(patience(blocks[0])) {}

  Decided run() {
    Decided decided;
    std::vector<Range> left;
    if (std::isfinite(interval_)) {
      left = by_one_bound(decided);
    } else {
      left = {{0, outputs_}};
      decided.extent.peak = std::numeric_limits<double>::infinity();
    }
    if (!left.empty() || decided.rest.size() > patience_) by_norms(left, decided);
    // The squares are those of the lower ends; what is undecided may become the upper one.
    const double outputs = static_cast<double>(outputs_);
    const double norm = std::sqrt(decided.extent.squares) + 2 * widest_ * std::sqrt(outputs);
    decided.extent.squares = norm * norm * (1 + 0x1p-11);
    return decided;
  }

 private:
  struct Range {
    int64_t begin, end;
  };
  struct Norms {
    std::vector<double> left, right;
    double bias;  // its peak
  };
  static constexpr int64_t kRun = 256;  // outputs looked at together

  // How many may be left before the norms, which need a pass over the operands, are cheaper than so many magnitudes.
  static size_t patience(const ProductBlock& b) {
    const size_t terms = 6 * static_cast<size_t>(std::max<int64_t>(b.k, 1));
    return (b.first_operand.size() + b.second_operand.size()) / terms + 1;
  }

  // Returns what it did not come to.
  std::vector<Range> by_one_bound(Decided& decided) {
    const size_t most = patience_ / static_cast<size_t>(ctx_.pool->threads());
    std::vector<Range> left;
    std::mutex merging;
    ctx_.pool->parallel_for(outputs_, 16384, [&](int64_t begin, int64_t end) {
      std::vector<NearTie> found;
      Extent extent;
      int32_t undecided[kRun];
      int64_t p = begin;
      while (p < end && found.size() <= most) {
        const int64_t count = std::min(end - p, kRun);
        const int64_t some = loops_.sieve(count, {interval_}, bits_, out_ + p, undecided, &extent);
        for (int64_t q = 0; q < some; ++q) found.push_back(locate(blocks_, static_cast<uint64_t>(p + undecided[q])));
        p += count;
      }
      const std::lock_guard<std::mutex> lock(merging);
      if (p < end) left.push_back({p, end});
      decided.rest.insert(decided.rest.end(), found.begin(), found.end());
      add(decided.extent, extent);
    });
    return left;
  }

  // Looks again at what is left, and at the ranges.
  void by_norms(const std::vector<Range>& ranges, Decided& decided) {
    norms_.reserve(blocks_.size());
    for (const ProductBlock& b : blocks_) {
      norms_.push_back(norms_of(b));
      const Norms& n = norms_.back();
      const double most =
          *std::max_element(n.left.begin(), n.left.end()) * *std::max_element(n.right.begin(), n.right.end());
      widest_ = std::max(widest_, width_ * (most + n.bias));
    }
    std::vector<NearTie> rest;
    for (const NearTie& t : decided.rest) look(t, 1, decided.extent, rest);
    decided.rest = std::move(rest);
    std::mutex merging;
    for (const Range& range : ranges) {
      ctx_.pool->parallel_for(range.end - range.begin, 16384, [&](int64_t begin, int64_t end) {
        std::vector<NearTie> found;
        Extent extent;
        for (int64_t p = range.begin + begin; p < range.begin + end;) {
          const NearTie at = locate(blocks_, static_cast<uint64_t>(p));
          const int64_t columns = blocks_[at.block].place.columns, same_row = columns - at.j % columns;
          const int64_t count = std::min({range.begin + end - p, same_row, kRun});
          look(at, count, extent, found);
          p += count;
        }
        const std::lock_guard<std::mutex> lock(merging);
        decided.rest.insert(decided.rest.end(), found.begin(), found.end());
        add(decided.extent, extent);
      });
    }
  }

  Norms norms_of(const ProductBlock& b) const {
    Norms n{norm_bounds(ctx_, b.left), norm_bounds(ctx_, b.right), 0};
    // A line that no output of this block takes whole may have an infinity or a NaN; 0 times this is still 0.
    constexpr double kHuge = 1e300;
    for (double& norm : n.left) norm = norm <= kHuge ? norm * (1 + 2 * kSlack) : kHuge;
    for (double& norm : n.right) norm = norm <= kHuge ? norm : kHuge;
    Extent bias;
    if (b.row_bias != nullptr) loops_.measure(b.m, b.row_bias, &bias);
    if (b.column_bias != nullptr) loops_.measure(b.n, b.column_bias, &bias);
    n.bias = bias.peak;
    return n;
  }

  // Outputs of one row in one piece.
  void look(const NearTie& at, int64_t count, Extent& extent, std::vector<NearTie>& found) const {
    const Norms& n = norms_[at.block];
    const Interval interval{width_ * n.bias, width_ * n.left[static_cast<size_t>(at.i)], n.right.data() + at.j};
    double* x = out_ + at.position;
    int32_t undecided[kRun];
    const int64_t some = loops_.sieve(count, interval, bits_, x, undecided, &extent);
    for (int64_t q = 0; q < some; ++q) {
      const int64_t p = undecided[q];
      found.push_back({at.position + static_cast<uint64_t>(p), at.block, at.i, at.j + p, x[p]});
    }
  }

  const KernelContext& ctx_;
  const Table& loops_;
  const std::vector<ProductBlock>& blocks_;
  const double width_, interval_;  // of the first sieve
  double widest_;                  // interval of either
  const int bits_;
  double* const out_;  // output 0 of the call
  const int64_t outputs_;
  const size_t patience_;
  std::vector<Norms> norms_;  // by block
};

}  // namespace

Decided first_sieves(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, double bound, double width,
                     int bits) {
  return FirstSieves(ctx, blocks, bound, width, bits).run();
}

}  // namespace isobit::kernels::rounding
