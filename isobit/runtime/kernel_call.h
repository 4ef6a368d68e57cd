// The table from operator to kernel: how the runtime calls what isobit/kernels offers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "isobit/graph/graph.h"
#include "isobit/kernels/context.h"
#include "isobit/runtime/kernel_table.h"
#include "isobit/tensor/tensor.h"

namespace isobit::runtime {

class Ledger;  // ledger.h

// One operator about to run. Outputs have their memory (an absent one is an undefined tensor), which may be that of the
// input that Kernel::in_place names.
struct KernelCall {
  const kernels::KernelContext& ctx;
  const graph::Node& node;
  std::vector<const Tensor*> inputs;  // null: absent
  std::vector<Tensor> outputs;
  std::vector<Tensor> statistics = {};  // graph::statistics_of the node; none unless an observer asks for them

  // Where statistic i goes, or null. A kernel writes those that are no outputs.
  template <class T>
  T* statistic(int i) {
    return statistics.empty() ? nullptr : statistics[static_cast<size_t>(i)].data<T>();
  }
  const Tensor& in(int i) const { return *inputs[static_cast<size_t>(i)]; }
  bool has(int i) const { return i < static_cast<int>(inputs.size()) && inputs[static_cast<size_t>(i)] != nullptr; }
  Tensor& out(int i = 0) { return outputs[static_cast<size_t>(i)]; }
  const graph::Attributes& attributes() const { return node.attributes; }
  bool f64(int i = 0) const { return in(i).dtype() == DType::kFloat64; }
};

// A node about to be run, once or often: what is known of it before there are data. Every shape is known, but for those
// of outputs that the kernel measures or makes, and so is every operand that shape inference asked for the constant of.
struct KernelSite {
  const graph::Graph& graph;
  const graph::Node& node;
  // Of the executor, for operators that run graphs; null: kernel_table(), and the limits that Limits has.
  const KernelTable* table = nullptr;
  Ledger* ledger = nullptr;

  bool has(int i) const {
    return i < static_cast<int>(node.inputs.size()) && node.inputs[static_cast<size_t>(i)] != graph::kNoValue;
  }
  const graph::Value& in(int i) const { return graph.value(node.inputs[static_cast<size_t>(i)]); }
  const graph::Value& out(int i = 0) const { return graph.value(node.outputs[static_cast<size_t>(i)]); }
  const graph::Attributes& attributes() const { return node.attributes; }
};

using RunKernel = std::function<Status(KernelCall&)>;
// Some nodes in one: fills the output of the last call from the inputs of all. What is between two of them is not made.
using RunChain = std::function<Status(std::span<KernelCall* const> calls)>;
inline constexpr size_t kMostInChain = 3;
// One tensor for each output at least; those of absent ones are not looked at.
using MakeOutputs = std::function<Expected<std::vector<Tensor>>(const KernelCall&)>;

struct Kernel {
  RunKernel run;
  // (o, i): output o may be written over input i (same type, as many elements) when that is free; over the first of
  // several that is.
  std::multimap<int, int> in_place = {};
  // Output 0 is input 0 under other dimensions: no kernel runs.
  bool is_view = false;
  // Of a kernel with parameters, in place of `run`: reads the node's attributes and shapes once, when a run is planned,
  // so that a run looks nothing up.
  std::function<RunKernel(const KernelSite&)> bind = {};
  // Of an operator whose outputs' sizes follow from data (shape inference says -1): the shape of every output, from the
  // inputs alone, before outputs exist. `run` then fills them. An absent output has a shape, too.
  std::function<Expected<std::vector<Shape>>(const KernelCall&)> measure = {};
  // Of an operator that runs graphs, in place of all of these: it computes and brings its outputs itself.
  std::function<MakeOutputs(const KernelSite&)> bind_making = {};
  // How this node and those that follow it, each of which alone reads the one output of the node before it, are
  // computed at once; empty where they are not. sites: of two to kMostInChain nodes, the first is this one's; shapes
  // may be unknown. Not used where the context brings inner products, under a stage, or where an observer wants values.
  std::function<RunChain(std::span<const KernelSite> sites)> bind_chain = {};
  // It computes every element of every output once, and tells the context's finisher (kernels/elements.h). Where it
  // does not call that at all for an output, whoever wanted to change it does so afterwards.
  bool finishes = false;
};

inline Kernel finishing(Kernel kernel, bool does = true) {
  kernel.finishes = does;
  return kernel;
}

inline Kernel with_parameters(std::function<RunKernel(const KernelSite&)> bind, std::multimap<int, int> in_place = {}) {
  return {.run = {}, .in_place = std::move(in_place), .bind = std::move(bind)};
}

// As `run`: copies what `make` brings to the outputs, which have to have its types.
RunKernel filling(MakeOutputs make);

inline RunKernel bound(const Kernel& kernel, const KernelSite& site) {
  if (kernel.bind_making) return filling(kernel.bind_making(site));
  return kernel.bind ? kernel.bind(site) : kernel.run;
}

// One function per family, in runtime/kernels/.
void add_elementwise_kernels(KernelTable& table);
void add_activation_kernels(KernelTable& table);
void add_logic_kernels(KernelTable& table);
void add_quantize_kernels(KernelTable& table);
void add_linear_kernels(KernelTable& table);
void add_pool_kernels(KernelTable& table);
void add_columns_kernels(KernelTable& table);
void add_sampling_kernels(KernelTable& table);
void add_detection_kernels(KernelTable& table);
void add_quantized_product_kernels(KernelTable& table);
void add_norm_kernels(KernelTable& table);
void add_softmax_kernels(KernelTable& table);
void add_reduce_kernels(KernelTable& table);
void add_order_kernels(KernelTable& table);
void add_movement_kernels(KernelTable& table);
void add_slicing_kernels(KernelTable& table);
void add_indexing_kernels(KernelTable& table);
void add_extent_kernels(KernelTable& table);
void add_optimizer_kernels(KernelTable& table);
void add_control_kernels(KernelTable& table);
void add_composite_kernels(KernelTable& table);

// Calls f(float{}) or f(double{}) by the type of input i.
template <class F>
Status by_float_type(const KernelCall& call, int i, F&& f) {
  if (call.f64(i))
    f(double{});
  else
    f(float{});
  return {};
}

}  // namespace isobit::runtime
