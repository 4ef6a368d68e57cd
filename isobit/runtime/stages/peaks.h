// The largest magnitude of each real value of a graph, as far as it is known without another pass over it.
#pragma once

#include <vector>

#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

class Peaks {
 public:
  // Before a run of the graph. Without it nothing is remembered, and every peak is looked for.
  void begin(const graph::Graph& graph);
  // No element of the tensor, the value `id`, is larger in magnitude; infinity if there is a NaN.
  double of(const kernels::KernelContext& ctx, graph::ValueId id, const Tensor& tensor);
  void set(graph::ValueId id, double peak);
  // Of the outputs of a call that hold nothing but elements of its inputs, and zeros.
  void set_of_moved(const KernelCall& call);

 private:
  static constexpr double kUnknown = -1;
  double* find(graph::ValueId id);

  std::vector<graph::ValueId> same_as_;  // the value whose elements a view has
  std::vector<double> peaks_;
};

}  // namespace isobit::runtime
