// The import of one model. Internal.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "isobit/onnx/conversion_internal.h"
#include "isobit/onnx/import.h"

namespace isobit::onnx {

// What some outputs of a graph need.
struct Needed {
  std::vector<bool> nodes;  // by place in the graph
  std::unordered_set<std::string> names;
};
Needed needed_for(const GraphDef& graph, const std::vector<std::string>& outputs);

// The functions of a model by what calls them.
class Functions {
 public:
  explicit Functions(const Model& model);
  // Null: the node's operator is no function of the file.
  const FunctionDef* find(const NodeDef& node) const;
  // Whether a function has an attribute of that name, without a value of its own.
  bool declares(const FunctionDef& function, std::string_view attribute) const {
    return declared_.at(&function).contains(attribute);
  }
  const FunctionDef* twice() const { return twice_; }  // one whose name another has, too; null: there is none

 private:
  using Key = std::array<std::string_view, 3>;  // domain, name, overload
  std::map<Key, const FunctionDef*> by_name_;
  std::map<const FunctionDef*, std::unordered_set<std::string_view>> declared_;
  const FunctionDef* twice_ = nullptr;
};

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options);
  Expected<Imported> run();

  const std::string& file() const { return model_.file; }
  const ImportOptions& options() const { return options_; }
  Folder& folder() { return folder_; }
  // `base`, or the same with a number, so that no value of the file has that name.
  std::string free_name(const std::string& base);
  // One more node, of the file or of the graph, in that frame.
  Status count_node(const Frame& frame);
  // So many bytes more are made.
  Status count_bytes(uint64_t bytes);
  // Those of the graph's last nodes and constants, from these numbers on.
  Status count_added(const graph::Graph& graph, size_t first_node, size_t first_constant);
  // What a failure may be due to from then on.
  uint64_t bytes_left() {
    if (options_.lacked_memory != nullptr) *options_.lacked_memory = true;
    return options_.max_bytes - bytes_;
  }

  // Of Form::kTraining: the number of the step, as a value of the main graph, and which one a dropout is.
  Operand step();
  int64_t next_dropout() { return dropouts_++; }
  // What the running statistic is before a node that uses it: what a node before it made of it, if one did.
  Operand running(const Operand& statistic) const;
  // A node uses it; null: and leaves it as it is.
  void note_statistic(const Operand& statistic, const Operand& updated);
  FormReport& report() { return report_; }
  // A node stays as in inference. Graphs of nodes may be gone through twice: it is said once.
  void note_inference(const std::string& node, const std::string& reason);

  // Nodes, in order, in the scope of their body.
  Status add_nodes(Scope& scope, const std::vector<NodeDef>& nodes);
  Status add_initializers(Scope& scope, const GraphDef& graph);
  // A graph within a node: its own inputs have the types of `inputs`. Values of outer graphs that it uses become
  // further inputs in the order of `captured`, which begins with `first_captured`.
  struct Subgraph {
    std::shared_ptr<const graph::Graph> graph;
    Operands captured;  // in the frame of the node
  };
  struct InputType {
    DType dtype;
    std::vector<int64_t> dims;
  };
  Expected<Subgraph> subgraph(Conversion& c, const GraphDef& graph, const std::vector<InputType>& inputs,
                              const Operands& first_captured);
  // The nodes of a graph without inputs in place of the node; what its outputs are.
  Expected<Operands> inlined(Conversion& c, const GraphDef& graph);

 private:
  Status add_node(Scope& scope, const NodeDef& node);
  Status convert(Scope& scope, const NodeDef& node, std::vector<AttributeDef> attributes, int64_t opset,
                 const Row& row);
  Status inline_function(Scope& scope, const NodeDef& node, std::vector<AttributeDef> attributes,
                         const FunctionDef& function);
  Expected<std::vector<AttributeDef>> attributes_of(const Scope& scope, const NodeDef& node) const;
  Expected<InputType> input_type(const ValueDef& input) const;
  Status add_inputs(Scope& scope);
  Expected<Operand> add_input(Scope& scope, const ValueDef& input);
  Status add_needed_nodes(Scope& scope);
  Expected<GraphDef> chosen_outputs() const;
  Imported finished();
  Status add_outputs(Scope& scope, const GraphDef& graph, const std::string& where);
  Status check_opsets() const;

  const Model& model_;
  const ImportOptions& options_;
  const Functions functions_;
  Folder folder_;
  int64_t nodes_ = 0;
  uint64_t bytes_ = 0;
  std::unordered_set<std::string> names_;          // of the file's main graph
  std::unordered_map<std::string, int> numbered_;  // names with numbers that are taken: the first one that is free
  std::optional<Needed> needed_;                   // where outputs are chosen
  Operand step_;
  int64_t dropouts_ = 0;
  std::vector<std::pair<Operand, Operand>> statistics_;  // and what each becomes, null: it stays
  std::unordered_map<const Entry*, size_t> statistic_places_;
  FormReport report_;
  std::unordered_set<std::string> noted_;  // in report_.inference
  std::set<std::string> inner_constants_;  // float initializers that graphs of nodes use, and keep
  Frame frame_{nullptr};
};

// The row for a node where it stands, or why there is none.
tl::expected<const Row*, std::string> row_of(const std::vector<OpsetDef>& opsets, const NodeDef& node);

// What these take in memory, tensors and graphs aside, and rather more than less.
uint64_t bytes_of(const NodeDef& node);
uint64_t bytes_of(const std::vector<AttributeDef>& attributes);
uint64_t bytes_of(const GraphDef& graph);  // without its nodes

// "m.onnx: node 'x' (Conv, opset 13): "
std::string place_of(const std::string& file, const NodeDef& node, int64_t opset);

}  // namespace isobit::onnx
