#include "isobit/runtime/promises.h"

#include "isobit/base/text.h"

namespace isobit::runtime {

bool can_promise(const platform::Arithmetic& arithmetic, const graph::OpDef& op) {
  return !arithmetic.promises || op.platform_independent || op.is_inner_product();
}

namespace {

// An inner product that is rounded to float32 and then to a half is rounded twice, and so is not the nearest half.
Status check_types(const graph::Graph& graph, const platform::Arithmetic& arithmetic) {
  if (!arithmetic.corrects) return {};
  for (int64_t id = 0; id < graph.value_count(); ++id) {
    const graph::Value& value = graph.value(static_cast<graph::ValueId>(id));
    if (!HalfTypes::contains(value.dtype)) continue;
    return unreadable(text_of("value '", value.name, "' is ", name_of(value.dtype), ", which ", arithmetic.name,
                              " does not take: its inner products are rounded once, to float32, and these would be "
                              "rounded twice; compute in ordered-1"));
  }
  return {};
}

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
  ISOBIT_RETURN_IF_ERROR(check_types(graph, arithmetic));
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
