#include "isobit/lab/explain/decorated_backend.h"

namespace isobit::lab::explain {

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
  return backends::compile_with(table_, graph, context, limits);
}

}  // namespace isobit::lab::explain
