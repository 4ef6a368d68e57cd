// One operator alone, with the operands that the network really had: what is asked of a platform when it is to show how
// it computes.
//
// Determinism class: that of the platform.
#pragma once

#include <functional>

#include "isobit/graph/op.h"
#include "isobit/lab/explain/part_run.h"

namespace isobit::lab::explain {

struct OperatorCall {
  graph::Graph graph;           // of one node; every operand of real numbers is an input, the others are constants
  std::vector<Tensor> inputs;   // what was fed, in the order of graph.inputs()
  std::vector<size_t> operand;  // which operand of the node input i of the graph is

  const graph::Node& node() const { return graph.nodes().front(); }
  // Operand i of the node as it was fed, or the constant; null: absent.
  const Tensor* fed(size_t i) const;
  // The place among the graph's inputs of operand i; none for a constant.
  std::optional<size_t> input_of(size_t i) const;
  // What an element of output 0 is made of. REQUIRES an output that says it (graph::OutputDef::sources).
  std::vector<graph::ElementSource> sources_of(int64_t element) const;
};

// A node of a graph by itself. `values`: what its inputs were, by value of that graph; constants need not be there.
// kUnreadable: an operand is missing, or the node does not stand alone.
Expected<OperatorCall> operator_of(const graph::Graph& graph, const graph::Node& node,
                                   const std::map<graph::ValueId, Tensor>& values);
// Of a part that is one operator. kUnreadable, with the reason: it is several.
Expected<OperatorCall> operator_of(const PartCall& part);

// The call made ready on a platform; it may be run again on other operands of these types and shapes.
class OperatorRun {
 public:
  // Keeps and refers to all of its arguments. Errors: as backends::Backend.
  static Expected<OperatorRun> make(const OperatorCall& call, const platform::Context& context,
                                    backends::Backend& backend);
  // Neither the operands nor what came out before is written to.
  Expected<std::vector<Tensor>> operator()(const std::vector<Tensor>& inputs);

 private:
  explicit OperatorRun(const OperatorCall& call) : call_(&call) {}
  const OperatorCall* call_;
  std::unique_ptr<backends::Program> program_;
};

}  // namespace isobit::lab::explain
