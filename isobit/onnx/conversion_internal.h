// One node of the file on its way into the graph: what converters read of it and how they emit nodes. Internal.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "isobit/onnx/fold_internal.h"
#include "isobit/onnx/frame_internal.h"

namespace isobit::onnx {

inline constexpr const char* kMl = "ai.onnx.ml";

struct Row;
class Importer;

class Conversion {
 public:
  Conversion(Importer& importer, Scope& scope, const NodeDef& node, std::vector<AttributeDef> attributes, int64_t opset,
             const Row& row)
      : importer_(importer), scope_(scope), node_(node), attributes_(std::move(attributes)), opset_(opset), row_(row) {}

  const std::string& op() const { return node_.op; }
  int64_t opset() const { return opset_; }
  const Row& row() const { return row_; }
  Scope& scope() const { return scope_; }
  Frame& frame() const { return scope_.frame(); }
  Importer& importer() const { return importer_; }
  // "m.onnx: node 'x' (Conv, opset 13): " and the reason.
  std::string place() const;  // what messages about the node begin with
  tl::unexpected<Error> error(std::string_view reason) const;
  tl::unexpected<Error> error(const Error& inner) const;

  // Looks the inputs up. Errors: a name that nothing has, a value that cannot be used.
  Status read_inputs();
  // After the converter. Errors: an attribute, or an input behind the last one, that it did not ask for: the node would
  // mean something else than what has become of it.
  Status check_all_asked_for() const;

  int input_count() const { return note_asked(inputs_.size()), static_cast<int>(inputs_.size()); }
  bool has(int i) const { return in(i) != nullptr; }
  Operand in(int i) const {
    const auto place = static_cast<size_t>(i);
    note_asked(place + 1);
    return place < inputs_.size() ? inputs_[place] : nullptr;
  }
  Operands& inputs() { return note_asked(inputs_.size()), inputs_; }
  // An error unless there is an input i.
  Status expect(int i) const;
  DType dtype(const Operand& operand) const { return frame().dtype(operand); }
  const std::vector<int64_t>& dims(const Operand& operand) const { return frame().dims(operand); }
  bool has_rank(const Operand& operand) const { return dims(operand) != graph::kUnknownRank; }
  bool is_static(const Operand& operand) const;
  // The constant of type int32 or int64 behind an operand, as a list; nothing when it is none, or not known.
  std::optional<std::vector<int64_t>> integers(const Operand& operand) const;
  // The constant of a floating-point type, float16 and bfloat16 too.
  std::optional<std::vector<double>> reals(const Operand& operand) const;

  // Attributes, or the fallback when absent. Errors: another type.
  const std::vector<AttributeDef>& attributes() const { return all_asked_ = true, attributes_; }
  const AttributeDef* attribute(std::string_view name) const;
  bool has_attribute(std::string_view name) const { return attribute(name) != nullptr; }
  Expected<int64_t> integer(std::string_view name, int64_t fallback) const;
  Expected<double> real(std::string_view name, double fallback) const;
  Expected<std::string> text(std::string_view name, std::string fallback) const;
  Expected<std::vector<int64_t>> integer_list(std::string_view name) const;   // empty when absent
  Expected<std::vector<double>> real_list(std::string_view name) const;       // empty when absent
  Expected<std::vector<std::string>> text_list(std::string_view name) const;  // empty when absent
  Expected<Tensor> tensor(std::string_view name) const;                       // undefined when absent
  Expected<DType> type(std::string_view name, DType fallback) const;          // an attribute that numbers a type
  // All attributes as the graph has them, but for those that the row leaves out. Subgraphs are an error.
  Expected<graph::Attributes> same_attributes() const;

  int output_count() const { return static_cast<int>(node_.outputs.size()); }
  bool has_output(int i) const { return i < output_count() && !node_.outputs[static_cast<size_t>(i)].empty(); }
  // The names that a last node gives its outputs, "" for an absent one.
  std::vector<std::string> output_names() const;
  std::string output_name(int i) const;
  // What names of values on the way to output 0 begin with.
  std::string base_name() const;
  // A name that the file does not have, for a value on the way to output 0.
  std::string inner_name(std::string_view what) const;

  // Adds a node, or computes what it gives where that is known already. `names`: of its outputs.
  Expected<Operands> emit_all(const std::string& op, Operands inputs, graph::Attributes attributes,
                              std::vector<std::string> names);
  // The same with one output; an inner one, or output 0.
  Expected<Operand> emit(const std::string& op, Operands inputs, graph::Attributes attributes, std::string name);
  Expected<Operand> inner(const std::string& op, Operands inputs, graph::Attributes attributes, std::string_view what);
  Expected<Operands> last(const std::string& op, Operands inputs, graph::Attributes attributes);
  // Input i as a value of the graph; kNoValue when it is absent.
  graph::ValueId id(int i) { return frame().id_of(in(i)); }
  // Several nodes at once: `append` gives what the outputs became (isobit/graph/expansions).
  using Append = std::function<Expected<std::vector<graph::ValueId>>(graph::Graph&)>;
  Expected<Operands> expand(const Append& append);
  Operand constant(Tensor tensor, std::string_view what) const;
  // A scalar of that type, of an integer type truncated and clamped. REQUIRES a type that is computed with.
  Operand scalar(double value, DType type, std::string_view what) const;

