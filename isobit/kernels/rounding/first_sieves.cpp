#include <algorithm>
#include <cmath>
#include <functional>
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

// How many outputs left are worth the norms of lines with so many elements: the last sieve reads two lines for each, of
// which one that lies apart comes from memory element by element.
size_t outputs_worth(const ProductBlock& b, size_t elements) {
  const auto apart = [](const product::Lines<double>& lines) {
    return lines.side().kind == product::SideKind::kStrided && lines.contiguous(0) == nullptr;
  };
  const size_t reads = apart(b.left) || apart(b.right) ? 12 : 6;
  return elements / (reads * static_cast<size_t>(std::max<int64_t>(b.k, 1))) + 1;
}

// All but the last sieve, over the output as one piece.
class FirstSieves {
 public:
  FirstSieves(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, const LineBounds& bounds, double width,
              int bits, bool with_extent)
      : ctx_(ctx),
        loops_(table_of(ctx.isa)),
        blocks_(blocks),
        left_(side_of_all(&ProductBlock::left, bounds)),
        right_(side_of_all(&ProductBlock::right, bounds)),
        width_(width),
        interval_(width * bounds.magnitude()),
        widest_(interval_),
        bits_(bits),
        with_extent_(with_extent),
        out_(blocks[0].out - blocks[0].offset),
        outputs_(static_cast<int64_t>(blocks.size()) * blocks[0].m * blocks[0].n),
        norms_(blocks.size()) {}

  Decided run() {
    SideOfAll& shorter = elements_of(left_) < elements_of(right_) ? left_ : right_;
    Decided decided;
    Ranges open = {{0, outputs_}};
    const auto leaves_over = [&](const SideOfAll& side) {
      return !open.empty() || decided.rest.size() > outputs_worth(blocks_[0], elements_of(side));
    };
    const bool bounded = std::isfinite(interval_);
    if (!bounded) decided.extent.peak = std::numeric_limits<double>::infinity();
    left_.is_known = has_norms(left_);
    right_.is_known = has_norms(right_);
    if (!left_.is_known && !right_.is_known) {
      if (bounded) open = by_one_bound(outputs_worth(blocks_[0], elements_of(shorter)), decided);
      shorter.is_known = leaves_over(shorter);
    }
    SideOfAll& other = left_.is_known ? right_ : left_;
    if (bounded && left_.is_known != right_.is_known) {
      open = by_norms(open, outputs_worth(blocks_[0], elements_of(other)), decided);
    }
    if (leaves_over(other)) {
      left_.is_known = right_.is_known = true;
      by_norms(open, std::numeric_limits<size_t>::max(), decided);
    }
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
  using Ranges = std::vector<Range>;
  struct SideOfAll {
    product::Lines<double> ProductBlock::*lines;
    double bound;              // at least the norm of any line
    const MatrixNorms* norms;  // null: not computed yet
    bool is_known = false;     // whether the norms of the lines are to be used
  };
  struct Norms {
    std::vector<double> left, right;
    double bias = 0;  // its peak
    bool left_is_known = false, right_is_known = false;
  };
  static constexpr int64_t kRun = 256;  // outputs looked at together

  Extent* where(Extent& extent) const { return with_extent_ ? &extent : nullptr; }
  bool in_first_operand(const product::Lines<double>& lines) const {
    const std::span<const double> first = blocks_[0].first_operand;
    return std::less_equal<>()(first.data(), lines.data()) && std::less<>()(lines.data(), first.data() + first.size());
  }
  SideOfAll side_of_all(product::Lines<double> ProductBlock::*lines, const LineBounds& bounds) const {
    const bool first = in_first_operand(blocks_[0].*lines);
    return {lines, first ? bounds.first : bounds.second, first ? bounds.first_norms : bounds.second_norms};
  }
  std::span<const double> operand_of(const SideOfAll& side) const {
    return in_first_operand(blocks_[0].*side.lines) ? blocks_[0].first_operand : blocks_[0].second_operand;
  }
  size_t elements_of(const SideOfAll& side) const { return operand_of(side).size(); }
  std::span<const double> norms_of(const SideOfAll& side, const ProductBlock& b) const {
    return side.norms != nullptr ? side.norms->of(b.*side.lines, operand_of(side).data()) : std::span<const double>();
  }
  bool has_norms(const SideOfAll& side) const { return !norms_of(side, blocks_[0]).empty(); }

  // Looks at all ranges, at a run of outputs after the other: look(position, extent, found) -> their number. Returns
  // what it did not come to before more than `most` were left.
  template <class Look>
  Ranges look_through(const Ranges& ranges, size_t most, Decided& decided, Look look) {
    const size_t most_here = most / static_cast<size_t>(ctx_.pool->threads());
    Ranges open;
    std::mutex merging;
    for (const Range& range : ranges) {
      ctx_.pool->parallel_for(range.end - range.begin, 16384, [&](int64_t begin, int64_t end) {
        std::vector<NearTie> found;
        Extent extent;
        const int64_t last = range.begin + end;
        int64_t p = range.begin + begin;
        while (p < last && found.size() <= most_here) p += look(p, last, extent, found);
        const std::lock_guard<std::mutex> lock(merging);
        if (p < last) open.push_back({p, last});
        decided.rest.insert(decided.rest.end(), found.begin(), found.end());
        add(decided.extent, extent);
      });
    }
    return open;
  }

  Ranges by_one_bound(size_t most, Decided& decided) {
    return look_through(
        {{0, outputs_}}, most, decided, [&](int64_t p, int64_t end, Extent& extent, std::vector<NearTie>& found) {
          int32_t undecided[kRun];
          const int64_t count = std::min(end - p, kRun);
          const int64_t some = loops_.sieve(count, {interval_}, bits_, out_ + p, undecided, where(extent));
          for (int64_t q = 0; q < some; ++q) {
            found.push_back(locate(blocks_, static_cast<uint64_t>(p + undecided[q])));
          }
          return count;
        });
  }

  // Looks again at what is left, and at the ranges.
  Ranges by_norms(const Ranges& ranges, size_t most, Decided& decided) {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      Norms& n = norms_[b];
      find_norms(blocks_[b], n);
      const double widest =
          *std::max_element(n.left.begin(), n.left.end()) * *std::max_element(n.right.begin(), n.right.end());
      widest_ = std::max(widest_, width_ * (widest + n.bias));
    }
    std::vector<NearTie> rest;
    for (const NearTie& t : decided.rest) sieve(t, 1, decided.extent, rest);
    decided.rest = std::move(rest);
    return look_through(ranges, most, decided,
                        [&](int64_t p, int64_t end, Extent& extent, std::vector<NearTie>& found) {
                          const NearTie at = locate(blocks_, static_cast<uint64_t>(p));
                          const int64_t columns = blocks_[at.block].place.columns;
                          const int64_t count = std::min({end - p, columns - at.j % columns, kRun});
                          sieve(at, count, extent, found);
                          return count;
                        });
  }

