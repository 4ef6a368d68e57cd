// Inner products whose forward convolutions are computed by another algorithm than the platform's own: by one that was
// asked for, or by the one that won a race. Everything else, gradients included, is the platform's own.
//
// The race is the one-shot autotuner of common frameworks (cuDNN's "find", torch.backends.cudnn.benchmark): when a
// shape is seen for the first time, every candidate that computes it runs once, in a fixed order, under a clock; the
// fastest (of equals, the first) computes that shape from then on. Nothing is warmed up and nothing is timed twice, as
// there. Which one wins follows from what else the machine was doing, so that the bits of a process need not be those
// of the next; within a process they stay. The platform's own is the first candidate.
//
// Determinism class: of AskedFor, its algorithm's where that computes the shape, else the platform's. Of Fastest: none
// from process to process; given the clock's answers, a function of them and of the candidates'.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "isobit/kernels/inner_products.h"
#include "isobit/kernels/vendor/algorithms/algorithm.h"

namespace isobit::kernels::algorithms {

inline constexpr const char* kOwn = "own";  // the name of the platform's own algorithm among others

struct Candidate {
  std::string name;
  std::unique_ptr<Algorithm> algorithm;
};

class OverOwn : public InnerProducts<float> {
 public:
  Status matmul(const MatmulArgs<float>& args) final { return own_->matmul(args); }
  Status conv_grad_src(const ConvShape& shape, const float* diff_dst, const float* weights, float* diff_src) final {
    return own_->conv_grad_src(shape, diff_dst, weights, diff_src);
  }
  Status conv_grad_weights(const ConvShape& shape, const float* src, const float* diff_dst, float* diff_weights) final {
    return own_->conv_grad_weights(shape, src, diff_dst, diff_weights);
  }
  ConvKernel last_conv_forward() const final { return last_; }

 protected:
  // REQUIRES own not null.
  explicit OverOwn(std::unique_ptr<InnerProducts<float>> own);
  Status run_own(const Call& call);

  ConvKernel last_;

 private:
  std::unique_ptr<InnerProducts<float>> own_;
};

// Shapes that the algorithm refuses are the platform's own; last_conv_forward() says so, and why.
class AskedFor final : public OverOwn {
 public:
  AskedFor(std::unique_ptr<InnerProducts<float>> own, Candidate candidate);
  Status conv_forward(const ConvShape& shape, const float* src, const float* weights, const float* bias,
                      float* dst) override;

 private:
  Candidate candidate_;
};

// Seconds since whenever; asked before and after each run of a candidate.
using Clock = std::function<double()>;

class Fastest final : public OverOwn {
 public:
  // Shapes that are remembered; when another one comes, all are forgotten and raced again when they return.
  static constexpr size_t kMostShapes = 4096;

  // REQUIRES a clock.
  Fastest(std::unique_ptr<InnerProducts<float>> own, std::vector<Candidate> candidates, Clock clock);
  Status conv_forward(const ConvShape& shape, const float* src, const float* weights, const float* bias,
                      float* dst) override;

 private:
  struct Run {
    size_t candidate;  // 0: own
    double seconds;
  };
  struct Winner {
    size_t candidate = 0;
    std::vector<Run> runs;  // in the order of the race
  };
  using Key = std::array<int64_t, 18>;
  static Key key_of(const Call& call);
  const std::string& name_of(size_t candidate) const;
  Status run(size_t candidate, const Call& call);
  Status race(const Call& call, Winner& winner);
  std::string told(const Winner& winner) const;

  std::vector<Candidate> candidates_;
  Clock clock_;
  std::map<Key, Winner> winners_;
  const std::string own_name_ = kOwn;
};

}  // namespace isobit::kernels::algorithms