  // float16 and bfloat16 among the inputs become float32; what they were, if any was.
  Expected<std::optional<DType>> widen();
  Expected<Operands> narrow(Operands outputs, DType to);

 private:
  void name_last(const std::vector<graph::ValueId>& values, size_t first) const;
  void note_asked(size_t inputs) const { inputs_asked_ = std::max(inputs_asked_, inputs); }

  Importer& importer_;
  Scope& scope_;
  const NodeDef& node_;
  const std::vector<AttributeDef> attributes_;
  const int64_t opset_;
  const Row& row_;
  Operands inputs_;
  bool narrows_ = false;
  // What the converter asked for.
  mutable std::set<const AttributeDef*> asked_;
  mutable bool all_asked_ = false;  // every attribute
  mutable size_t inputs_asked_ = 0;
};

using Convert = std::function<Expected<Operands>(Conversion&)>;

// An input of ONNX's that says where or how large, and how its attribute holds it.
struct Parameter {
  enum class Form : uint8_t { kIntegers, kInteger, kReals };
  int input;
  const char* name;
  Form form = Form::kIntegers;
};

// How one operator of ONNX, in some of its versions, becomes nodes.
struct Row {
  std::string op;
  std::string domain = {};
  int64_t first = 1, last = kAnyOpset;  // versions of the domain
  Convert convert = {};
  std::string target = {};   // the operator that has to be there for it; "": none
  std::string refusal = {};  // not empty: why isobit does not have it
  std::vector<Parameter> parameters = {};
  bool computes = true;             // with elements: float16 and bfloat16 are widened
  bool takes_sequences = false;     // as operands
  std::vector<int> own_types = {};  // outputs whose type does not follow float16 inputs
  std::vector<std::string> type_attributes = {};
  // Attributes that change nothing at this value, or at any where it is not said.
  std::vector<std::pair<std::string, std::optional<double>>> left_out = {};

  static constexpr int64_t kAnyOpset = INT64_MAX;

  Row& since(int64_t opset) { return first = opset, *this; }
  Row& until(int64_t opset) { return last = opset, *this; }
  Row& by(Convert c) { return convert = std::move(c), *this; }
  Row& to(std::string name) { return target = std::move(name), *this; }
  Row& sequences() { return takes_sequences = true, *this; }
  Row& moves() { return computes = false, *this; }
  Row& own_type(int output) { return own_types.push_back(output), *this; }
  Row& type_in(const char* attribute) { return type_attributes.push_back(attribute), *this; }
  Row& without(const char* attribute, std::optional<double> at = std::nullopt) {
    return left_out.push_back({attribute, at}), *this;
  }
  Row& list(int input, const char* name) { return parameters.push_back({input, name}), *this; }
  Row& whole(int input, const char* name) {
    return parameters.push_back({input, name, Parameter::Form::kInteger}), *this;
  }
  Row& reals(int input, const char* name) {
    return parameters.push_back({input, name, Parameter::Form::kReals}), *this;
  }
};

// As isobit/graph/expansions/softmax.h says: appends what a node with these inputs, attributes and names of outputs is.
using Expansion = Expected<std::vector<graph::ValueId>> (*)(graph::Graph&, const std::vector<graph::ValueId>&,
                                                            const graph::Attributes&, const std::vector<std::string>&);
// Attributes and parameters as in same_as_onnx, given to the expansion.
Expected<Operands> expanded(Conversion& c, Expansion expansion);

// The generic converter: attributes as they are, parameters as attributes where they are known, the same operator (or
// the row's target).
Expected<Operands> same_as_onnx(Conversion& c);

// The row of an operator, or why there is none: "isobit does not have this operator".
tl::expected<const Row*, std::string> find_row(const std::string& domain, const std::string& op, int64_t opset);

// Families of the table, in converters/.
class Table {
 public:
  // `op` as it is, until its row says otherwise.
  Row& same(const char* op, const char* domain = "");
  // By a converter of its own.
  Row& own(const char* op, Convert convert, const char* domain = "");
  Row& expanded(const char* op, Expansion expansion);
  void refuse(std::initializer_list<const char*> ops, const char* reason, const char* domain = "");
  std::vector<std::unique_ptr<Row>> rows;
};
void add_elementwise_rows(Table& table);
void add_movement_rows(Table& table);
void add_shape_rows(Table& table);
void add_reduce_rows(Table& table);
void add_linear_rows(Table& table);
void add_window_rows(Table& table);
void add_norm_rows(Table& table);
void add_composite_rows(Table& table);
void add_spectrum_rows(Table& table);
void add_quantized_rows(Table& table);
void add_control_rows(Table& table);
void add_ml_rows(Table& table);
void add_feature_rows(Table& table);
void add_sequence_rows(Table& table);
void add_refused_rows(Table& table);

}  // namespace isobit::onnx
