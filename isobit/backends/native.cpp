#include "isobit/backends/backend.h"
#include "isobit/runtime/kernel_call.h"

namespace isobit::backends {
namespace {

class NativeProgram final : public Program {
 public:
  NativeProgram(const runtime::KernelTable& table, const graph::Graph& graph, platform::Context context,
                const runtime::Limits& limits)
      : context_(std::move(context)), executor_(graph, table, limits) {}
  const Status& status() const { return executor_.status(); }
  Status run(std::span<Feed> feeds, std::span<Tensor> outputs, runtime::RunOptions options) override {
    return executor_.run_into(context_.kernels(), feeds, outputs, options);
  }

 private:
  const platform::Context context_;
  runtime::Executor executor_;
};

class Native final : public Backend {
 public:
  Expected<std::unique_ptr<Program>> compile(const graph::Graph& graph, const platform::Context& context,
                                             const runtime::Limits& limits) override {
    return compile_with(runtime::kernel_table(), graph, context, limits);
  }
};

}  // namespace

Expected<std::unique_ptr<Program>> compile_with(const runtime::KernelTable& table, const graph::Graph& graph,
                                                const platform::Context& context, const runtime::Limits& limits) {
  auto program = std::make_unique<NativeProgram>(table, graph, context, limits);
  ISOBIT_RETURN_IF_ERROR(program->status());
  return std::unique_ptr<Program>(std::move(program));
}

Backend& native() {
  static Native the_backend;
  return the_backend;
}

}  // namespace isobit::backends
