#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::runtime {

const Tensor* NodeRun::input(size_t i) const {
  const Tensor* tensor = i < inputs.size() ? inputs[i] : nullptr;
  if (tensor == nullptr || tensor->elements() == 0 || is_view) return tensor;
  for (const Tensor& o : outputs) {
    if (o.defined() && o.raw() == tensor->raw()) return nullptr;
  }
  return tensor;
}

KernelCall detached(const NodeRun& run) {
  KernelCall call{run.ctx, run.node, {run.inputs.begin(), run.inputs.end()}, {}};
  for (const Tensor& t : run.outputs) call.outputs.push_back(t.defined() ? t.clone() : Tensor());
  return call;
}

}  // namespace isobit::runtime
