// The operator set as data: for each operator its arity, its shape inference and its traits. One table, filled from
// ops/; autograd/ has the matching table of gradients and the runtime that of kernels. Whoever needs to know something
// of an operator asks for a trait: no list of operator names stands anywhere else.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "isobit/graph/element.h"
#include "isobit/graph/graph.h"

namespace isobit::graph {

// What shape inference sees of a node about to be added, and where it puts the types of the outputs.
class InferContext {
 public:
  struct Type {
    DType dtype = DType::kFloat32;
    std::vector<int64_t> dims;
  };

  // outputs: their names, "" for an absent one.
  InferContext(const Graph& graph, const std::vector<ValueId>& inputs, const Attributes& attributes,
               const std::vector<std::string>& outputs);

  int input_count() const { return static_cast<int>(inputs_.size()); }
  bool has_input(int i) const { return i < input_count() && inputs_[static_cast<size_t>(i)] != kNoValue; }
  // Its rank is known, but for an operator that runs graphs (OpDef::runs_graphs): of a value of unknown rank, inference
  // is asked for every rank (infer.h).
  const Value& input(int i) const { return *values_[static_cast<size_t>(i)]; }
  const std::vector<int64_t>& dims(int i) const { return input(i).dims; }
  int64_t dim(int i, int axis) const;  // negative axes count from the end
  int rank(int i) const { return static_cast<int>(dims(i).size()); }
  // The constant behind an input (an ONNX shape, axes ... operand), or null: it is absent, or not known before the run.
  // What is asked for is a constant by the time that the kernel is bound: a node whose operand is none waits for it
  // (Node::awaits).
  const Tensor* constant(int i) const;
  // The same for what the kernel does not need to be bound with.
  const Tensor* constant_if_known(int i) const;
  const Attributes& attributes() const { return attributes_; }
  int output_count() const { return static_cast<int>(outputs_.size()); }
  bool has_output(int i) const { return i < output_count() && !names_[static_cast<size_t>(i)].empty(); }
  // Sets the type of output i; asking for one the node does not have is allowed and does nothing. A dimension of -1 is
  // not known, nor are any with kUnknownRank for dims.
  void set_output(int i, DType dtype, std::vector<int64_t> dims);
  const std::vector<Type>& outputs() const { return outputs_; }
  // Inputs whose constants were asked for and that are none.
  const std::vector<int>& awaits() const { return awaits_; }
  // Input i is this one from now on, as far as type and shape go.
  void assume(int i, const Value& value) { values_[static_cast<size_t>(i)] = &value; }

  // Checks with messages that name the input.
  Status expect_rank(int i, int rank) const;
  Status expect_float(int i) const;
  Status expect_integer(int i) const;
  Status expect_type(int i, DType dtype) const;
  // FloatTypes{}, IntegerTypes{} ...
  template <class... T>
  Status expect_one_of(int i, Types<T...> types) const {
    if (types.contains(input(i).dtype)) return {};
    return other_type(i, {dtype_of<T>()...});
  }
  Status expect_like(int i, int j) const;  // type and shape
  Status expect_dims(int i, const std::vector<int64_t>& dims) const;
  // The type of input j, and these dimensions.
  Status expect_like(int i, int j, const std::vector<int64_t>& dims) const;
  // Present attributes have the asked type, and there is no other one.
  Status expect_attributes(std::initializer_list<std::pair<const char*, size_t>> name_and_variant_index) const;

 private:
  Status other_type(int i, std::initializer_list<DType> wanted) const;

  const Graph& graph_;
  const std::vector<ValueId>& inputs_;
  const Attributes& attributes_;
  const std::vector<std::string>& names_;
  std::vector<const Value*> values_;  // by input
  std::vector<Type> outputs_;
  mutable std::vector<int> awaits_;
};

using InferRule = std::function<Status(InferContext&)>;

// A value that an operator computes on its way, of the type of its input 0, and that many elements of its outputs need.
// With the statistics of its node, every element of an output follows from the inputs alone, without the other
// elements.
struct Statistic {
  std::string name;
  std::vector<int64_t> dims;
  int output = -1;  // the output that it becomes when no stage changes that; -1: none
  // Which elements one of its own is made of, statistics before it among them.
  SourceRule sources = {};
  std::vector<SourceRule> guides = {};  // as OutputDef::guides
  SourceRange range = {};               // the sources by number, where there may be very many
};

// Attributes for a graph in which every value of type `from` is of type `to` instead.
using RetypeRule = std::function<Attributes(Attributes attributes, DType from, DType to)>;

using StatisticsRule = std::function<std::vector<Statistic>(const Graph&, const Node&)>;

// What one element of an output is: by it somebody who does not run graphs can judge an element alone. Operators that
// are written as others (expansions/) have the rules of those.
enum class ElementRule : uint8_t {
  kNone,          // not said
  kMoved,         // an element of an input, or zero; which one does not depend on real values
  kPointwise,     // a formula of at most one element of each input
  kSum,           // the sum or the mean of some elements of an input, each perhaps scaled by others
  kMaximum,       // the largest of some elements of an input
  kMinimum,       // the least of some elements of an input
  kRanked,        // the one of some elements of an input that has so many larger ones, or so many smaller ones
  kPlace,         // an integer: where the largest of some elements is, or the least, or the one of some rank
  kProduct,       // the product of some elements of the inputs, in a written order
  kInnerProduct,  // the sum of products of elements of inputs 0 and 1, and of an element of input 2 if there is one
  kStatistics,    // a formula, or a sum of formulas, of elements and of the node's statistics (statistics_of)
  kFormula,       // a formula of some elements of the inputs in a written order, which its kernel's contract has
  kSampled,       // made of some elements of input 0, each scaled; which ones and how much, others and attributes say
  kWhole,         // none of these: an element is judged by computing the whole node
};

// How the operands of an inner product are laid out.
enum class ProductForm : uint8_t {
  kNone,  // no inner product
  kMatmul,
  kGemm,
  kConv,
  kConvGradSrc,
  kConvGradWeights,
  kConvTranspose,  // as kConvGradSrc, of the windows that its own attributes say
};

// Some of a node's inputs, by number.
struct InputSet {
  bool all = false;
  std::vector<int> some = {};

