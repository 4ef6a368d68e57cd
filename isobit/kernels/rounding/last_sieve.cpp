#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <optional>

#include "isobit/kernels/rounding/round_to_bits.h"
#include "isobit/kernels/rounding/sieves.h"
#include "isobit/kernels/rounding/table.h"

namespace isobit::kernels::rounding {
namespace {

using Lines = product::Lines<double>;

// The exponent of the largest power of two that divides all of them; INT_MAX if all are zero.
int quantum_of_all(std::span<const double> values) {
  int quantum = INT_MAX;
  for (double x : values) {
    if (x != 0) quantum = std::min(quantum, quantum_of(x));
  }
  return quantum;
}

// A block's lines that touch a zero, a bit for each element: whether it is not zero.
class NonzeroMasks {
 public:
  NonzeroMasks(ThreadPool& pool, const Lines& lines) : words_(static_cast<size_t>(lines.k() + 63) / 64) {
    bits_.resize(words_ * static_cast<size_t>(lines.count()));
    pool.parallel_for(lines.count(), 16384 / (lines.k() + 1) + 1, [&](int64_t begin, int64_t end) {
      std::vector<double> line(static_cast<size_t>(lines.k()));
      for (int64_t i = begin; i < end; ++i) {
        uint64_t* to = bits_.data() + words_ * static_cast<size_t>(i);
        lines.read(i, line.data());
        for (size_t l = 0; l < line.size(); ++l) to[l / 64] |= uint64_t{line[l] != 0} << l % 64;
      }
    });
  }
  bool disjoint(int64_t i, const NonzeroMasks& other, int64_t j) const {
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
  LastSieve(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, double bound, double width, int bits)
      : ctx_(ctx), loops_(table_of(ctx.isa)), blocks_(blocks), bound_(bound), width_(width), bits_(bits) {}

  // Rounds what is decided and removes it.
  void operator()(std::vector<NearTie>& ties) {
    look_at_blocks(ties);
    std::vector<char> decided(ties.size());
    ctx_.pool->parallel_for(static_cast<int64_t>(ties.size()), 8, [&](int64_t begin, int64_t end) {
      Terms terms;
      for (int64_t q = begin; q < end; ++q) {
        NearTie& t = ties[static_cast<size_t>(q)];
        if (q + 1 < end) blocks_[t.block].right.prefetch(ties[static_cast<size_t>(q + 1)].j);
        if (!decides(t, terms)) continue;
        decided[static_cast<size_t>(q)] = 1;
        const ProductBlock& b = blocks_[t.block];
        b.out[b.at(t.i, t.j)] = round_to_bits(t.value, bits_) + 0.0;
      }
    });
    size_t q = 0;
    std::erase_if(ties, [&](const NearTie&) { return decided[q++] != 0; });
  }

 private:
  // What one thread has at hand: a left line, its nonzero elements, and what they meet on the right.
  struct Terms {
    uint32_t block = 0;
    int64_t line = -1;
    std::vector<double> left, right;
    std::vector<int64_t> nonzero;
    std::vector<Lines::Place> places;  // of the right side's elements that these meet
    bool sparse = false;               // few enough: right then has an element for each of them, else the whole line
  };
  // What is known of a block as a whole.
  struct Whole {
    int64_t zeros = 0, ties = 0;
    bool exact = false;
    std::optional<NonzeroMasks> left, right;
  };

  void look_at_blocks(const std::vector<NearTie>& ties) {
    whole_.resize(blocks_.size());
    for (const NearTie& t : ties) {
      Whole& w = whole_[t.block];
      if (t.value == 0) {
        ++w.zeros;
      } else if (is_tie(t)) {
        ++w.ties;
      }
    }
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const ProductBlock& block = blocks_[b];
      Whole& w = whole_[b];
      // As from images of few bits.
      if (w.ties >= 32) w.exact = adds_exactly(bound_, quantum_of_block(block));
      if (block.k * (block.m + block.n) <= 16 * w.zeros) {
        w.left.emplace(*ctx_.pool, block.left);
        w.right.emplace(*ctx_.pool, block.right);
      }
    }
  }

  int quantum_of_block(const ProductBlock& b) {
    if (!quantum_) {  // of the operands, which all blocks have in common
      const int first = quantum_of_all(b.first_operand), second = quantum_of_all(b.second_operand);
      quantum_ = first == INT_MAX || second == INT_MAX ? INT_MAX : first + second;
    }
    int quantum = *quantum_;
    if (b.row_bias != nullptr) quantum = std::min(quantum, quantum_of_all({b.row_bias, static_cast<size_t>(b.m)}));
    if (b.column_bias != nullptr)
      quantum = std::min(quantum, quantum_of_all({b.column_bias, static_cast<size_t>(b.n)}));
    return quantum;
  }

