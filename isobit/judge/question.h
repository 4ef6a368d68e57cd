// An element of a node's output, or of a statistic of it, that somebody has to say the bits of without running the
// graph.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/graph/element.h"
#include "isobit/graph/op.h"
#include "isobit/tensor/tensor.h"

namespace isobit::judge {

// The bytes of an element as a little-endian number, the ones that it does not have 0.
using Bits = uint64_t;

Bits bits_of(const Tensor& tensor, int64_t element);

// What is asked, and the types that go with it. where.output and where.element, or where.statistic, are the asker's to
// set.
struct Question {
  graph::ElementQuery where;
  std::vector<DType> inputs = {};   // by input; anything for an absent one
  std::vector<DType> outputs = {};  // by output
  std::vector<graph::Statistic> statistics = {};

  const graph::OpDef& def() const { return graph::op_of(where.node); }
  const graph::OutputDef& output() const { return def().output(where.output); }
  // Statistics have the type of input 0.
  DType type_of(const graph::ElementSource& s) const {
    return s.of_statistic ? inputs[0] : inputs[static_cast<size_t>(s.input)];
  }
  // Of what is asked for.
  DType type() const { return where.statistic ? inputs[0] : outputs[where.output]; }
  int64_t elements() const;  // of what the element is one of
};

// About a node of the graph. operand: the tensor behind an input that has no real numbers (graph::ElementQuery). Graph
// and node must outlive it. kUnreadable where a shape is not known before the run.
Expected<Question> ask_about(const graph::Graph& graph, const graph::Node& node,
                             std::function<const Tensor*(int)> operand);

}  // namespace isobit::judge
