// One side of a product as integers: its lines scaled by powers of two, rounded, and their residues in panels of int8
// numbers. Internal.
//
// Line i is 2^-s_i (A + r): A integers, r what rounding took, exactly. s_i is the largest with |A| <= R, the largest
// norm that moduli.h allows; |r_l| <= 1/2, so |r| is below 2^-21 |A| for any k < 2^31. The elements that rounding took
// something of are kept, up to a number for each line: few where a line's range is that of trained values.
#pragma once

#include <cstdint>
#include <vector>

#include "isobit/kernels/correct/integer/moduli.h"
#include "isobit/kernels/correct/integer/table.h"
#include "isobit/kernels/correct/source.h"

namespace isobit::kernels::correct::integer {

// What rounding took of element l of a line: 2^-s r_l, a float32 value.
struct Rest {
  int32_t line;  // of its panel
  int32_t l;
  float value;
};

class IntegerSide {
 public:
  enum class Which { kLeft, kRight };
  explicit IntegerSide(Which which) : right_(which == Which::kRight) {}

  // A new product: forgets all lines.
  void start(const Source& source, int64_t k, double* block, int64_t block_terms);
  // Lines [first, last): their norms. Nothing where they are the present ones.
  void take(const CorrectContext& ctx, int64_t first, int64_t last);
  // A few lines, as they would be at this number of moduli, by the terms that are laid out and as many like them:
  // |r| 2^-s, 2^-s, and the norm. Without those that are zero or not finite. REQUIRES take().
  struct Sampled {
    int64_t line;
    double norm, rest_norm, unit;
  };
  std::vector<Sampled> sampled(const Moduli& moduli) const;
  // Element l of a line. REQUIRES that it is laid out, in laid().
  double element(int64_t line, int64_t l) const {
    return laid_.source->k_contiguous() ? laid_.block[line * laid_.ld() + l - laid_.l0]
                                        : laid_.block[(l - laid_.l0) * laid_.ld() + line];
  }
  // Chooses the exponents of all lines.
  void scale(const Moduli& moduli);
  // Terms [l0, l1) as residues. In ascending order from l0 = 0; one block where block_terms hold all.
  void convert(const CorrectContext& ctx, const Table& loops, const Moduli& moduli, int64_t l0, int64_t l1);
  // After the last block.
  void finish(ThreadPool& pool);

  const LaidOut& laid() const { return laid_; }
  int64_t count() const { return laid_.count(); }
  int64_t blocks() const { return (count() + kBlock - 1) / kBlock; }  // of lines
  int64_t panel() const { return steps_ * kTile; }                    // bytes
  int64_t steps() const { return steps_; }
  // Of the terms converted last, modulo p_s: panels one after another.
  const int8_t* residues(int modulus) const { return bytes() + modulus * 2 * blocks() * panel(); }

  // By line, counted from the first. exponent: s_i. Norms and rests are upper bounds, infinite or NaN for a line that
  // is not finite, whose integers are all zero.
  int exponent(int64_t line) const { return exponents_[static_cast<size_t>(line)]; }
  const double* units() const { return units_.data(); }  // 2^-s_i; 0 where all elements are zero, or not finite
  const double* norms() const { return norms_.data(); }
  const double* rest_norms() const { return rest_norms_.data(); }
  // Whether rests() has all that rounding took of the line.
  bool has_all_rests(int64_t line) const { return rest_counts_[static_cast<size_t>(line)] <= most_rests_; }
  // In ascending order of l. REQUIRES finish(), has_all_rests(line).
  const Rest* rests_begin(int64_t line) const { return rests_of(line) + starts_[static_cast<size_t>(line)]; }
  const Rest* rests_end(int64_t line) const { return rests_begin(line) + rest_counts_[static_cast<size_t>(line)]; }

 private:
  struct alignas(64) Chunk {
    int8_t bytes[64];
  };
  const int8_t* bytes() const { return memory_.empty() ? nullptr : memory_[0].bytes; }
  const Rest* rests_of(int64_t line) const { return rests_[static_cast<size_t>(line / kPanel)].data(); }
  void gather(int64_t panel, int64_t l, double* tile) const;
  void note_rests(int64_t panel, int64_t l, const double* rests);

  const bool right_;
  LaidOut laid_;
  int64_t k_ = 0, block_terms_ = 0, steps_ = 0;
  int64_t most_rests_ = 0;
  int converted_for_ = 0;  // all terms, at this number of moduli; 0: not
  bool finished_ = false;
  std::vector<double> norms_, scales_, units_, rest_norms_;  // scales: 2^s_i or 0
  std::vector<int> exponents_;
  std::vector<int64_t> rest_counts_, starts_;
  std::vector<std::vector<Rest>> rests_;  // by panel
  std::vector<Chunk> memory_;
};

}  // namespace isobit::kernels::correct::integer
