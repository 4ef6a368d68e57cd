// One side of a product as integers: its lines scaled by powers of two, rounded, and their residues in panels of int8
// numbers. Internal.
//
// Line i is 2^-s_i (A + r): A integers, r what rounding took, exactly. s_i is the largest for which the bound on the
// line's norm, times 2^s_i, is at most R, the largest norm that moduli.h allows; |r_l| <= 1/2, so that |r| is below
// 2^-23 of that bound for any k < 2^31. The bound may be far above the norm (source.h): then r may be all of the line.
// The elements that rounding took something of are kept, up to a number for each line: few where a line's range is that
// of trained values.
#pragma once

#include <cmath>
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
  void start(const Source& source, int64_t k);
  // Lines [first, last): their norms. Nothing where they are the present ones.
  void take(const CorrectContext& ctx, int64_t first, int64_t last);
  // The first terms of a few lines, without those that are zero or not finite. REQUIRES take().
  struct Sampled {
    std::vector<double> line;
    double norm;
  };
  std::vector<Sampled> sampled(const correct::Table& rows) const;
  // Chooses the exponents of all lines.
  void scale(const Moduli& moduli);
  // Terms [l0, l1) as residues. In ascending order from l0 = 0.
  void convert(const CorrectContext& ctx, const Table& loops, const Moduli& moduli, int64_t l0, int64_t l1);
  // After the last block.
  void finish(ThreadPool& pool);

  const LaidOut& laid() const { return laid_; }
  int64_t count() const { return laid_.count(); }
  int64_t blocks() const { return (count() + kBlock - 1) / kBlock; }  // of lines
  int64_t panel() const { return steps_ * kTile; }                    // bytes
  int64_t steps() const { return steps_; }
  // Of the terms converted last, modulo p_s: from a line on that begins a panel.
  const int8_t* lines(int modulus, int64_t line) const {
    return bytes() + (modulus * 2 * blocks() + line / kPanel) * panel();
  }

  // By line, counted from the first. exponent: s_i. Bounds are infinite or NaN for a line that is not finite, whose
  // integers are all zero. Those of rests, and the largest elements, REQUIRE finish().
  int exponent(int64_t line) const { return exponents_[static_cast<size_t>(line)]; }
  const double* units() const { return units_.data(); }  // 2^-s_i; 0 where all elements are zero, or not finite
  const double* norms() const { return norms_.data(); }
  const double* largest() const { return largest_.data(); }
  const double* rest_norms() const { return rest_norms_.data(); }
  const double* rest_sums() const { return rest_sums_.data(); }
  LineBounds bounds(int64_t line) const {
    const auto at = static_cast<size_t>(line);
    return {norms_[at], largest_[at], rest_norms_[at], rest_sums_[at]};
  }
  bool is_finite(int64_t line) const { return std::isfinite(norms_[static_cast<size_t>(line)]); }
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
  void note_rests(int64_t panel, int64_t l, const double* rests, const uint8_t* some);
  void convert_step(const CorrectContext& ctx, const Table& loops, const Moduli& moduli, int64_t begin, int64_t end,
                    int64_t t, int64_t l, double* laid);

  const bool right_;
  LaidOut laid_;
  int64_t k_ = 0, steps_ = 0;
  int64_t most_rests_ = 0;
  int converted_for_ = 0;  // all terms, at this number of moduli; 0: not
  bool finished_ = false;
  std::vector<double> norms_, scales_, units_, largest_, rest_norms_, rest_sums_;  // scales: 2^s_i or 0
  std::vector<int> exponents_;
  std::vector<int64_t> rest_counts_, starts_;
  std::vector<std::vector<Rest>> rests_;  // by panel
  std::vector<Chunk> memory_;
};

// What a line would be at this number of moduli: 2^-s, and about its bounds.
struct Estimate {
  double unit;
  LineBounds bounds;
};
Estimate estimate_of(const IntegerSide::Sampled& line, int64_t k, const Moduli& moduli);

}  // namespace isobit::kernels::correct::integer
