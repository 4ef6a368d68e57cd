#include "isobit/judge/question.h"

#include <cstring>
#include <utility>

#include "isobit/base/text.h"

namespace isobit::judge {

Bits bits_of(const Tensor& tensor, int64_t element) {
  const size_t size = size_of(tensor.dtype());
  const auto* from = static_cast<const uint8_t*>(tensor.raw()) + static_cast<size_t>(element) * size;
  Bits bits = 0;
  for (size_t i = 0; i < size; ++i) bits |= Bits{from[i]} << (8 * i);
  return bits;
}

int64_t Question::elements() const { return Shape(where.dims()).elements(); }

Expected<Question> ask_about(const graph::Graph& graph, const graph::Node& node,
                             std::function<const Tensor*(int)> operand) {
  Question q{.where = {.node = node}};
  const auto known = [&](graph::ValueId id, std::vector<std::vector<int64_t>>& dims, std::vector<DType>& types) {
    const bool is_there = id != graph::kNoValue;
    dims.push_back(is_there ? graph.value(id).dims : std::vector<int64_t>{});
    types.push_back(is_there ? graph.value(id).dtype : DType::kFloat32);
    return !is_there || graph.value(id).is_static();
  };
  bool all_known = true;
  for (const graph::ValueId id : node.inputs) all_known &= known(id, q.where.inputs, q.inputs);
  for (const graph::ValueId id : node.outputs) all_known &= known(id, q.where.outputs, q.outputs);
  if (!all_known) return unreadable(text_of("node '", node.name, "': its shapes are not known before the run"));
  q.statistics = graph::statistics_of(graph, node);
  for (const graph::Statistic& s : q.statistics) q.where.statistics.push_back(s.dims);
  q.where.operand = std::move(operand);
  return q;
}

}  // namespace isobit::judge
