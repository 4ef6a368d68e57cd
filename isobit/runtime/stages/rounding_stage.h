// The rounding that logged arithmetic does to every operator's outputs, and what follows from it.
//
// Operators compute in float64; every real output, forward, backward and of the optimizer, becomes the nearest float32
// with `bits` bits (kernels/rounding/round_to_bits.h) before anything reads it, of kernels that finish while it lies in
// cache. Outputs that are copies of values already rounded (views, moves, maxima, ReLU and its gradient) are left
// alone. Of inner products, zeros are +0.
//
// Where two platforms' float64 results of one inner product lie on two sides of a rounding boundary they round apart.
// That is what the logs are for; this stage alone keeps none (arithmetic `rounded`).
// Source: M. Srivastava, S. Arora and D. Boneh, Optimistic verifiable training by controlling hardware nondeterminism,
// NeurIPS 2024, section 5.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "isobit/kernels/elements.h"
#include "isobit/log/step_log.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/stages/extents.h"
#include "isobit/runtime/stages/inner_product.h"
#include "isobit/runtime/stages/legality.h"

namespace isobit::runtime {

// 2 gamma_(k+2) in units of 2^-53 times the magnitude: how far classical sums of k products and a bias can lie apart.
double sound_divergence(int64_t k);

// The largest divergence that a job may name: the sound one of sums of kMostTerms (2^26) products, but for 5 units.
inline constexpr double kMostDivergence = 0x1p27;

// Everything that the job says about rounding.
struct RoundingRules {
  int bits = 32;
  log::Kind log = log::Kind::kSparse;
  bool sound = false;                         // bound = "sound", else "calibrated"
  double divergence = 32;                     // in units of 2^-53 times the magnitude of the output (near_ties.h)
  std::map<std::string, double> divergences;  // by operator, without the prefix "isobit."
  double threshold = 0.25;
  std::map<std::string, double> thresholds;
  bool distance = true;  // ovt: decisions of inner products obey the bounds above, as entries of sparse do

  // Of sums of k products. Sound: the divergence is the sound one. Calibrated: what the job says, but never more than
  // the sound one.
  ErrorBounds bounds_of(const std::string& op, int64_t k) const;
  // The share of the spacing of rounded values beyond which ovt writes a decision down.
  double threshold_of(const std::string& op) const;
};

// The outputs that a log of this kind speaks of: sparse, output 0 of inner products; ovt, every rounded output.
std::vector<log::LoggedOutput> logged_outputs(const graph::Graph& graph, log::Kind kind);

// The outputs of one call that are rounded piece by piece, as their elements come.
class RoundedPieces final : public kernels::Finisher {
 public:
  explicit RoundedPieces(int bits) : bits_(bits) {}
  // Of the call before nothing is known any more, and of this one nothing is rounded yet.
  void begin(kernels::Isa isa) {
    loops_ = &kernels::rounding::table_of(isa);
    outputs_.clear();
  }
  void take(size_t output, Tensor& tensor, bool with_extent);
  bool takes_any() const { return !outputs_.empty(); }
  void end() { outputs_.clear(); }
  void finish(int64_t n, int64_t begin, int64_t end) override;
  // What has been rounded of an output: all of it, with its extent if that was wanted, or (null) nothing.
  const kernels::rounding::Extent* rounded(size_t output) const;

 private:
  struct Output {
    size_t index;
    double* data;
    int64_t elements, finished;
    bool with_extent;
    kernels::rounding::Extent extent;
  };
  const int bits_;
  const kernels::rounding::Table* loops_ = nullptr;
  std::vector<Output> outputs_;
  std::mutex merging_;
};

class RoundingStage : public Stage {
 public:
  explicit RoundingStage(int bits) : bits_(bits), pieces_(bits) {}
  void begin_run(const graph::Graph& graph) override {
    extents_.begin(graph);
    pieces_.end();
  }
  kernels::Finisher* finisher(KernelCall& call) override;
  Status apply(size_t index, KernelCall& call) override;
  // REQUIRES no inner product: what was decided of it is not kept.
  Status apply_again(size_t index, KernelCall& call) final;
  int bits() const { return bits_; }

  // For stages that settle inner products themselves, in place of apply():
  // round_decided of near_ties.h, with what is known of the operands.
  std::vector<kernels::rounding::NearTie> round_decided_outputs(KernelCall& call,
                                                                std::vector<kernels::rounding::ProductBlock>& blocks,
                                                                double width);
  // Sets an output, after the above, to a value that need not lie within that width.
  void set_output(KernelCall& call, uint64_t position, double value);

 protected:
  int bits_;

 private:
  // Rounds an output whose value depends on no platform, or on nothing that is logged.
  void round_output(KernelCall& call, int output);

  Extents extents_;
  RoundedPieces pieces_;
};

}  // namespace isobit::runtime
