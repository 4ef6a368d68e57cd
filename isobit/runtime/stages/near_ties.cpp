#include "isobit/runtime/stages/near_ties.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>

#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/steps.h"
#include "isobit/runtime/stages/log_counts.h"

namespace isobit::runtime {
namespace {

using kernels::rounding::NearTieRow;
using kernels::rounding::round_to_bits;
using kernels::rounding::Steps;

constexpr int64_t kRun = 256;  // columns looked at together

struct Scan {
  const Steps& steps;
  ProductBlock& block;
  uint32_t index;
  double width;
  int bits;

  void row(int64_t i, std::vector<NearTie>& found) const {
    uint64_t flags[kRun];
    NearTieRow r{block.row_norms[static_cast<size_t>(i)], nullptr, 0, nullptr, width, bits};
    if (block.row_bias != nullptr) r.row_bias = block.row_bias[i];
    for (int64_t j = 0; j < block.n;) {
      const int64_t count = std::min({block.n - j, block.columns - j % block.columns, kRun});
      r.column_norms = block.column_norms.data() + j;
      r.column_bias = block.column_bias != nullptr ? block.column_bias + j : nullptr;
      double* x = block.out + block.at(i, j);
      if (steps.near_ties(count, r, x, flags)) {
        for (int64_t q = 0; q < count; ++q) {
          if (flags[q] == 0) continue;
          found.push_back({static_cast<uint64_t>(block.offset + block.at(i, j + q)), index, i, j + q, x[q]});
        }
      }
      j += count;
    }
  }
};

int quantum_of(double x) {
  const uint64_t bits = numerics::bits_of(x), exponent = bits >> 52 & 0x7ff;
  if (exponent == 0 || exponent == 0x7ff) return -1074;
  return static_cast<int>(exponent) - 1075 + std::countr_zero((bits & 0xfffffffffffffull) | (uint64_t{1} << 52));
}

// A line of one side, and what decides an output without a bound, found out when it is asked for.
class Line {
 public:
  Line(int64_t k, int64_t index, const std::function<void(int64_t, double*)>& read) : values_(static_cast<size_t>(k)) {
    read(index, values_.data());
  }
  const std::vector<double>& values() const { return values_; }

  // One bit an element: whether it is not zero.
  const std::vector<uint64_t>& nonzero() {
    if (nonzero_.empty()) {
      nonzero_.resize(values_.size() / 64 + 1);
      for (size_t first = 0; first < values_.size(); first += 64) {
        const size_t count = std::min<size_t>(64, values_.size() - first);
        uint64_t word = 0;
        for (size_t l = 0; l < count; ++l) word |= uint64_t{values_[first + l] != 0} << l;
        nonzero_[first / 64] = word;
      }
    }
    return nonzero_;
  }
  // The exponent of the largest power of two that divides all elements; INT_MAX when all are zero.
  int quantum() {
    if (!quantum_) {
      quantum_ = INT_MAX;
      for (double x : values_) {
        if (x != 0) quantum_ = std::min(*quantum_, quantum_of(x));
      }
    }
    return *quantum_;
  }

 private:
  std::vector<double> values_;
  std::vector<uint64_t> nonzero_;
  std::optional<int> quantum_;
};

double sum_of_magnitudes(const Steps& steps, const std::vector<double>& a, const std::vector<double>& b, double bias) {
  return steps.magnitudes(static_cast<int64_t>(a.size()), a.data(), b.data()) + std::fabs(bias);
}

// The second sieve. Near-ties come in lines (a cancelling sum seldom comes alone), so lines are kept, up to a limit.
class SecondSieve {
 public:
  SecondSieve(const Steps& steps, std::vector<ProductBlock>& blocks, double width, int bits)
      : steps_(steps), blocks_(blocks), width_(width), bits_(bits) {
    kept_.resize(2 * blocks.size());
    exact_.resize(blocks.size());
  }

