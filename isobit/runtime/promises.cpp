#include "isobit/runtime/promises.h"

#include "isobit/base/text.h"

namespace isobit::runtime {

bool can_promise(const platform::Arithmetic& arithmetic, const graph::OpDef& op) {
  return !arithmetic.promises || op.platform_independent || op.is_inner_product();
}

Status check_promises(const graph::Graph& graph, const platform::Arithmetic& arithmetic) {
  for (const graph::Node& node : graph.nodes()) {
    if (can_promise(arithmetic, graph::op_of(node))) continue;
    return unreadable(text_of("node '", node.name, "' (", node.op, "): its results depend on the platform, which ",
                              arithmetic.name, " does not allow: compute in an arithmetic that promises no bits"));
  }
  return {};
}

}  // namespace isobit::runtime
