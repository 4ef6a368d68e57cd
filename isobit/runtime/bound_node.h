// One node with the operands that it is about to be run with: its shapes inferred and its kernel bound for these.
#pragma once

#include <memory>
#include <vector>

#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/prepared_run.h"

namespace isobit::runtime {

struct Operand {
  const Tensor* tensor = nullptr;  // null: absent
  // Known to shape inference and to the kernel as a constant, not as a type alone.
  bool is_constant = false;
};

class BoundNode {
 public:
  // A node whose inputs are values of the graph `from`; its outputs may not be there yet. Operands become constants
  // here when shape inference asks for them (graph::Node::awaits); they are copied, those that were constants before
  // share their storage. The kernel and what `around` names must outlive the result. kUnreadable, naming the node:
  // operands that it does not take, and one that forms a shape and has more than 1 MiB.
  static Expected<BoundNode> bind(const graph::Graph& from, const graph::Node& node, const Kernel& kernel,
                                  std::vector<Operand>& operands, const Surroundings& around);

  // The node alone, over inputs and constants; names are those of the graph that it comes from.
  const graph::Graph& graph() const { return *graph_; }
  const graph::Node& node() const { return graph_->nodes()[0]; }
  // What is known of an output before the node has run; null: absent.
  const graph::Value* output(size_t o) const;

  // Runs it on operands of those types. An output of the call that is defined already is written to; the others are
  // made here, or by the kernel, and `holding` has their bytes afterwards (those of a view are its operand's).
  // kUnreadable also for an output over the limits, and for one whose size follows from data where the kernel cannot
  // measure it.
  Status run(KernelCall& call, const Ledger& ledger, Holding& holding) const;

 private:
  Expected<std::vector<Shape>> measured(const KernelCall& call) const;
  Status bring_outputs(KernelCall& call, const Ledger& ledger, Holding& holding) const;
  Status make_outputs(KernelCall& call, const Ledger& ledger, Holding& holding) const;

  std::unique_ptr<graph::Graph> graph_;  // kernels may refer to it
  const Kernel* kernel_ = nullptr;
  RunKernel run_;
  MakeOutputs make_;
};

}  // namespace isobit::runtime
