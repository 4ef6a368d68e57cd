// The table from operator to kernel: how the runtime calls what isobit/kernels offers.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"
#include "isobit/kernels/context.h"
#include "isobit/tensor/tensor.h"

namespace isobit::runtime {

// One operator about to run. Outputs are allocated (an absent one is an undefined tensor) and may share storage with
// the input that Kernel::in_place names.
struct KernelCall {
  const kernels::KernelContext& ctx;
  const graph::Node& node;
  std::vector<const Tensor*> inputs;  // null: absent
  std::vector<Tensor> outputs;
  std::vector<Tensor> statistics = {};  // graph::statistics_of the node; none unless somebody wants them

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

struct Kernel {
  std::function<Status(KernelCall&)> run;
  // in_place[o] = i: output o may be written over input i (same type and shape) when that is free.
  std::map<int, int> in_place = {};
  // Output 0 is input 0 under other dimensions: no kernel runs.
  bool is_view = false;
};

// The input whose storage output `o` of the node may take as far as the graph tells, else -1: a view always shares it;
// an in-place kernel may when no later node needs it (`dies_here`) and this one has it once. That nobody outside the
// graph holds the storage is for the caller to see.
template <class DiesHere>
int reusable_input(const Kernel& kernel, const graph::Node& node, int o, const DiesHere& dies_here) {
  if (kernel.is_view) return 0;
  const auto rule = kernel.in_place.find(o);
  if (rule == kernel.in_place.end() || static_cast<size_t>(rule->second) >= node.inputs.size()) return -1;
  const graph::ValueId id = node.inputs[static_cast<size_t>(rule->second)];
  if (id == graph::kNoValue || !dies_here(id)) return -1;
  return std::count(node.inputs.begin(), node.inputs.end(), id) == 1 ? rule->second : -1;
}

using KernelTable = std::map<std::string, Kernel>;

const KernelTable& kernel_table();

// One function per family, in runtime/kernels/.
void add_elementwise_kernels(KernelTable& table);
void add_linear_kernels(KernelTable& table);
void add_pool_kernels(KernelTable& table);
void add_norm_kernels(KernelTable& table);
void add_softmax_kernels(KernelTable& table);
void add_reduce_kernels(KernelTable& table);
void add_movement_kernels(KernelTable& table);
void add_optimizer_kernels(KernelTable& table);

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
