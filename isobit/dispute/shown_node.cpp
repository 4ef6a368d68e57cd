#include "isobit/dispute/shown_node.h"

#include <algorithm>
#include <bit>
#include <set>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"

namespace isobit::dispute {
namespace {

using graph::kNoValue;
using Kind = train::TraceEntry::Kind;

// Entries by what makes them.
std::optional<uint64_t> made_by(const std::vector<train::TraceEntry>& schema, Kind kind, uint64_t node, int64_t place) {
  const auto found = std::ranges::find_if(schema, [&](const train::TraceEntry& e) {
    return e.kind == kind && e.node == static_cast<int64_t>(node) && e.place == place;
  });
  if (found == schema.end()) return std::nullopt;
  return static_cast<uint64_t>(found - schema.begin());
}

// Values that are fed have their names in the graph.
std::optional<uint64_t> fed_as(const std::vector<train::TraceEntry>& schema, const std::string& name) {
  const auto found = std::ranges::find_if(schema, [&](const train::TraceEntry& e) {
    return (e.kind == Kind::kState || e.kind == Kind::kBatch || e.kind == Kind::kRate) && e.name == name;
  });
  if (found == schema.end()) return std::nullopt;
  return static_cast<uint64_t>(found - schema.begin());
}

// One reading of what is shown.
class Resolver {
 public:
  Resolver(const ShownNode& shown, const GraphParts& parts, const std::vector<train::TraceEntry>& schema)
      : shown_(shown), parts_(parts), schema_(schema) {}

  Status check(uint64_t index) {
    if (shown_.node.node.index != index) {
      return rejected(text_of("the node shown is ", shown_.node.node.index, ", expected ", index));
    }
    ISOBIT_RETURN_IF_ERROR(verify::verify_graph_node(shown_.node, parts_.graph));
    for (const verify::GraphNodeProof& producer : shown_.producers) {
      ISOBIT_RETURN_IF_ERROR(verify::verify_graph_node(producer, parts_.graph));
      for (size_t p = 0; p < producer.node.outputs.size(); ++p) {
        const int64_t id = producer.node.outputs[p].id;
        if (id != kNoValue) made_[id] = {producer.node.index, static_cast<int64_t>(p)};
      }
    }
    if (shown_.head && verify::digest_of(*shown_.head) != shown_.node.head) {
      return rejected("the head shown is not that of the step's graph");
    }
    return {};
  }

  Expected<Operand> operand(int64_t id) const {
    if (id == kNoValue) return Operand{};
    if (const auto made = made_.find(id); made != made_.end()) {
      const auto entry = made_by(schema_, Kind::kOutput, made->second.first, made->second.second);
      return traced(entry, id);
    }
    if (!shown_.head) return unreadable(text_of("nothing shows where value ", id, " comes from"));
    const auto input = std::ranges::find(shown_.head->inputs, id, &verify::GraphValue::id);
    if (input != shown_.head->inputs.end()) return fed(*input);
    const auto constant = std::ranges::find(shown_.head->initializers, id, &std::pair<int64_t, commit::Digest>::first);
    if (constant == shown_.head->initializers.end()) {
      return unreadable(text_of("nothing shows where value ", id, " comes from"));
    }
    const auto shown = shown_.constants.find(id);
    if (shown == shown_.constants.end()) return unreadable(text_of("constant ", id, " is not shown"));
    ISOBIT_RETURN_IF_ERROR(shown->second.check(constant->second));
    return Operand{Operand::From::kConstant, 0, constant->second, shown->second.identity, shown->second.whole};
  }

 private:
  Expected<Operand> traced(std::optional<uint64_t> entry, int64_t id) const {
    if (!entry) return unreadable(text_of("value ", id, " has no entry in the schema"));
    return Operand{Operand::From::kTrace, *entry, {}, TensorIdentity::of(schema_[*entry])};
  }

