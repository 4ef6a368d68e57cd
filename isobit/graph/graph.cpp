#include "isobit/graph/graph.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "isobit/base/text.h"
#include "isobit/graph/infer.h"
#include "isobit/graph/op.h"

namespace isobit::graph {

namespace {

template <class T>
T attribute_or(const std::map<std::string, Attribute>& items, const std::string& name, T fallback) {
  const auto found = items.find(name);
  if (found == items.end()) return fallback;
  const T* value = std::get_if<T>(&found->second);
  ISOBIT_CHECK(value != nullptr);
  return *value;
}

// How deep graphs lie in these attributes, each a level more than what lies in it.
int nested_in(const Attributes& attributes) {
  int deepest = 0;
  for (const auto& [name, attribute] : attributes.items()) {
    const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&attribute);
    if (graph != nullptr && *graph != nullptr) deepest = std::max(deepest, 1 + (*graph)->nested());
  }
  return deepest;
}

}  // namespace

int64_t Attributes::integer(const std::string& name, int64_t fallback) const {
  return attribute_or(items_, name, fallback);
}
double Attributes::real(const std::string& name, double fallback) const { return attribute_or(items_, name, fallback); }
std::string Attributes::text(const std::string& name, const std::string& fallback) const {
  return attribute_or(items_, name, fallback);
}
std::vector<int64_t> Attributes::integers(const std::string& name, std::vector<int64_t> fallback) const {
  return attribute_or(items_, name, std::move(fallback));
}
std::vector<double> Attributes::reals(const std::string& name, std::vector<double> fallback) const {
  return attribute_or(items_, name, std::move(fallback));
}

bool Value::is_static() const {
  return std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
}

Shape Value::shape() const {
  ISOBIT_CHECK(is_static());
  return Shape(dims);
}

ValueId Graph::add_value(const std::string& name, DType dtype, std::vector<int64_t> dims) {
  std::string unique = name;
  // All suffixes below the last one that was given are taken.
  while (by_name_.contains(unique)) unique = text_of(name, ".", ++suffixes_[name]);
  const auto id = static_cast<ValueId>(values_.size());
  by_name_[unique] = id;
  values_.push_back({unique, dtype, std::move(dims)});
  return id;
}

ValueId Graph::add_input(const std::string& name, DType dtype, std::vector<int64_t> dims) {
  const ValueId id = add_value(name, dtype, std::move(dims));
  inputs_.push_back(id);
  return id;
}

ValueId Graph::add_initializer(const std::string& name, Tensor tensor) {
  const ValueId id = add_value(name, tensor.dtype(), tensor.shape().dims());
  initializers_.push_back({id, std::move(tensor)});
  return id;
}

// They were added in the order of their values.
const Tensor* Graph::initializer(ValueId id) const {
  const auto found = std::ranges::lower_bound(initializers_, id, {}, &Initializer::value);
  return found == initializers_.end() || found->value != id ? nullptr : &found->tensor;
}

ValueId Graph::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? kNoValue : found->second;
}

Expected<std::vector<ValueId>> Graph::add_node(const std::string& op, std::vector<ValueId> inputs,
                                               Attributes attributes, std::vector<std::string> outputs,
                                               const std::string& node_name) {
  const std::string where =
      text_of("node '", node_name.empty() ? (outputs.empty() ? op : outputs[0]) : node_name, "' (", op, ")");
  const OpDef* def = find_op(op);
  if (def == nullptr) return unreadable(text_of(where, ": unknown operator"));
  const int given = static_cast<int>(inputs.size());
  if (given < def->min_inputs || given > def->max_inputs) {
    return unreadable(
        text_of(where, ": found ", given, " inputs, expected ", def->min_inputs, " to ", def->max_inputs));
  }
  if (static_cast<int>(outputs.size()) > def->max_outputs) {
    return unreadable(text_of(where, ": found ", outputs.size(), " outputs, expected at most ", def->max_outputs));
  }
  for (int o = 0; o < def->min_outputs; ++o) {
    if (o >= static_cast<int>(outputs.size()) || outputs[static_cast<size_t>(o)].empty()) {
      return unreadable(text_of(where, ": output ", o, " is missing"));
    }
  }
  for (int i = 0; i < given; ++i) {
    const ValueId id = inputs[static_cast<size_t>(i)];
    if (id >= value_count() || id < kNoValue ||
        (id == kNoValue && !def->optional_inputs.contains(static_cast<size_t>(i)))) {
      return unreadable(text_of(where, ": input ", i, " is missing"));
    }
  }
  const int nested = nested_in(attributes);
  if (nested > kMostNested) {
    return unreadable(text_of(where, ": graphs in attributes lie ", nested, " deep, expected at most ", kMostNested));
  }
  auto inferred = infer_types(*this, *def, inputs, attributes, outputs);
  if (!inferred) return unreadable(text_of(where, ": ", inferred.error().message));

  nested_ = std::max(nested_, nested);
  Node node{op,
            node_name.empty() && !outputs.empty() ? outputs[0] : node_name,
            std::move(inputs),
            {},
            std::move(attributes),
            std::move(inferred->awaits)};
  for (size_t i = 0; i < outputs.size(); ++i) {
    InferContext::Type& type = inferred->outputs[i];
    node.outputs.push_back(outputs[i].empty() ? kNoValue : add_value(outputs[i], type.dtype, std::move(type.dims)));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

std::vector<ValueId> Graph::emit_all(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                     std::vector<std::string> outputs) {
  auto added = add_node(op, std::move(inputs), std::move(attributes), std::move(outputs));
  if (!added) {
    std::fprintf(stderr, "isobit: internal error: %s\n", added.error().message.c_str());
    std::abort();
  }
  return *std::move(added);
}

ValueId Graph::emit(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                    const std::string& output) {
  return emit_all(op, std::move(inputs), std::move(attributes), {output})[0];
}

}  // namespace isobit::graph
