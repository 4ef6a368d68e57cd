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
    kReal,       // numbers of both signs, no magnitude twice
    kPositive,   // positive numbers, none twice
    kIndex,      // int64, below `below`
    kGiven,      // int64, these
    kRate,       // a float64 scalar between 0 and 1, whatever the type of the others
    kInteger,    // int64, `below` of them from `given` on; any other number would do as well
    kTruth,      // bool
    kParameter,  // int64, these: shapes follow from them, and not every number makes one
    kAbsent,     // the node does not have this input; what is fed for it goes nowhere
    kTwice,      // as kReal, but every number comes twice, the second time right behind the first
    kBool,       // true and false by turns
    kSpecial,    // as kReal, but some are NaN or infinite
    kNumbers,    // of `dtype`, these; no places of anything
    kByte,       // int8 or uint8, by `dtype`, below `below`
    kWide,       // as kReal, but of all magnitudes, with as many bits as the type has; some may come twice
  };
  Kind kind = Kind::kReal;
  std::vector<int64_t> dims;
  int64_t below = 0;
  std::vector<int64_t> given = {};
  DType dtype = DType::kInt64;

  bool is_real() const {
    return kind == Kind::kReal || kind == Kind::kPositive || kind == Kind::kSpecial || kind == Kind::kTwice ||
           kind == Kind::kWide;
  }
};

struct OperatorCase {
  std::string op;
  std::vector<CaseOperand> operands;
  graph::Attributes attributes = {};
  int outputs = 0;  // of the node; 0: all that the operator has
};

// Operands of these kinds.
CaseOperand real(std::vector<int64_t> dims);
CaseOperand positive(std::vector<int64_t> dims);
CaseOperand index(std::vector<int64_t> dims, int64_t below);
CaseOperand given(std::vector<int64_t> dims, std::vector<int64_t> values);
CaseOperand rate();
CaseOperand integer(std::vector<int64_t> dims, int64_t below, int64_t from = 0);
CaseOperand truth(std::vector<int64_t> dims);
CaseOperand parameter(std::vector<int64_t> values);  // a list of them
CaseOperand absent();
CaseOperand twice(std::vector<int64_t> dims);
CaseOperand boolean(std::vector<int64_t> dims);
CaseOperand special(std::vector<int64_t> dims);
CaseOperand numbers(std::vector<int64_t> dims, std::vector<int64_t> values, DType dtype);
CaseOperand bytes(std::vector<int64_t> dims, DType dtype, int64_t below = 4);
CaseOperand wide(std::vector<int64_t> dims);

// Of the families; each is in a file of its own.
void add_slicing_cases(std::vector<OperatorCase>& cases);
void add_indexing_cases(std::vector<OperatorCase>& cases);
void add_control_cases(std::vector<OperatorCase>& cases);
void add_reductions_cases(std::vector<OperatorCase>& cases);
void add_elementwise_cases(std::vector<OperatorCase>& cases);
void add_windows_cases(std::vector<OperatorCase>& cases);
void add_composite_cases(std::vector<OperatorCase>& cases);

const std::vector<OperatorCase>& operator_cases();
std::string name_of_case(const ::testing::TestParamInfo<OperatorCase>& info);

// A graph of one node with every output that the case asks for, real operands in the type `dtype`, and tensors to feed.
struct OneOperator {
  graph::Graph graph;
  std::vector<Tensor> feeds;  // by input

  OneOperator(const OperatorCase& c, DType dtype, uint64_t seed = 1);
  const graph::Node& node() const { return graph.nodes()[0]; }
  const graph::OpDef& def() const { return graph::op_of(node()); }
  // Of fresh copies of the feeds; by output.
  std::vector<Tensor> run(const kernels::KernelContext& ctx) const;
};

// Other values of the same kind. Those that are given stay.
Tensor values_of(const CaseOperand& operand, DType dtype, uint64_t seed);

}  // namespace isobit::runtime