  Expected<Operand> fed(const verify::GraphValue& input) const {
    if (const auto entry = fed_as(schema_, input.name)) return traced(entry, input.id);
    if (const auto given = parts_.given.find(input.name); given != parts_.given.end()) {
      const bool narrows = parts_.narrows && input.dtype == DType::kFloat32;
      const DType dtype = narrows ? DType::kFloat64 : input.dtype;
      return Operand{Operand::From::kFrozen, 0,
                     given->second,          {input.name, dtype, input.dims, input.dims.size() < 2 ? 0 : 1},
                     std::nullopt,           narrows};
    }
    const auto shown = shown_.frozen.find(input.id);
    if (shown == shown_.frozen.end() || !parts_.frozen) {
      return unreadable(text_of("frozen parameter '", input.name, "' is not shown"));
    }
    const commit::Digest leaf = commit::leaf_hash(commit::state_leaf({input.name, shown->second.tensor_root}));
    ISOBIT_TRY(const commit::Digest root, commit::inclusion_root(shown->second.inclusion, leaf));
    const commit::StateRoot all{0, {shown->second.inclusion.size, root}};
    if (all.digest() != parts_.frozen->root) {
      return rejected(text_of("frozen parameter '", input.name, "': is not among those of the job"));
    }
    return Operand{Operand::From::kFrozen,
                   0,
                   shown->second.tensor_root,
                   {input.name, input.dtype, input.dims, input.dims.size() < 2 ? 0 : 1}};
  }

  const ShownNode& shown_;
  const GraphParts& parts_;
  const std::vector<train::TraceEntry>& schema_;
  std::map<int64_t, std::pair<uint64_t, int64_t>> made_;  // value -> node and place
};

// The operands as inputs and constants of a graph of their own.
Expected<std::vector<graph::ValueId>> feed(graph::Graph& graph, const verify::GraphNode& node,
                                           const std::vector<Operand>& operands) {
  std::map<int64_t, graph::ValueId> known;
  std::vector<graph::ValueId> ids;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.from == Operand::From::kAbsent) {
      ids.push_back(kNoValue);
      continue;
    }
    const auto [at, is_new] = known.try_emplace(node.inputs[i], kNoValue);
    if (is_new) {
      const std::string name = text_of("operand ", i);
      at->second = operand.whole ? graph.add_initializer(name, *operand.whole)
                                 : graph.add_input(name, operand.dtype(), operand.identity.dims);
    }
    ids.push_back(at->second);
  }
  return ids;
}

}  // namespace

Expected<graph::Attributes> attributes_of(const verify::GraphNode& node,
                                          const std::map<std::string, ShownConstant>& tensors) {
  graph::Attributes attributes;
  for (const auto& [name, attribute] : node.attributes) {
    if (std::holds_alternative<verify::SubgraphAttribute>(attribute)) {
      return unreadable(text_of("attribute '", name, "' is a graph"));
    }
    if (const auto* tensor = std::get_if<verify::TensorAttribute>(&attribute)) {
      const auto found = tensors.find(name);
      if (found == tensors.end() || !found->second.whole) {
        return unreadable(text_of("the tensor of attribute '", name, "' is not shown"));
      }
      ISOBIT_RETURN_IF_ERROR(found->second.check(tensor->root));
      attributes.set(name, *found->second.whole);
      continue;
    }
    std::visit(
        [&](const auto& v) {
          using V = std::decay_t<decltype(v)>;
          if constexpr (!std::is_same_v<V, verify::TensorAttribute> && !std::is_same_v<V, verify::SubgraphAttribute>) {
            attributes.set(name, v);
          }
        },
        attribute);
  }
  return attributes;
}

Status check_outputs(const graph::Graph& graph, const verify::GraphNode& node,
                     const std::vector<graph::ValueId>& made) {
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const verify::GraphValue& said = node.outputs[o];
    if (said.id == kNoValue) continue;
    const graph::Value& value = graph.value(made[o]);
    if (value.dtype != said.dtype || value.dims != said.dims) {
      return rejected(text_of("output ", o, " of node ", node.index, " has another type than its operands give it"));
    }
  }
  return {};
}

judge::Bits Operand::read(judge::Bits bits) const {
  if (!narrows) return bits;
  return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
}

std::map<std::string, ShownConstant> shown_tensors(const graph::Node& node) {
  std::map<std::string, ShownConstant> tensors;
  for (const auto& [name, attribute] : node.attributes.items()) {
    if (const auto* tensor = std::get_if<Tensor>(&attribute)) tensors.emplace(name, ShownConstant::of(name, *tensor));
  }
  return tensors;
}

