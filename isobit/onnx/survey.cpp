// What a file holds and what of it cannot be imported, seen without importing it.
#include <functional>
#include <set>
#include <vector>

#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {
namespace {

std::string operator_of(const NodeDef& node) { return node.domain.empty() ? node.op : node.domain + "." + node.op; }

// Every node of a body and of the graphs in it, however deep: files bound that when they are read.
void each_node(const std::vector<NodeDef>& nodes, const std::function<void(const NodeDef&)>& visit) {
  for (const NodeDef& node : nodes) {
    visit(node);
    for (const AttributeDef& a : node.attributes) {
      if (const auto* graph = std::get_if<std::shared_ptr<const GraphDef>>(&a.value)) each_node((*graph)->nodes, visit);
    }
  }
}

class Survey {
 public:
  explicit Survey(const Model& model) : model_(model), functions_(model) {}

  std::vector<Unsupported> run() {
    body(model_.graph.nodes, model_.opsets);
    for (size_t i = 0; i < used_.size(); ++i) body(used_[i]->nodes, used_[i]->opsets);
    return std::move(found_);
  }

 private:
  void body(const std::vector<NodeDef>& nodes, const std::vector<OpsetDef>& opsets) {
    each_node(nodes, [&](const NodeDef& node) { look_at(node, opsets); });
  }

  void look_at(const NodeDef& node, const std::vector<OpsetDef>& opsets) {
    const auto row = row_of(opsets, node);
    const FunctionDef* f = functions_.find(node);
    if (f != nullptr && !(row && node.domain.empty())) {
      if (seen_.insert(f).second) used_.push_back(f);
      return;
    }
    if (row) return;
    found_.push_back({node.label(), node.op, node.domain, version_of(opsets, node.domain).value_or(0), row.error()});
  }

  const Model& model_;
  const Functions functions_;
  std::set<const FunctionDef*> seen_;
  std::vector<const FunctionDef*> used_;  // each once, in the order in which nodes name them
  std::vector<Unsupported> found_;
};

bool is_float(int64_t element) {
  const auto dtype = dtype_of_element(element);
  return dtype && is_real(*dtype);
}

}  // namespace

std::vector<Unsupported> unsupported_operators(const Model& model) { return Survey(model).run(); }

Summary summary_of(const Model& model) {
  Summary s;
  const auto count = [&](const NodeDef& node) {
    ++s.nodes;
    ++s.operators[operator_of(node)];
  };
  each_node(model.graph.nodes, count);
  for (const FunctionDef& f : model.functions) each_node(f.nodes, count);
  s.functions = static_cast<int64_t>(model.functions.size());
  for (const TensorDef& t : model.graph.initializers) {
    ++s.tensors;
    if (!t.tensor.defined()) continue;
    s.elements += t.tensor.elements();
    s.bytes += static_cast<int64_t>(t.tensor.bytes());
    if (is_float(t.element)) s.parameters += t.tensor.elements();
  }
  return s;
}

}  // namespace isobit::onnx