  bool contains(size_t input) const;
  bool empty() const { return !all && some.empty(); }
};

// What is known of one output. The defaults claim nothing: it follows from every input, and no element is known to be
// moved.
struct OutputDef {
  ElementRule rule = ElementRule::kNone;
  // Nothing else reaches its bits, but for the platform where the operator depends on it.
  InputSet follows_from = {.all = true};
  // Every element is an element of these inputs, perhaps with another sign, or a zero, so that it is rounded where
  // they are. Empty: this is not known.
  InputSet moved_from = {};
  bool takes_each_once = false;  // no element of `moved_from` comes twice
  // Which elements it is made of: always, but of kSampled, kWhole and kNone, and of kMaximum where real numbers say
  // where. Of those that are missing the formula says it (runtime/element_formula.h).
  SourceRule sources = {};
  SourceRange range = {};          // the same by number, where there may be very many
  std::string whole_because = {};  // of kWhole: why an element cannot be judged alone
  // Elements that say which ones `sources` are: indices, conditions, coordinates. Stage by stage: which ones a stage
  // has may follow from those of the stages before it.
  std::vector<SourceRule> guides = {};
  // Inputs that say so as a whole: whoever asks for `sources` has all of them. Beside these, an input that is a
  // constant of the graph may be looked at.
  InputSet whole = {};
};

inline constexpr const char* kFirstDraw = "first";  // an integer; 0 where it is not said

struct OpDef {
  std::string name;
  int min_inputs = 1;
  int max_inputs = 1;
  // Those that a node may lack, with others behind them or without. Any other input that it has is there.
  InputSet optional_inputs = {};
  int min_outputs = 1;  // the first ones, which a node always has
  int max_outputs = 1;
  bool more_outputs_like_last = false;  // `outputs` describes the first ones; the others are like the last of them
  InferRule infer;
  StatisticsRule statistics = {};  // empty: it has none
  std::vector<OutputDef> outputs = {};

  // Our own kernels compute every output, to the same bits on every platform. False where an arithmetic's platform
  // brings part of the result, and of everything that nobody has looked at.
  bool platform_independent = false;
  // Not kNone: output 0 is inner products, which arithmetics and platforms bring (kernels/inner_products.h).
  ProductForm product = ProductForm::kNone;
  // There are float32 and float64 kernels, and the types of the outputs follow from those of the inputs, so that a
  // graph can be computed in another type (passes/retype.h).
  bool any_real_type = false;
  // Of an operator with an attribute that says the type of its outputs: what its attributes are in a graph that is
  // computed in another type. Empty: they stay.
  RetypeRule retyped = {};
  bool updates_state = false;  // an optimizer: input 0 is a parameter, output 0 what becomes of it
  // A random number goes into each element of input 0, keyed by kFirstDraw plus the element's number: a part of a batch
  // draws what the whole one does there, if that attribute says how many elements of the whole lie before it.
  bool draws_by_element = false;
  // Attributes hold graphs that it runs. What is said of it here holds as far as it does for every node of theirs.
  bool runs_graphs = false;

  const OutputDef& output(size_t o) const;  // the safe one where nothing is said
  bool is_inner_product() const { return product != ProductForm::kNone; }
  // Whether inputs and outputs of rank 3 and more are matrices in their last two axes.
  bool on_matrices() const { return product == ProductForm::kMatmul; }
  // Whether every output follows from the types of the inputs, and their elements need not be there.
  bool follows_from_shape() const;
  // Whether no output needs rounding where the inputs are rounded: each is moved, or a place.
  bool only_moves_values() const;
};

// The statistics of a node of the graph, in the order in which each may need those before it.
std::vector<Statistic> statistics_of(const Graph& graph, const Node& node);

// Null when there is no such operator.
const OpDef* find_op(const std::string& name);
// Of a node that a graph accepted.
const OpDef& op_of(const Node& node);
std::vector<std::string> op_names();  // sorted
// As jobs and reports spell an operator: without the prefix of our own.
std::string short_name(const std::string& op);

// NumPy broadcasting of two shapes; -1 (unknown) meets 1 and unknown only as unknown.
Expected<std::vector<int64_t>> broadcast_dims(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

// Axis in -rank..rank-1 made non-negative.
Expected<int64_t> normalized_axis(int64_t axis, int rank);

// Kernels take tensors of so many axes at most, and no node makes one of more.
inline constexpr int64_t kMostAxes = 64;
Status check_axes(int64_t rank);

}  // namespace isobit::graph