Status ShownConstant::check(const commit::Digest& root) const {
  const commit::TensorRoot said{identity.header(), tiles};
  bool same = said.digest() == root;
  if (same && whole) {
    ThreadPool alone(1);
    same = whole->has_type(identity.dtype, identity.dims) &&
           commit::tensor_root(identity.name, *whole, identity.layout(), alone) == said;
  }
  return same ? Status() : rejected(text_of("tensor '", identity.name, "': the one shown is another one"));
}

ShownConstant ShownConstant::of(std::string name, const Tensor& tensor) {
  ShownConstant shown{{std::move(name), tensor.dtype(), tensor.shape().dims(), tensor.shape().rank() < 2 ? 0 : 1}, {}};
  ThreadPool alone(1);
  shown.tiles = commit::tensor_root(shown.identity.name, tensor, shown.identity.layout(), alone).tiles;
  if (tensor.bytes() <= kMaxWhole) shown.whole = tensor.clone();
  return shown;
}

ShownNode show_node(const graph::Graph& graph, const verify::GraphTree& tree, uint64_t node,
                    const std::vector<commit::StateEntry>& frozen) {
  ShownNode shown{tree.prove(node), {}, std::nullopt, {}, {}, {}};
  const graph::Node& of = graph.nodes()[node];
  const std::set<graph::ValueId> wanted(of.inputs.begin(), of.inputs.end());
  std::set<graph::ValueId> made;
  for (uint64_t n = 0; n < node; ++n) {
    bool makes = false;
    for (const graph::ValueId id : graph.nodes()[n].outputs) {
      if (id == kNoValue || !wanted.contains(id)) continue;
      makes = true;
      made.insert(id);
    }
    if (makes) shown.producers.push_back(tree.prove(n));
  }
  std::vector<commit::Digest> leaves;
  for (const commit::StateEntry& e : frozen) leaves.push_back(commit::leaf_hash(commit::state_leaf(e)));
  for (const graph::ValueId id : wanted) {
    if (id == kNoValue || made.contains(id)) continue;
    if (!shown.head) shown.head = tree.head();
    const std::string& name = graph.value(id).name;
    if (const Tensor* constant = graph.initializer(id)) {
      shown.constants.emplace(id, ShownConstant::of(name, *constant));
      continue;
    }
    const auto at = std::ranges::find(frozen, name, &commit::StateEntry::name);
    if (at == frozen.end()) continue;
    const auto place = static_cast<uint64_t>(at - frozen.begin());
    shown.frozen.emplace(id, ShownFrozen{at->tensor_root, commit::prove_inclusion(leaves, place)});
  }
  shown.tensors = shown_tensors(of);
  return shown;
}

Expected<ResolvedNode> resolve(const ShownNode& shown, uint64_t index, const GraphParts& parts,
                               const std::vector<train::TraceEntry>& schema) {
  Resolver resolver(shown, parts, schema);
  ISOBIT_RETURN_IF_ERROR(resolver.check(index));
  const verify::GraphNode& node = shown.node.node;
  ResolvedNode resolved{index, std::make_unique<graph::Graph>(), {}, {}};
  for (const int64_t id : node.inputs) {
    ISOBIT_TRY(Operand operand, resolver.operand(id));
    resolved.operands.push_back(std::move(operand));
  }
  ISOBIT_TRY(const std::vector<graph::ValueId> ids, feed(*resolved.graph, node, resolved.operands));
  ISOBIT_TRY(graph::Attributes attributes, attributes_of(node, shown.tensors));
  std::vector<std::string> names;
  for (const verify::GraphValue& output : node.outputs) names.push_back(output.id == kNoValue ? "" : output.name);
  ISOBIT_TRY(const std::vector<graph::ValueId> made,
             resolved.graph->add_node(node.op, ids, std::move(attributes), std::move(names)));
  ISOBIT_RETURN_IF_ERROR(check_outputs(*resolved.graph, node, made));
  const size_t statistics = graph::statistics_of(*resolved.graph, resolved.node()).size();
  for (size_t s = 0; s < statistics; ++s) {
    const auto entry = made_by(schema, Kind::kStatistic, index, static_cast<int64_t>(s));
    if (!entry) return unreadable(text_of("statistic ", s, " of node ", index, " has no entry in the schema"));
    resolved.statistics.push_back(*entry);
  }
  return resolved;
}

}  // namespace isobit::dispute