  // Sets the magnitude of what it does not decide.
  bool decides(NearTie& t, Terms& terms) const {
    const ProductBlock& b = blocks_[t.block];
    const Whole& w = whole_[t.block];
    const double bias = b.bias(t.i, t.j);
    const bool tie = t.value != 0 && is_tie(t);
    if (tie && w.exact) return true;
    if (t.value == 0 && bias == 0 && w.left && w.left->disjoint(t.i, *w.right, t.j)) return true;
    read(b, t, terms);
    t.magnitude = magnitude(terms) + std::fabs(bias);
    if (candidates(t.value, width_, t.magnitude, bits_).one()) return true;
    if (!tie && t.value != 0) return false;
    const int quantum = quantum_of_terms(terms);
    return adds_exactly(t.magnitude, bias != 0 ? std::min(quantum, quantum_of(bias)) : quantum);
  }

  static void read(const ProductBlock& b, const NearTie& t, Terms& terms) {
    if (terms.line != t.i || terms.block != t.block) {
      terms.block = t.block;
      terms.line = t.i;
      terms.left.resize(static_cast<size_t>(b.k));
      b.left.read(t.i, terms.left.data());
      terms.nonzero.clear();
      for (int64_t l = 0; l < b.k; ++l) {
        if (terms.left[static_cast<size_t>(l)] != 0) terms.nonzero.push_back(l);
      }
      terms.sparse = 4 * static_cast<int64_t>(terms.nonzero.size()) <= b.k;
      terms.places.clear();
      for (size_t q = 0; terms.sparse && q < terms.nonzero.size(); ++q) {
        terms.places.push_back(b.right.place(terms.nonzero[q]));
      }
    }
    terms.right.resize(terms.sparse ? terms.nonzero.size() : static_cast<size_t>(b.k));
    if (terms.sparse) {
      b.right.gather(t.j, terms.places, terms.right.data());
    } else {
      b.right.read(t.j, terms.right.data());
    }
  }

  // The same to the bit either way: zeros change no sum.
  double magnitude(const Terms& terms) const {
    if (!terms.sparse) {
      return loops_.magnitudes(static_cast<int64_t>(terms.left.size()), terms.left.data(), terms.right.data());
    }
    double lanes[8] = {}, sum = 0;
    for (size_t q = 0; q < terms.nonzero.size(); ++q) {
      const auto l = static_cast<size_t>(terms.nonzero[q]);
      lanes[l % 8] += std::fabs(terms.left[l] * terms.right[q]);
    }
    for (double lane : lanes) sum += lane;
    return sum;
  }

  static int quantum_of_terms(const Terms& terms) {
    int quantum = INT_MAX;
    for (size_t q = 0; q < terms.right.size(); ++q) {
      const double x = terms.left[terms.sparse ? static_cast<size_t>(terms.nonzero[q]) : q], y = terms.right[q];
      if (x != 0 && y != 0) quantum = std::min(quantum, quantum_of(x) + quantum_of(y));
    }
    return quantum;
  }
  bool is_tie(const NearTie& t) const {
    const double distance = std::fabs(t.value - round_to_bits(t.value, bits_));
    return distance == spacing(t.value, bits_) / 2;
  }

  const KernelContext& ctx_;
  const Table& loops_;
  const std::vector<ProductBlock>& blocks_;
  const double bound_, width_;
  const int bits_;
  std::vector<Whole> whole_;
  std::optional<int> quantum_;
};

}  // namespace

int quantum_of(double x) {
  const uint64_t bits = numerics::bits_of(x), exponent = bits >> 52 & 0x7ff;
  if (exponent == 0 || exponent == 0x7ff) return -1074;
  return static_cast<int>(exponent) - 1075 + std::countr_zero((bits & 0xfffffffffffffull) | (uint64_t{1} << 52));
}

bool adds_exactly(double magnitude, int quantum) {
  return magnitude * (1 + kSlack) <= std::ldexp(1.0, std::min(quantum, 970) + 53);
}

void last_sieve(const KernelContext& ctx, const std::vector<ProductBlock>& blocks, double bound, double width, int bits,
                std::vector<NearTie>& ties) {
  LastSieve{ctx, blocks, bound, width, bits}(ties);
}

}  // namespace isobit::kernels::rounding
