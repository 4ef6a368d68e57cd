// The executor without a plan: every value has memory of its own for the whole run, nothing is shared or written over.
#pragma once

#include <map>
#include <vector>

#include "isobit/graph/graph.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime::testing {

// Every value of the graph. stage: as of a run, null for none. REQUIRES known shapes and feeds that fit.
inline Expected<std::map<graph::ValueId, Tensor>> run_naively(const graph::Graph& g, const kernels::KernelContext& ctx,
                                                              const Executor::Feeds& feeds, Stage* stage = nullptr) {
  std::map<graph::ValueId, Tensor> values;
  for (const auto& [id, tensor] : feeds) values[id] = tensor.clone();
  for (const graph::Initializer& i : g.initializers()) values[i.value] = i.tensor.clone();
  if (stage != nullptr) stage->begin_run(g);
  for (size_t n = 0; n < g.nodes().size(); ++n) {
    const graph::Node& node = g.nodes()[n];
    const Kernel& kernel = kernel_table().at(node.op);
    KernelCall call{ctx, node, {}, std::vector<Tensor>(node.outputs.size())};
    for (const graph::ValueId i : node.inputs) call.inputs.push_back(i == graph::kNoValue ? nullptr : &values.at(i));
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] == graph::kNoValue) continue;
      const graph::Value& value = g.value(node.outputs[o]);
      call.outputs[o] =
          kernel.is_view ? call.in(0).clone().reshaped(value.shape()) : Tensor(value.dtype, value.shape());
    }
    if (!kernel.is_view) {
      ISOBIT_RETURN_IF_ERROR(bound(kernel, {g, node})(call));
      if (stage != nullptr) ISOBIT_RETURN_IF_ERROR(stage->apply(n, call));
    }
    for (size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o] != graph::kNoValue) values[node.outputs[o]] = call.outputs[o];
    }
  }
  return values;
}

}  // namespace isobit::runtime::testing
