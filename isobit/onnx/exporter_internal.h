// One node of the graph on its way into the file: what writers read of it and how they add nodes of ONNX. Internal.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isobit/graph/op.h"
#include "isobit/onnx/conversion_internal.h"
#include "isobit/onnx/export.h"

namespace isobit::onnx {

class Exporter;
struct Writer;

using Names = std::vector<std::string>;
using AttributeDefs = std::vector<AttributeDef>;

// A graph that is being written: the whole one, or one in an attribute.
struct ExportScope {
  ExportScope(const graph::Graph& g, GraphDef& d);

  const graph::Graph& graph;
  GraphDef& def;
  std::vector<bool> needed;                        // by value: an output follows from it
  std::vector<int> readers;                        // by value: operands of nodes that are needed, and outputs
  Names names;                                     // by value, as the file has them; "": not there
  std::map<std::string, std::string> shared = {};  // names of values that several nodes ask for
};

class Writing {
 public:
  Writing(Exporter& exporter, ExportScope& scope, const graph::Node& node, const Writer& writer)
      : exporter_(exporter), scope_(scope), node_(node), writer_(writer) {}

  const graph::Node& node() const { return node_; }
  const graph::Attributes& attributes() const { return node_.attributes; }
  Exporter& exporter() const { return exporter_; }
  ExportScope& scope() const { return scope_; }
  // "node 'x' (isobit.Sgd): " and the reason.
  tl::unexpected<Error> error(std::string_view reason) const;

  int input_count() const { return static_cast<int>(node_.inputs.size()); }
  bool has(int i) const { return i < input_count() && node_.inputs[static_cast<size_t>(i)] != graph::kNoValue; }
  const graph::Value& in(int i) const;  // REQUIRES has(i)
  int output_count() const { return static_cast<int>(node_.outputs.size()); }
  const graph::Value& out(int o) const;  // REQUIRES that the node has it
  // Whether somebody reads output o.
  bool wants(int o) const;

  // Names in the file; "" for what is absent.
  std::string name_in(int i) const;
  Names names_in() const;
  std::string name_out(int o) const;
  // Of all outputs; those that nobody reads are absent where ONNX allows it.
  Names names_out() const;

  // From which opset on the file has what is being written.
  void needs(int64_t opset);
  // Adds a node of ONNX with one output of its own and returns that one's name; or the last one, with the node's name.
  std::string add(const char* op, Names inputs, AttributeDefs attributes, std::string_view what);
  void add_last(const std::string& op, Names inputs, AttributeDefs attributes, Names outputs,
                const std::string& domain = {});
  void add_last(const std::string& op, Names inputs, AttributeDefs attributes) {
    add_last(op, std::move(inputs), std::move(attributes), names_out());
  }
  std::string constant(Tensor tensor, std::string_view what);
  std::string integers(const std::vector<int64_t>& values, std::string_view what);  // int64, rank 1
  // A value for all nodes of the graph that ask for it by this name; the first has it made, under the name that it got.
  std::string shared(const std::string& name, const std::function<void(const std::string&)>& make);
  // Under a name that has been taken (Exporter::take_name).
  void constant_named(const std::string& name, Tensor tensor);
  void add_named(const std::string& name, const char* op, Names inputs, AttributeDefs attributes);
  // A name for a value on the way to output 0, that nothing else has.
  std::string inner_name(std::string_view what);
  // Input i without its only axis where it has one: a number, as ONNX wants it.
  std::string number_in(int i, std::string_view what);

  // The node's attributes as ONNX has them, but for `without`; parameters of the form that the importer knows become
  // inputs, which are put into their places. Errors: one that ONNX has no form for.
  Expected<AttributeDefs> same_attributes(Names& inputs, std::initializer_list<std::string_view> without = {});

 private:
  Expected<std::string> parameter(const Parameter& parameter, const graph::Attribute& attribute);

  Exporter& exporter_;
  ExportScope& scope_;
  const graph::Node& node_;
  const Writer& writer_;
};

AttributeDef attribute(std::string name, AttributeValue value);
// Without absent ones at the end.
Names without_trailing(Names names);

// How one of our operators is written.
struct Writer {
  // A form of the operator that newer opsets have: with this attribute, at this value where one is said.
  struct Newer {
    int64_t since;
    std::string attribute;
    std::optional<std::string> text = {};
  };
  struct TypesWithout {
    int input;
    std::vector<DType> dtypes;
  };
  // An attribute that is not written at ONNX's own default, which no float32 holds.
  struct Default {
    std::string attribute;
    double value;
  };