  // Whether the output is decided after all; it is rounded then. Sets the magnitude otherwise.
  bool decides(NearTie& t) {
    ProductBlock& b = blocks_[t.block];
    // Only of ties, as below: whether an output is decided must not depend on how many others were looked at.
    if (is_tie(t) && all_exact(t.block)) {
      b.out[b.at(t.i, t.j)] = round_to_bits(t.value, bits_) + 0.0;
      return true;
    }
    Line& x = line(t.block, 0, t.i, b.m, b.left);
    Line& y = line(t.block, 1, t.j, b.n, b.right);
    const double bias = b.bias(t.i, t.j);
    const bool exact = is_exact(b, t, x, y, bias);
    exact_[t.block].seen += exact && t.value != 0 ? 1 : 0;
    const bool decided = exact || magnitude_decides(t, x, y, bias);
    if (decided) b.out[b.at(t.i, t.j)] = round_to_bits(t.value, bits_) + 0.0;
    return decided;
  }

 private:
  static constexpr size_t kKeptElements = size_t{1} << 22;

  // Valid until the next call for the same side.
  Line& line(uint32_t block, size_t side, int64_t index, int64_t lines,
             const std::function<void(int64_t, double*)>& read) {
    std::vector<std::unique_ptr<Line>>& kept = kept_[2 * block + side];
    if (kept.empty()) kept.resize(static_cast<size_t>(lines));
    std::unique_ptr<Line>& place = kept[static_cast<size_t>(index)];
    if (place != nullptr) return *place;
    const int64_t k = blocks_[block].k;
    const bool keep = kept_elements_ + static_cast<size_t>(k) <= kKeptElements;
    kept_elements_ += keep ? static_cast<size_t>(k) : 0;
    std::unique_ptr<Line>& to = keep ? place : spare_[side];
    to = std::make_unique<Line>(k, index, read);
    return *to;
  }

  // Where ties come in numbers, as from images of few bits, the whole block is likely to be exact: the same rule for
  // all its lines at once.
  bool all_exact(uint32_t block) {
    Exactness& e = exact_[block];
    if (!e.known && e.seen >= kManyTies) {
      e.known = true;
      const ProductBlock& b = blocks_[block];
      int quantum = quantum_of_all(b.first_operand) + quantum_of_all(b.second_operand);
      double bias = 0;
      for (int64_t i = 0; b.row_bias != nullptr && i < b.m; ++i) take_bias(b.row_bias[i], bias, quantum);
      for (int64_t j = 0; b.column_bias != nullptr && j < b.n; ++j) take_bias(b.column_bias[j], bias, quantum);
      const double scale = *std::max_element(b.row_norms.begin(), b.row_norms.end()) *
                               *std::max_element(b.column_norms.begin(), b.column_norms.end()) +
                           bias;
      e.whole = scale * (1 + 0x1p-20) <= std::ldexp(1.0, quantum + 53);
    }
    return e.whole;
  }
  static int quantum_of_all(std::span<const double> values) {
    int quantum = 1024;
    for (double x : values) {
      if (x != 0) quantum = std::min(quantum, quantum_of(x));
    }
    return quantum;
  }
  static void take_bias(double bias, double& largest, int& quantum) {
    if (bias == 0) return;
    largest = std::max(largest, std::fabs(bias));
    quantum = std::min(quantum, quantum_of(bias));
  }

  // No term is nonzero; or, of an exact tie, all terms are multiples of one power of two q and their magnitudes add up
  // to no more than 2^53 q, so that no addition, in whatever order, can round.
  bool is_exact(const ProductBlock& b, const NearTie& t, Line& x, Line& y, double bias) const {
    if (t.value == 0 && bias == 0 && disjoint(x.nonzero(), y.nonzero())) return true;
    if (t.value != 0 && !is_tie(t)) return false;
    if (x.quantum() == INT_MAX || y.quantum() == INT_MAX) return false;
    int quantum = x.quantum() + y.quantum();
    if (bias != 0) quantum = std::min(quantum, quantum_of(bias));
    return b.scale(t.i, t.j) * (1 + 0x1p-20) <= std::ldexp(1.0, quantum + 53);
  }
  bool is_tie(const NearTie& t) const {
    const double distance = std::fabs(t.value - round_to_bits(t.value, bits_));
    return distance == kernels::rounding::spacing(t.value, bits_) / 2;
  }
  static bool disjoint(const std::vector<uint64_t>& x, const std::vector<uint64_t>& y) {
    for (size_t w = 0; w < x.size(); ++w) {
      if ((x[w] & y[w]) != 0) return false;
    }
    return true;
  }
  bool magnitude_decides(NearTie& t, const Line& x, const Line& y, double bias) const {
    t.magnitude = sum_of_magnitudes(steps_, x.values(), y.values(), bias);
    return candidates(t.value, width_, t.magnitude, bits_).one();
  }

