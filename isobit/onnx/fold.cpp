#include "isobit/onnx/fold_internal.h"

namespace isobit::onnx {
namespace {

// What shapes and masks are made of is small.
constexpr uint64_t kMostBytes = 128 << 10;

}  // namespace

Folder::Folder() : folding_({.most_bytes = kMostBytes, .reals = true}) {}

std::optional<std::vector<Tensor>> Folder::compute(const std::string& op, const std::vector<Tensor>& inputs,
                                                   const graph::Attributes& attributes,
                                                   const std::vector<std::string>& outputs) {
  graph::Graph graph;
  std::vector<graph::ValueId> ids;
  for (const Tensor& input : inputs) {
    if (input.defined() && input.bytes() > kMostBytes) return std::nullopt;
    ids.push_back(input.defined() ? graph.add_initializer("input", input) : graph::kNoValue);
  }
  if (!graph.add_node(op, ids, attributes, outputs)) return std::nullopt;
  std::vector<Tensor> computed = folding_.outputs_of(graph, graph.nodes().back());
  if (computed.empty()) return std::nullopt;
  for (Tensor& t : computed) t = t.clone();  // none shares memory with an operand
  return computed;
}

}  // namespace isobit::onnx
