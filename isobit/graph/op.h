// The operator set: for each operator its arity and its shape inference. One table, filled from ops/; autograd/ has
// the matching table of gradients and the runtime that of kernels.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::graph {

// What shape inference sees of a node about to be added, and where it puts the types of the outputs.
class InferContext {
 public:
  struct Type {
    DType dtype = DType::kFloat32;
    std::vector<int64_t> dims;
  };

  InferContext(const Graph& graph, const std::vector<ValueId>& inputs, const Attributes& attributes, int outputs)
      : graph_(graph), inputs_(inputs), attributes_(attributes), outputs_(static_cast<size_t>(outputs)) {}

  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const { return i < input_count() && inputs_[static_cast<size_t>(i)] != kNoValue; }
  const Value& input(int i) const { return graph_.value(inputs_[static_cast<size_t>(i)]); }
  const std::vector<int64_t>& dims(int i) const { return input(i).dims; }
  int64_t dim(int i, int axis) const;  // negative axes count from the end
  int rank(int i) const { return static_cast<int>(dims(i).size()); }
  // The constant behind an input (an ONNX shape, axes ... operand), or null.
  const Tensor* constant(int i) const { return graph_.initializer(inputs_[static_cast<size_t>(i)]); }
  const Attributes& attributes() const { return attributes_; }
  int output_count() const { return static_cast<int>(outputs_.size()); }
  // Sets the type of output i; asking for one the node does not have is allowed and does nothing.
  void set_output(int i, DType dtype, std::vector<int64_t> dims);
  const std::vector<Type>& outputs() const { return outputs_; }

  // Checks with messages that name the input.
  Status expect_rank(int i, int rank) const;
  Status expect_float(int i) const;
  Status expect_integer(int i) const;
  Status expect_same_shape(int i, int j) const;
  Status expect_dims(int i, const std::vector<int64_t>& dims) const;
  // Present attributes have the asked type.
  Status expect_attributes(std::initializer_list<std::pair<const char*, size_t>> name_and_variant_index) const;

 private:
  const Graph& graph_;
  const std::vector<ValueId>& inputs_;
  const Attributes& attributes_;
  std::vector<Type> outputs_;
};

using InferRule = std::function<Status(InferContext&)>;

// A value that an operator computes on its way, of the type of its input 0, and that many elements of its outputs need.
// With the statistics of its node, every element of an output follows from the inputs alone, without the other
// elements.
struct Statistic {
  std::string name;
  std::vector<int64_t> dims;
  int output = -1;  // the output that it becomes when no stage changes that; -1: none
};

using StatisticsRule = std::function<std::vector<Statistic>(const Graph&, const Node&)>;

struct OpDef {
  std::string name;
  int min_inputs = 1;
  int max_inputs = 1;
  int max_outputs = 1;
  InferRule infer;
  StatisticsRule statistics = {};  // empty: each element of an output is one sum, maximum or formula of inputs
  bool matrices = false;           // inputs and outputs of rank 3 and more are matrices in their last two axes
};

// The statistics of a node of the graph, in the order in which each may need those before it.
std::vector<Statistic> statistics_of(const Graph& graph, const Node& node);

// Null when there is no such operator.
const OpDef* find_op(const std::string& name);
std::vector<std::string> op_names();  // sorted

// NumPy broadcasting of two shapes; -1 (unknown) meets 1 and unknown only as unknown.
Expected<std::vector<int64_t>> broadcast_dims(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// Axis in -rank..rank-1 made non-negative.
Expected<int64_t> normalized_axis(int64_t axis, int rank);

}  // namespace isobit::graph
