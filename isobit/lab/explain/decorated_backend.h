// Our own executor with kernels that somebody has wrapped: to look at operands that a kernel may write over, or to
// stand for a platform that computes one operator otherwise.
#pragma once

#include <functional>

#include "isobit/backends/backend.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::lab::explain {

// What is to run in place of the usual kernel of a node, or that one.
using Decorate = std::function<runtime::RunKernel(const runtime::KernelSite&, runtime::RunKernel usual)>;

// Kernels write in place of nothing, so that operands are still there when one has run. Those that measure or bring
// their outputs themselves, and views, stay as they are. Determinism class: that of the kernels.
class DecoratedBackend final : public backends::Backend {
 public:
  explicit DecoratedBackend(const Decorate& decorate);
  // The backend must outlive the program.
  Expected<std::unique_ptr<backends::Program>> compile(const graph::Graph& graph, const platform::Context& context,
                                                       const runtime::Limits& limits) override;

 private:
  runtime::KernelTable table_;
};

}  // namespace isobit::lab::explain
