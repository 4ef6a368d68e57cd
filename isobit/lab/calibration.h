// Measures what a platform makes of inner products, for comparison with other platforms: how far their float64 results
// lie apart, and which of them round apart.
//
// Outputs are rounded as in logged arithmetic, except that a value too close to a boundary for the sound bound to
// decide is rounded from its exact value. So any two platforms with classical sums see the same operands, to the bit,
// however many steps they take; a digest of the operands shows whether they did. Nothing that they disagree on is
// missed: results can lie on two sides of a boundary only within the sound bound of it, and all of those are recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/runtime/executor.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/runtime/stages/rounding_stage.h"

namespace isobit::lab {

// An output drawn at random. Platforms that saw the same operands drew the same ones, and have all but `value` alike.
struct CalibrationSample {
  uint64_t position = 0;
  double value = 0;  // float64, not rounded
  double magnitude = 0;
  kernels::rounding::ExactValue exact;
};

// An output that some platform might round the other way.
struct CalibrationTie {
  uint64_t position = 0;
  double value = 0;
};

// One run of one inner product.
struct CalibrationRecord {
  uint64_t pass = 0;  // which run of the graph
  uint32_t node = 0;
  int64_t k = 0;  // terms of a sum
  uint64_t outputs = 0;
  uint64_t operands = 0;                   // digest of the operands' bits
  std::vector<CalibrationSample> samples;  // positions strictly ascending; none of a zero or infinite magnitude
  std::vector<CalibrationTie> ties;        // positions strictly ascending
};

// The rounding that is the same on every platform with classical sums.
class ExactRounding final : public runtime::RoundingStage {
 public:
  explicit ExactRounding(int bits) : RoundingStage(bits) {}
  Status apply(size_t index, runtime::KernelCall& call) override;
  // Of the node that has just run, with the platform's own values: what was rounded from the exact one.
  const std::vector<kernels::rounding::NearTie>& undecided() const { return undecided_; }

 private:
  std::vector<kernels::rounding::NearTie> undecided_;
};

class Calibration final : public runtime::Observer {
 public:
  // rounding: the stage of the runs that are observed; must outlive this. samples: of each inner product's outputs,
  // drawn from the counter-based generator under this seed.
  Calibration(const ExactRounding& rounding, uint64_t seed, uint64_t samples)
      : rounding_(rounding), seed_(seed), samples_(samples) {}
  // Before each run of a graph. `first_node` is added to the index of its nodes.
  void begin(uint64_t pass, size_t first_node = 0) {
    pass_ = pass;
    first_node_ = first_node;
  }
  Status before_stage(const runtime::NodeRun& run) override;
  Status after_stage(const runtime::NodeRun& run) override;
  const std::vector<CalibrationRecord>& records() const { return records_; }

 private:
  std::vector<CalibrationSample> draw(const runtime::NodeRun& run,
                                      const std::vector<kernels::rounding::ProductBlock>& blocks, uint32_t node) const;

  const ExactRounding& rounding_;
  const uint64_t seed_, samples_;
  uint64_t pass_ = 0;
  size_t first_node_ = 0;
  std::vector<CalibrationRecord> records_;
};

}  // namespace isobit::lab
