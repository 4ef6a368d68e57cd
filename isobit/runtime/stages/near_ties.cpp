#include "isobit/runtime/stages/near_ties.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/steps.h"
#include "isobit/runtime/stages/log_counts.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::round_to_bits;
using kernels::rounding::Steps;

constexpr double kSlack = 0x1p-20;  // more than all roundings of a magnitude or of a norm

int quantum_of(double x) {
  const uint64_t bits = numerics::bits_of(x), exponent = bits >> 52 & 0x7ff;
  if (exponent == 0 || exponent == 0x7ff) return -1074;
  return static_cast<int>(exponent) - 1075 + std::countr_zero((bits & 0xfffffffffffffull) | (uint64_t{1} << 52));
}

// The exponent of the largest power of two that divides all of them; INT_MAX if all are zero.
int quantum_of_all(std::span<const double> values) {
  int quantum = INT_MAX;
  for (double x : values) {
    if (x != 0) quantum = std::min(quantum, quantum_of(x));
  }
  return quantum;
}

// Terms that are multiples of 2^quantum and whose magnitudes add up to no more than 2^53 times that: no addition, in
// whatever order, can round.
bool adds_exactly(double magnitude, int quantum) {
  return magnitude * (1 + kSlack) <= std::ldexp(1.0, std::min(quantum, 970) + 53);
}

// The first two sieves, over the output as one piece.
class FirstSieves {
 public:
  FirstSieves(const kernels::KernelContext& ctx, std::vector<ProductBlock>& blocks, double bound, double width,
              int bits)
      : ctx_(ctx),
        steps_(kernels::rounding::steps_of(ctx.isa)),
        blocks_(blocks),
        width_(width),
        interval_(width * bound),
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
      decided.peak = std::numeric_limits<double>::infinity();
    }
    if (!left.empty() || decided.rest.size() > patience_) by_norms(left, decided);
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
      double peak = 0;
      int32_t flags[kRun];
      int64_t p = begin;
      while (p < end && found.size() <= most) {
        const int64_t count = std::min(end - p, kRun);
        if (steps_.sieve(count, {interval_}, bits_, out_ + p, flags, &peak)) {
          for (int64_t q = 0; q < count; ++q) {
            if (flags[q] != 0) found.push_back(locate(blocks_, static_cast<uint64_t>(p + q)));
          }
        }
        p += count;
      }
      const std::lock_guard<std::mutex> lock(merging);
      if (p < end) left.push_back({p, end});
      decided.rest.insert(decided.rest.end(), found.begin(), found.end());
      decided.peak = std::max(decided.peak, peak);
    });
    return left;
  }

  // Looks again at what is left, and at the ranges.
  void by_norms(const std::vector<Range>& ranges, Decided& decided) {
    norms_.reserve(blocks_.size());
    for (const ProductBlock& b : blocks_) norms_.push_back(norms_of(b));
    std::vector<NearTie> rest;
    for (const NearTie& t : decided.rest) look(t, 1, decided.peak, rest);
    decided.rest = std::move(rest);
    std::mutex merging;
    for (const Range& range : ranges) {
      ctx_.pool->parallel_for(range.end - range.begin, 16384, [&](int64_t begin, int64_t end) {
        std::vector<NearTie> found;
        double peak = 0;
        for (int64_t p = range.begin + begin; p < range.begin + end;) {
          const NearTie at = locate(blocks_, static_cast<uint64_t>(p));
          const int64_t same_row = blocks_[at.block].columns - at.j % blocks_[at.block].columns;
          const int64_t count = std::min({range.begin + end - p, same_row, kRun});
          look(at, count, peak, found);
          p += count;
        }
        const std::lock_guard<std::mutex> lock(merging);
        decided.rest.insert(decided.rest.end(), found.begin(), found.end());
        decided.peak = std::max(decided.peak, peak);
      });
    }
  }

  Norms norms_of(const ProductBlock& b) const {
    Norms n{b.left.norm_bounds(ctx_), b.right.norm_bounds(ctx_), 0};
    for (double& norm : n.left) norm *= 1 + 2 * kSlack;
    if (b.row_bias != nullptr) n.bias = steps_.peak(b.m, b.row_bias);
    if (b.column_bias != nullptr) n.bias = steps_.peak(b.n, b.column_bias);
    return n;
  }

  // Outputs of one row in one piece.
  void look(const NearTie& at, int64_t count, double& peak, std::vector<NearTie>& found) const {
    const Norms& n = norms_[at.block];
    const kernels::rounding::Interval interval{width_ * n.bias, width_ * n.left[static_cast<size_t>(at.i)],
                                               n.right.data() + at.j};
    double* x = out_ + at.position;
    int32_t flags[kRun];
    if (!steps_.sieve(count, interval, bits_, x, flags, &peak)) return;
    for (int64_t q = 0; q < count; ++q) {
      if (flags[q] == 0) continue;
      found.push_back({at.position + static_cast<uint64_t>(q), at.block, at.i, at.j + q, x[q]});
    }
  }

  const kernels::KernelContext& ctx_;
  const Steps& steps_;
  const std::vector<ProductBlock>& blocks_;
  const double width_, interval_;  // of the first sieve
  const int bits_;
  double* const out_;  // output 0 of the call
  const int64_t outputs_;
  const size_t patience_;
  std::vector<Norms> norms_;  // by block
};

