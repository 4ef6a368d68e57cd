// How large each real value of a graph is, as far as it is known without another pass over it.
#pragma once

#include <vector>

#include "isobit/graph/op.h"
#include "isobit/kernels/rounding/table.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

class Extents {
 public:
  using Extent = kernels::rounding::Extent;

  // Before a run of the graph. Without it nothing is remembered, and every tensor is measured.
  void begin(const graph::Graph& graph);
  // At least that of the tensor, the value `id`.
  Extent of(const kernels::KernelContext& ctx, graph::ValueId id, const Tensor& tensor);
  void set(graph::ValueId id, const Extent& extent);
  // After an element of the value has become x.
  void include(graph::ValueId id, double x);
  // Of an output of the call, from what its elements were moved from. REQUIRES a `def` that names some inputs.
  void set_of_moved(const KernelCall& call, const graph::OutputDef& def, size_t output);

 private:
  static constexpr double kUnknown = -1;  // for a peak
  Extent* find(graph::ValueId id);

  std::vector<graph::ValueId> same_as_;  // the value whose elements a view has
  std::vector<Extent> extents_;
};

}  // namespace isobit::runtime
