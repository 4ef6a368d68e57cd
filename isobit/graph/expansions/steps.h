// Writing a node of a model as several: the checks before, the nodes one after another, their names.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "isobit/graph/op.h"

namespace isobit::graph::expansions {

using Values = std::vector<ValueId>;

class Steps {
 public:
  // A node with these inputs (kNoValue: absent), attributes and names of outputs ("": absent), all of which outlive
  // this.
  Steps(Graph& graph, const Values& inputs, const Attributes& attributes, const std::vector<std::string>& outputs)
      : graph_(graph), inputs_(inputs), attributes_(attributes), outputs_(outputs) {}

  // Comes first. Errors: another number of inputs or outputs, one of the first `least` inputs or output 0 absent, an
  // attribute that is not named here or of another type (InferContext::expect_attributes).
  Status expect(int least, int most, int most_outputs,
                std::initializer_list<std::pair<const char*, size_t>> attributes) const;

  Graph& graph() { return graph_; }
  const Attributes& attributes() const { return attributes_; }
  bool has(int i) const;  // input i
  ValueId input(int i) const { return has(i) ? inputs_[static_cast<size_t>(i)] : kNoValue; }
  const Values& inputs() const { return inputs_; }
  // Of input i, or of any value; until the next node is added.
  const Value& value_of(int i) const { return graph_.value(input(i)); }
  const Value& value(ValueId id) const { return graph_.value(id); }
  // The rank of input i. Errors: it is not known.
  Expected<int> rank_of(int i) const;
  bool has_output(int o) const { return !output_name(o).empty(); }
  std::string output_name(int o) const;

  // One more node with one output, which is named after output 0 and the operator.
  Expected<ValueId> add(const std::string& op, Values inputs, Attributes attributes = {});
  // The node whose output is output o itself.
  Expected<ValueId> add_output(int o, const std::string& op, Values inputs, Attributes attributes = {});
  // One with several outputs, all named like that of add(); the first is output 0 where this is asked for.
  Expected<Values> add_all(const std::string& op, Values inputs, Attributes attributes, int outputs, bool is_output);
  // A constant scalar of the real type of `like`.
  ValueId constant(ValueId like, double x);
  // `id` in this type.
  Expected<ValueId> converted(ValueId id, DType to);
  // `id` under the dimensions of `like`. `first_kept`: the first ones are the same already.
  Expected<ValueId> reshaped_like(ValueId id, ValueId like, bool first_kept, bool is_output);

 private:
  std::string inner_name(const std::string& op) const { return output_name(0) + "/" + op; }

  Graph& graph_;
  const Values& inputs_;
  const Attributes& attributes_;
  const std::vector<std::string>& outputs_;
};

}  // namespace isobit::graph::expansions