// A block's lines that touch a zero, a bit for each element: whether it is not zero.
class Masks {
 public:
  explicit Masks(const Lines& lines) : words_(static_cast<size_t>(lines.k() + 63) / 64) {
    std::vector<double> line(static_cast<size_t>(lines.k()));
    bits_.resize(words_ * static_cast<size_t>(lines.count()));
    uint64_t* to = bits_.data();
    for (int64_t i = 0; i < lines.count(); ++i, to += words_) {
      lines.read(i, line.data());
      for (size_t l = 0; l < line.size(); ++l) to[l / 64] |= uint64_t{line[l] != 0} << l % 64;
    }
  }
  bool disjoint(int64_t i, const Masks& other, int64_t j) const {
    const uint64_t *a = bits_.data() + words_ * static_cast<size_t>(i),
                   *b = other.bits_.data() + words_ * static_cast<size_t>(j);
    for (size_t w = 0; w < words_; ++w) {
      if ((a[w] & b[w]) != 0) return false;
    }
    return true;
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

// The last sieve. Whether an output is decided must not depend on what else was looked at: other platforms look at
// others. So whatever decides many at once decides what each of them alone would.
class LastSieve {
 public:
  LastSieve(const kernels::KernelContext& ctx, const std::vector<ProductBlock>& blocks, double bound, double width,
            int bits)
      : ctx_(ctx),
        steps_(kernels::rounding::steps_of(ctx.isa)),
        blocks_(blocks),
        bound_(bound),
        width_(width),
        bits_(bits) {}

  // Rounds what is decided and removes it.
  void operator()(std::vector<NearTie>& ties) {
    look_at_blocks(ties);
    std::vector<char> decided(ties.size());
    ctx_.pool->parallel_for(static_cast<int64_t>(ties.size()), 8, [&](int64_t begin, int64_t end) {
      Pair lines;
      for (int64_t q = begin; q < end; ++q) {
        NearTie& t = ties[static_cast<size_t>(q)];
        if (q + 1 < end) blocks_[t.block].right.prefetch(ties[static_cast<size_t>(q + 1)].j);
        if (!decides(t, lines)) continue;
        decided[static_cast<size_t>(q)] = 1;
        const ProductBlock& b = blocks_[t.block];
        b.out[b.at(t.i, t.j)] = round_to_bits(t.value, bits_) + 0.0;
      }
    });
    size_t q = 0;
    std::erase_if(ties, [&](const NearTie&) { return decided[q++] != 0; });
  }

 private:
  struct Pair {
    std::vector<double> left, right;
    std::vector<Lines::Place> nonzero;  // of the right side's elements, where a left line has a term
    uint32_t nonzero_block = 0;
    int64_t nonzero_line = -1;
  };
  // What is known of a block as a whole.
  struct Whole {
    int64_t zeros = 0, ties = 0;
    bool exact = false;
    std::optional<Masks> left, right;
  };

  void look_at_blocks(const std::vector<NearTie>& ties) {
    whole_.resize(blocks_.size());
    for (const NearTie& t : ties) {
      whole_[t.block].zeros += t.value == 0 ? 1 : 0;
      whole_[t.block].ties += is_tie(t) ? 1 : 0;
    }
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const ProductBlock& block = blocks_[b];
      Whole& w = whole_[b];
      // As from images of few bits.
      if (w.ties >= 32) w.exact = adds_exactly(bound_, quantum_of_block(block));
      if (block.k * (block.m + block.n) <= 16 * w.zeros) {
        w.left.emplace(block.left);
        w.right.emplace(block.right);
      }
    }
  }

  static int quantum_of_block(const ProductBlock& b) {
    const int first = quantum_of_all(b.first_operand), second = quantum_of_all(b.second_operand);
    int quantum = first == INT_MAX || second == INT_MAX ? INT_MAX : first + second;
    if (b.row_bias != nullptr) quantum = std::min(quantum, quantum_of_all({b.row_bias, static_cast<size_t>(b.m)}));
    if (b.column_bias != nullptr)
      quantum = std::min(quantum, quantum_of_all({b.column_bias, static_cast<size_t>(b.n)}));
    return quantum;
  }

  // Sets the magnitude of what it does not decide.
  bool decides(NearTie& t, Pair& lines) const {
    const ProductBlock& b = blocks_[t.block];
    const Whole& w = whole_[t.block];
    const double bias = b.bias(t.i, t.j);
    const bool tie = is_tie(t);
    if (tie && w.exact) return true;
    if (t.value == 0 && bias == 0 && (w.left ? w.left->disjoint(t.i, *w.right, t.j) : no_terms(b, t, lines)))
      return true;
    lines.left.resize(static_cast<size_t>(b.k));
    lines.right.resize(static_cast<size_t>(b.k));
    b.left.read(t.i, lines.left.data());
    b.right.read(t.j, lines.right.data());
    t.magnitude = steps_.magnitudes(b.k, lines.left.data(), lines.right.data()) + std::fabs(bias);
    if (candidates(t.value, width_, t.magnitude, bits_).one()) return true;
    if (!tie && t.value != 0) return false;
    int quantum = bias != 0 ? quantum_of(bias) : INT_MAX;
    const int left = quantum_of_all(lines.left), right = quantum_of_all(lines.right);
    if (left != INT_MAX && right != INT_MAX) quantum = std::min(quantum, left + right);
    return adds_exactly(t.magnitude, quantum);
  }

  bool no_terms(const ProductBlock& b, const NearTie& t, Pair& lines) const {
    if (lines.nonzero_line != t.i || lines.nonzero_block != t.block) {
      lines.left.resize(static_cast<size_t>(b.k));
      b.left.read(t.i, lines.left.data());
      lines.nonzero.clear();
      for (int64_t l = 0; l < b.k; ++l) {
        if (lines.left[static_cast<size_t>(l)] != 0) lines.nonzero.push_back(b.right.place(l));
      }
      lines.nonzero_line = t.i;
      lines.nonzero_block = t.block;
    }
    return b.right.all_zero(t.j, lines.nonzero);
  }
  bool is_tie(const NearTie& t) const {
    const double distance = std::fabs(t.value - round_to_bits(t.value, bits_));
    return distance != 0 && distance == kernels::rounding::spacing(t.value, bits_) / 2;
  }

  const kernels::KernelContext& ctx_;
  const Steps& steps_;
  const std::vector<ProductBlock>& blocks_;
  const double bound_, width_;
  const int bits_;
  std::vector<Whole> whole_;
};

}  // namespace