  const Steps& steps_;
  std::vector<ProductBlock>& blocks_;
  double width_;
  int bits_;
  size_t kept_elements_ = 0;
  struct Exactness {
    int seen = 0;  // exact ties
    bool known = false, whole = false;
  };
  static constexpr int kManyTies = 32;
  std::vector<Exactness> exact_;                          // by block
  std::vector<std::vector<std::unique_ptr<Line>>> kept_;  // by block and side
  std::unique_ptr<Line> spare_[2];
};

}  // namespace

double most_expected_corrections(const LogCounts& counts) {
  const double mean = static_cast<double>(counts.entries) / 4;
  return mean + 6 * std::sqrt(mean) + 12;
}

std::vector<NearTie> round_decided(const kernels::KernelContext& ctx, std::vector<ProductBlock>& blocks, double width,
                                   int bits) {
  const Steps& steps = kernels::rounding::steps_of(ctx.isa);
  std::vector<NearTie> all;
  std::mutex merging;
  for (size_t b = 0; b < blocks.size(); ++b) {
    const Scan scan{steps, blocks[b], static_cast<uint32_t>(b), width, bits};
    ctx.pool->parallel_for(blocks[b].m, 16384 / (blocks[b].n + 1) + 1, [&](int64_t begin, int64_t end) {
      std::vector<NearTie> own;
      for (int64_t i = begin; i < end; ++i) scan.row(i, own);
      const std::lock_guard<std::mutex> lock(merging);
      all.insert(all.end(), own.begin(), own.end());
    });
  }
  SecondSieve second(steps, blocks, width, bits);
  std::erase_if(all, [&](NearTie& t) { return second.decides(t); });
  std::sort(all.begin(), all.end(), [](const NearTie& a, const NearTie& b) { return a.position < b.position; });
  return all;
}

double magnitude_of(const ProductBlock& block, int64_t i, int64_t j) {
  const Steps& steps = kernels::rounding::steps_of(kernels::Isa::kPortable);  // every one gives the same
  return sum_of_magnitudes(steps, Line(block.k, i, block.left).values(), Line(block.k, j, block.right).values(),
                           block.bias(i, j));
}

NearTie locate(const std::vector<ProductBlock>& blocks, uint64_t position) {
  const auto p = static_cast<int64_t>(position);
  for (size_t b = 0; b < blocks.size(); ++b) {
    const ProductBlock& block = blocks[b];
    const int64_t within = p - block.offset;
    if (within < 0 || block.m == 0 || block.n == 0) continue;
    // Images of a convolution lie column_stride apart, rows of a matrix row_stride.
    const int64_t image = block.column_stride > 0 ? within / block.column_stride : 0;
    const int64_t rest = block.column_stride > 0 ? within % block.column_stride : within;
    const int64_t i = rest / block.row_stride, j = image * block.columns + rest % block.row_stride;
    if (i < block.m && rest % block.row_stride < block.columns && j < block.n) {
      return {position, static_cast<uint32_t>(b), i, j, block.out[block.at(i, j)]};
    }
  }
  ISOBIT_CHECK(false);
  return {};
}

// Sum2 of T. Ogita, S. M. Rump and S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26, 2005; products of
// float32 values are exact.
ExactValue evaluate_exactly(const ProductBlock& block, int64_t i, int64_t j) {
  std::vector<double> a(static_cast<size_t>(block.k)), b(a.size());
  block.left(i, a.data());
  block.right(j, b.data());
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
