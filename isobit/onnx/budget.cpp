// What an import makes is counted before or as it is made: a file of a few kilobytes can ask for any number of names,
// lists and nodes, by functions that call one another and by graphs that are imported more than once.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/onnx/importer_internal.h"

namespace isobit::onnx {
namespace {

// What an object takes besides what it holds, rather more than less.
constexpr uint64_t kNodeCost = 512, kNameCost = 64;

uint64_t bytes_of(const std::vector<std::string>& names) {
  uint64_t bytes = names.size() * kNameCost;
  for (const std::string& name : names) bytes += name.size();
  return bytes;
}

// Tensors and graphs are shared.
uint64_t bytes_of(const graph::Attributes& attributes) {
  uint64_t bytes = 0;
  for (const auto& [name, value] : attributes.items()) {
    bytes += kNameCost + name.size();
    if (const auto* text = std::get_if<std::string>(&value)) bytes += text->size();
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&value)) bytes += 8 * integers->size();
    if (const auto* reals = std::get_if<std::vector<double>>(&value)) bytes += 8 * reals->size();
  }
  return bytes;
}

}  // namespace

uint64_t bytes_of(const std::vector<AttributeDef>& attributes) {
  uint64_t bytes = 0;
  for (const AttributeDef& a : attributes) {
    bytes += 2 * kNameCost + a.name.size();
    if (const auto* text = std::get_if<std::string>(&a.value)) bytes += text->size();
    if (const auto* integers = std::get_if<std::vector<int64_t>>(&a.value)) bytes += 8 * integers->size();
    if (const auto* reals = std::get_if<std::vector<float>>(&a.value)) bytes += 8 * reals->size();
    if (const auto* texts = std::get_if<std::vector<std::string>>(&a.value)) bytes += bytes_of(*texts);
  }
  return bytes;
}

uint64_t bytes_of(const GraphDef& graph) {
  uint64_t bytes = bytes_of(graph.sparse_initializers) + kNodeCost * graph.sparse_initializers.size();
  for (const TensorDef& t : graph.initializers) bytes += kNodeCost + 2 * t.name.size();
  for (const ValueDef& value : graph.inputs) bytes += kNodeCost + 2 * value.name.size();
  for (const ValueDef& value : graph.outputs) bytes += kNodeCost + 2 * value.name.size();
  return bytes;
}

uint64_t bytes_of(const NodeDef& node) {
  return kNodeCost + node.name.size() + 4 * bytes_of(node.inputs) + 4 * bytes_of(node.outputs) +
         bytes_of(node.attributes);
}

Status Importer::count_node(const Frame& frame) {
  // Far below what overflows: import_model asks for no more.
  const int64_t times = int64_t{1} << std::min(frame.depth(), 40);
  if (nodes_ <= options_.max_nodes - times) {
    nodes_ += times;
    return {};
  }
  return unreadable(text_of("the graph has more than ", options_.max_nodes, " nodes, which is the limit",
                            frame.depth() > 0 ? " (one within graphs within graphs counts many times)" : ""));
}

Status Importer::count_bytes(uint64_t bytes) {
  if (bytes > options_.max_bytes - bytes_) {
    if (options_.lacked_memory != nullptr) *options_.lacked_memory = true;
    return unreadable(text_of("what is made of the file takes more than ", human_bytes(options_.max_bytes),
                              " of memory, which is the limit (--max-memory)"));
  }
  bytes_ += bytes;
  return {};
}

Status Importer::count_added(const graph::Graph& graph, size_t first_node, size_t first_constant) {
  uint64_t bytes = 0;
  for (size_t n = first_node; n < graph.nodes().size(); ++n) {
    const graph::Node& node = graph.nodes()[n];
    bytes += kNodeCost + node.name.size() + 8 * node.inputs.size() + bytes_of(node.attributes);
    for (const graph::ValueId output : node.outputs) {
      if (output != graph::kNoValue) bytes += kNodeCost + 2 * graph.value(output).name.size();
    }
  }
  for (size_t i = first_constant; i < graph.initializers().size(); ++i) {
    bytes += kNodeCost + graph.initializers()[i].tensor.bytes();
  }
  return count_bytes(bytes);
}

}  // namespace isobit::onnx