double most_expected_corrections(const LogCounts& counts) {
  const double mean = static_cast<double>(counts.entries) / 4;
  return mean + 6 * std::sqrt(mean) + 12;
}

double magnitude_bound(int64_t k, double left_peak, double right_peak, double bias_peak) {
  return (static_cast<double>(k) * left_peak * right_peak + bias_peak) * (1 + kSlack);
}

Decided round_decided(const kernels::KernelContext& ctx, std::vector<ProductBlock>& blocks, double bound, double width,
                      int bits) {
  FirstSieves first(ctx, blocks, bound, width, bits);
  Decided decided = first.run();
  if (decided.rest.empty()) return decided;
  LastSieve{ctx, blocks, bound, width, bits}(decided.rest);
  std::sort(decided.rest.begin(), decided.rest.end(),
            [](const NearTie& a, const NearTie& b) { return a.position < b.position; });
  return decided;
}

double magnitude_of(const ProductBlock& block, int64_t i, int64_t j) {
  const Steps& steps = kernels::rounding::steps_of(kernels::Isa::kPortable);  // every one gives the same
  std::vector<double> left(static_cast<size_t>(block.k)), right(left.size());
  block.left.read(i, left.data());
  block.right.read(j, right.data());
  return steps.magnitudes(block.k, left.data(), right.data()) + std::fabs(block.bias(i, j));
}

NearTie locate(const std::vector<ProductBlock>& blocks, uint64_t position) {
  const ProductBlock& first = blocks.front();
  const auto p = static_cast<int64_t>(position);
  // Images of a convolution lie column_stride apart, and in each the groups one after the other; as do matrices.
  const int64_t image = first.column_stride > 0 ? p / first.column_stride : 0;
  const int64_t rest = p - image * first.column_stride, size = first.m * first.columns;
  const auto index = static_cast<size_t>(rest / size);
  ISOBIT_CHECK(index < blocks.size());
  const ProductBlock& block = blocks[index];
  const int64_t within = rest % size, i = within / first.columns, j = image * first.columns + within % first.columns;
  ISOBIT_CHECK(j < block.n && block.offset + block.at(i, j) == p);
  return {position, static_cast<uint32_t>(index), i, j, block.out[block.at(i, j)]};
}

// Sum2 of T. Ogita, S. M. Rump and S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005; products of
// float32 values are exact.
ExactValue evaluate_exactly(const ProductBlock& block, int64_t i, int64_t j) {
  std::vector<double> a(static_cast<size_t>(block.k)), b(a.size());
  block.left.read(i, a.data());
  block.right.read(j, b.data());
  double high = block.bias(i, j), low = 0;
  for (size_t l = 0; l < a.size(); ++l) {
    const double p = a[l] * b[l], sum = high + p, z = sum - high;
    low += (high - (sum - z)) + (p - z);
    high = sum;
  }
  const double sum = high + low;
  return {sum, low - (sum - high)};
}

Candidates candidates(double x, double width, double magnitude, int bits) {
  const double w = width * magnitude;
  return {round_to_bits(x - w, bits) + 0.0, round_to_bits(x + w, bits) + 0.0};
}

// The low part is far below the width, whose surplus covers it.
Candidates candidates(const ExactValue& z, double width, double magnitude, int bits) {
  return candidates(z.high, width, magnitude, bits);
}

}  // namespace isobit::runtime
