#include "isobit/runtime/promises.h"

#include "isobit/base/text.h"

namespace isobit::runtime {

bool can_promise(const platform::Arithmetic& arithmetic, const graph::OpDef& op) {
  return !arithmetic.promises || op.platform_independent || op.is_inner_product();
}

namespace {

// What holds of a node that runs graphs holds of their nodes. An arithmetic that rounds every value has to see them
// all.
Status check_graphs_of(const graph::Node& node, const platform::Arithmetic& arithmetic) {
  const auto where = [&] { return text_of("node '", node.name, "' (", node.op, "): "); };
  if (arithmetic.rounds) {
    return unreadable(text_of(where(), "it runs a graph of its own, whose values ", arithmetic.name,
                              " cannot round one by one: compute in an arithmetic that does not round"));
  }
  for (const auto& [name, attribute] : node.attributes.items()) {
    const auto* inner = std::get_if<std::shared_ptr<const graph::Graph>>(&attribute);
    if (inner == nullptr || *inner == nullptr) continue;
    if (const Status kept = check_promises(**inner, arithmetic); !kept) {
      return unreadable(text_of(where(), name, ": ", kept.error().message));
    }
  }
  return {};
}

}  // namespace

Status check_promises(const graph::Graph& graph, const platform::Arithmetic& arithmetic) {
  for (const graph::Node& node : graph.nodes()) {
    const graph::OpDef& def = graph::op_of(node);
    if (!can_promise(arithmetic, def)) {
      return unreadable(text_of("node '", node.name, "' (", node.op, "): its results depend on the platform, which ",
                                arithmetic.name, " does not allow: compute in an arithmetic that promises no bits"));
    }
    if (def.runs_graphs) ISOBIT_RETURN_IF_ERROR(check_graphs_of(node, arithmetic));
  }
  return {};
}

}  // namespace isobit::runtime