  std::string op;  // ours
  int64_t since = kOldestWrittenOpset;
  std::function<Status(Writing&)> write = {};
  std::string refusal = {};  // not empty: why it is not written
  std::vector<Newer> newer = {};
  std::vector<TypesWithout> no_types = {};  // of which ONNX does not have it
  std::vector<Default> defaults = {};
  int least_outputs = -1;  // those that ONNX always makes; -1: as many as we do
  bool lists_one = false;  // a parameter that is one number is a list of one

  Writer& from(int64_t opset) { return since = opset, *this; }
  Writer& from(int64_t opset, const char* attribute) { return newer.push_back({opset, attribute}), *this; }
  Writer& from(int64_t opset, const char* attribute, const char* text) {
    return newer.push_back({opset, attribute, text}), *this;
  }
  Writer& not_of(int input, std::vector<DType> dtypes) { return no_types.push_back({input, std::move(dtypes)}), *this; }
  Writer& by_default(const char* attribute, double value) { return defaults.push_back({attribute, value}), *this; }
  Writer& makes(int outputs) { return least_outputs = outputs, *this; }
  Writer& listed() { return lists_one = true, *this; }
};

// ONNX's operator of the same name, inputs, attributes and outputs.
Status as_it_is(Writing& w);

// What isobit.Block takes of a source of these dimensions, as parameters of Slice: axes that it takes whole are not
// named.
graph::Attributes slice_of_block(const std::vector<int64_t>& dims, const graph::Attributes& block);

// Families of the table, in exporters/.
class WriterTable {
 public:
  Writer& same(const char* op) { return own(op, as_it_is); }
  Writer& own(const char* op, std::function<Status(Writing&)> write);
  void refuse(std::initializer_list<const char*> ops, const char* reason);
  std::vector<std::unique_ptr<Writer>> writers;
};
void add_elementwise_writers(WriterTable& table);
void add_movement_writers(WriterTable& table);
void add_window_writers(WriterTable& table);
void add_reduction_writers(WriterTable& table);
void add_product_writers(WriterTable& table);
void add_control_writers(WriterTable& table);
void add_tree_writers(WriterTable& table);
void add_refused_writers(WriterTable& table);

// Null where the table says nothing of an operator, which no operator of graph::op_names() may be.
const Writer* find_writer(const std::string& op);

class Exporter {
 public:
  Exporter(const graph::Graph& graph, std::span<const NamedTensor> values, const ExportOptions& options)
      : graph_(graph), values_(values), options_(options) {}
  Expected<Model> run();

  // `base`, or the same with a number, so that no value of the file has that name; taken from now on.
  std::string take_name(const std::string& base);
  // The same of nodes, whose names some programs want to be different, too.
  std::string take_node_name(const std::string& base);
  void needs(int64_t opset, const graph::Node& node);
  // Of domain ai.onnx.ml. False when another one is needed already.
  bool needs_ml(int64_t opset);
  // The graph in that attribute of the node. Its first `own` inputs are its own; those behind them are the node's
  // operands from `captured` on, which it sees by their names.
  Expected<std::shared_ptr<const GraphDef>> inner(const Writing& w, const char* attribute, size_t own, size_t captured);

 private:
  // Errors: a tensor that is no input's, or does not fit it.
  Status take_values();
  const Tensor* value_of(const std::string& name) const;
  void name_values(ExportScope& scope);
  void add_input(ExportScope& scope, graph::ValueId id);
  void add_constant(ExportScope& scope, graph::ValueId id, const Tensor& tensor);
  void add_ends(ExportScope& scope);
  Status add_nodes(ExportScope& scope);
  Status add_node(ExportScope& scope, const graph::Node& node);
  void add_contraction(ExportScope& scope, const struct Contraction& contraction);
  void add_outputs(ExportScope& scope);
  ValueDef described(const ExportScope& scope, graph::ValueId id, const std::string& name) const;
  Status set_opsets(Model& model) const;

  const graph::Graph& graph_;
  const std::span<const NamedTensor> values_;
  std::unordered_map<std::string_view, const Tensor*> by_name_;  // of values_
  const ExportOptions& options_;
  std::set<std::string> names_, node_names_;
  int64_t needed_ = kOldestWrittenOpset, ml_ = 0;  // opsets; ml_ 0: the domain is not used
  std::string needed_by_;                          // "node 'x' (Gelu)"
};

}  // namespace isobit::onnx
