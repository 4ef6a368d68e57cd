#include "isobit/lab/kernel_name.h"

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/lab/inference.h"

namespace isobit::lab {

KernelNames::KernelNames(const platform::Platform& platform)
    : own_(text_of("isobit ", kernels::name_of(platform.isa))),
      products_(platform.is_ordered() ? own_
                                      : text_of(platform.library, platform.core.empty() ? "" : "@", platform.core)) {}

std::string KernelNames::of(const runtime::NodeRun& run) const {
  if (run.is_view) return "";
  if (!graph::op_of(run.node).is_inner_product()) return own_;
  // Products in float64 are the library's under arithmetics that open it for them alone.
  if (run.outputs[0].dtype() == DType::kFloat64 && run.ctx.products_f64 == nullptr) return own_;
  const kernels::ConvKernel conv = conv_kernel_of(run);
  return conv.name.empty() || conv.name == "own" ? products_ : conv.name;
}

}  // namespace isobit::lab
