#include <cstring>

#include "isobit/base/text.h"
#include "isobit/runtime/executor.h"
#include "isobit/runtime/kernel_call.h"
#include "isobit/runtime/ledger.h"

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
  ISOBIT_CHECK(run.following.empty());
  KernelCall call{run.ctx, run.node, {run.inputs.begin(), run.inputs.end()}, {}};
  for (const Tensor& t : run.outputs) call.outputs.push_back(t.defined() ? t.clone() : Tensor());
  return call;
}

RunKernel filling(MakeOutputs make) {
  return [make = std::move(make)](KernelCall& call) -> Status {
    ISOBIT_TRY(const std::vector<Tensor> made, make(call));
    ISOBIT_CHECK(made.size() >= call.outputs.size());
    for (size_t o = 0; o < call.outputs.size(); ++o) {
      Tensor& output = call.outputs[o];
      if (!output.defined()) continue;
      if (!made[o].has_type(output.dtype(), output.shape().dims())) {
        return unreadable(text_of(text_of_node(call.node), ": output ", o, " is ", name_of(made[o].dtype()), " ",
                                  made[o].shape().text(), ", expected ", name_of(output.dtype()), " ",
                                  output.shape().text()));
      }
      std::memcpy(output.raw(), made[o].raw(), output.bytes());
    }
    return {};
  };
}

}  // namespace isobit::runtime
