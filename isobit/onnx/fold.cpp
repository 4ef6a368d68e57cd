#include <algorithm>

#include "isobit/kernels/context.h"
#include "isobit/onnx/fold_internal.h"
#include "isobit/runtime/executor.h"

namespace isobit::onnx {
namespace {

// What shapes and masks are made of is small.
constexpr int64_t kMostElements = 1 << 14;

bool small(const graph::Value& value) {
  return value.is_static() &&
         checked_elements(value.dims, value.dtype, kMostElements * size_of(value.dtype)).has_value();
}

}  // namespace

std::optional<std::vector<Tensor>> Folder::compute(const std::string& op, const std::vector<Tensor>& inputs,
                                                   const graph::Attributes& attributes,
                                                   const std::vector<std::string>& outputs) {
  graph::Graph graph;
  std::vector<graph::ValueId> ids;
  for (const Tensor& input : inputs) {
    if (input.defined() && input.elements() > kMostElements) return std::nullopt;
    ids.push_back(input.defined() ? graph.add_initializer("input", input) : graph::kNoValue);
  }
  for (const auto& [name, attribute] : attributes.items()) {
    if (std::holds_alternative<std::shared_ptr<const graph::Graph>>(attribute)) return std::nullopt;
  }
  const auto added = graph.add_node(op, ids, attributes, outputs);
  if (!added) return std::nullopt;
  for (const graph::ValueId id : *added) {
    if (id == graph::kNoValue) continue;
    if (!small(graph.value(id))) return std::nullopt;
    graph.add_output(id);
  }
  runtime::Executor executor(graph);
  auto results = executor.run({.isa = kernels::Isa::kPortable, .pool = &pool_}, {});
  if (!results) return std::nullopt;
  std::vector<Tensor> all;
  auto next = results->begin();
  for (const graph::ValueId id : *added) all.push_back(id == graph::kNoValue ? Tensor() : (next++)->clone());
  return all;
}

}  // namespace isobit::onnx
