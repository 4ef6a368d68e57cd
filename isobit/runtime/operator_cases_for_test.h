// Small examples of every operator, for tests that walk the operator set: each operator has one at least.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/kernels/context.h"

namespace isobit::runtime {

struct CaseOperand {
  enum class Kind {
    kReal,      // numbers of both signs, no magnitude twice
    kPositive,  // positive numbers, none twice
    kIndex,     // int64, below `below`
    kGiven,     // int64, these
    kRate,      // a float64 scalar between 0 and 1, whatever the type of the others
  };
  Kind kind = Kind::kReal;
  std::vector<int64_t> dims;
  int64_t below = 0;
  std::vector<int64_t> given = {};

  bool is_real() const { return kind == Kind::kReal || kind == Kind::kPositive; }
};

struct OperatorCase {
  std::string op;
  std::vector<CaseOperand> operands;
  graph::Attributes attributes = {};
};

// Of the families; each is in a file of its own.
void add_composite_cases(std::vector<OperatorCase>& cases);

const std::vector<OperatorCase>& operator_cases();
std::string name_of_case(const ::testing::TestParamInfo<OperatorCase>& info);

// A graph of one node with every output that the operator has, real operands in the type `dtype`, and tensors to feed.
struct OneOperator {
  graph::Graph graph;
  std::vector<Tensor> feeds;  // by input

  OneOperator(const OperatorCase& c, DType dtype, uint64_t seed = 1);
  const graph::Node& node() const { return graph.nodes()[0]; }
  const graph::OpDef& def() const { return graph::op_of(node()); }
  // Of fresh copies of the feeds; by output.
  std::vector<Tensor> run(const kernels::KernelContext& ctx) const;
};

// Other values of the same kind. REQUIRES no CaseOperand::Kind::kGiven.
Tensor values_of(const CaseOperand& operand, DType dtype, uint64_t seed);

}  // namespace isobit::runtime