  // Of the sides whose norms are to be used; the other has its bound for each.
  void find_norms(const ProductBlock& b, Norms& n) const {
    // A line that no output of this block takes whole may have an infinity or a NaN; 0 times this is still 0.
    constexpr double kHuge = 1e300;
    const auto of_side = [&](const SideOfAll& side, int64_t lines, bool& known, std::vector<double>& norms) {
      if (known) return;
      known = side.is_known;
      if (const std::span<const double> given = norms_of(side, b); known && !given.empty()) {
        norms.assign(given.begin(), given.end());
      } else if (known) {
        norms = norm_bounds(ctx_, b.*side.lines);
      } else {
        norms.assign(static_cast<size_t>(lines), side.bound);
      }
      for (double& norm : norms) norm = norm <= kHuge ? norm * (1 + 2 * kSlack) : kHuge;
    };
    of_side(left_, b.m, n.left_is_known, n.left);
    of_side(right_, b.n, n.right_is_known, n.right);
    Extent bias;
    if (b.row_bias != nullptr) loops_.measure(b.m, b.row_bias, &bias);
    if (b.column_bias != nullptr) loops_.measure(b.n, b.column_bias, &bias);
    n.bias = bias.peak;
  }

  // Outputs of one row in one piece.
  void sieve(const NearTie& at, int64_t count, Extent& extent, std::vector<NearTie>& found) const {
    const Norms& n = norms_[at.block];
    const Interval interval{width_ * n.bias, width_ * n.left[static_cast<size_t>(at.i)], n.right.data() + at.j};
    double* x = out_ + at.position;
    int32_t undecided[kRun];
    const int64_t some = loops_.sieve(count, interval, bits_, x, undecided, where(extent));
    for (int64_t q = 0; q < some; ++q) {
      const int64_t p = undecided[q];
      found.push_back({at.position + static_cast<uint64_t>(p), at.block, at.i, at.j + p, x[p]});
    }
  }

  const KernelContext& ctx_;
  const Table& loops_;
  const std::vector<ProductBlock>& blocks_;
  SideOfAll left_, right_;
  const double width_, interval_;  // of the first sieve
  double widest_;                  // interval of any
  const int bits_;
  const bool with_extent_;
  double* const out_;  // output 0 of the call
  const int64_t outputs_;
  std::vector<Norms> norms_;  // by block
};

}  // namespace

Decided first_sieves(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, const LineBounds& bounds,
                     double width, int bits, bool with_extent) {
  return FirstSieves(ctx, blocks, bounds, width, bits, with_extent).run();
}

}  // namespace isobit::kernels::rounding
