#include "isobit/lab/explain/decorated_backend.h"

namespace isobit::lab::explain {
namespace {

class DecoratedProgram final : public backends::Program {
 public:
  DecoratedProgram(const graph::Graph& graph, const platform::Context& context, const runtime::KernelTable& table,
                   const runtime::Limits& limits)
      : context_(context), executor_(graph, table, limits) {}
  const Status& status() const { return executor_.status(); }
  Status run(std::span<Feed> feeds, std::span<Tensor> outputs, runtime::RunOptions options) override {
    return executor_.run_into(context_.kernels(), feeds, outputs, options);
  }

 private:
  const platform::Context context_;
  runtime::Executor executor_;
};

}  // namespace

DecoratedBackend::DecoratedBackend(const Decorate& decorate) {
  for (const auto& [op, kernel] : runtime::kernel_table()) {
    const bool stays = kernel.is_view || kernel.measure || kernel.bind_making;
    table_[op] = stays ? kernel : runtime::with_parameters([decorate, kernel](const runtime::KernelSite& site) {
      return decorate(site, runtime::bound(kernel, site));
    });
  }
}

Expected<std::unique_ptr<backends::Program>> DecoratedBackend::compile(const graph::Graph& graph,
                                                                       const platform::Context& context,
                                                                       const runtime::Limits& limits) {
  auto program = std::make_unique<DecoratedProgram>(graph, context, table_, limits);
  ISOBIT_RETURN_IF_ERROR(program->status());
  return std::unique_ptr<backends::Program>(std::move(program));
}

}  // namespace isobit::lab::explain
