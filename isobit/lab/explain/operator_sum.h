// A sum that an operator computes, asked of the operator itself: one element of its output, with all other operands 0.
#pragma once

#include "isobit/lab/explain/operator_call.h"
#include "isobit/lab/reveal/summation.h"

namespace isobit::lab::explain {

// What an element of output 0 is the sum of, by graph::SourceRule: elements of operand 0, of an inner product each
// times one of operand 1, and perhaps an element of operand 2 on top.
struct SumPlace {
  int64_t element = 0;
  std::vector<int64_t> terms = {};
  std::vector<int64_t> weights = {};  // of an inner product, as many as terms; else empty
  std::optional<int64_t> added = {};
  bool operator==(const SumPlace&) const = default;
};

// Whether output 0 is float32 sums of operands that are fed.
bool is_sum(const OperatorCall& call);
// REQUIRES is_sum(). None where the element is made of anything else.
std::optional<SumPlace> sum_place(const OperatorCall& call, int64_t element);
// Elements that are sums of so many terms, all over the output; at most `most`.
std::vector<SumPlace> sum_places(const OperatorCall& call, size_t terms, size_t most);
// Of the elements in which two outputs differ, one of the most terms; none where none is a sum of two terms or more.
// REQUIRES is_sum(), and float32 outputs of its shape.
std::optional<SumPlace> differing_place(const OperatorCall& call, const Tensor& a, const Tensor& b);

// What an element is times a sum: 1, or 1/n of a mean. none: neither.
std::optional<int64_t> divisor_of(OperatorRun& run, const OperatorCall& call, const SumPlace& place);

class OperatorSum final : public reveal::Summation {
 public:
  // Of a sum, or a mean of `divisor` terms: results are then times that. Refers to all of its arguments.
  OperatorSum(OperatorRun& run, const OperatorCall& call, const SumPlace& place, int64_t divisor = 1);
  int64_t terms() const override { return static_cast<int64_t>(place_->terms.size()); }
  reveal::Format format() const override { return reveal::Format::kFloat32; }
  Status sums(int64_t count, const double* terms, double* results) override;
  bool has_weights() const override { return !place_->weights.empty(); }
  Status weigh(const double* weights) override;

 private:
  OperatorRun* run_;
  const SumPlace* place_;
  const double divisor_;
  std::vector<Tensor> inputs_;  // of the call
};

}  // namespace isobit::lab::explain
