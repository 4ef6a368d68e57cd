#include "isobit/dispute/shown_graph.h"

#include "isobit/base/text.h"

namespace isobit::dispute {
namespace {

using graph::kNoValue;
using graph::ValueId;

constexpr uint64_t kMaxNode = 1 << 20, kMaxHead = 1 << 26, kMaxName = 1 << 16;

// One making of a graph from what is shown of it.
class Maker {
 public:
  explicit Maker(const GraphShowing& shown) : shown_(shown) {}

  Expected<graph::Graph> make() {
    for (const verify::GraphValue& input : shown_.head.inputs) {
      ISOBIT_RETURN_IF_ERROR(know(input.id, graph_.add_input(input.name, input.dtype, input.dims), input.name));
    }
    for (const auto& [id, root] : shown_.head.initializers) ISOBIT_RETURN_IF_ERROR(add_constant(id, root));
    for (size_t n = 0; n < shown_.nodes.size(); ++n) {
      const verify::GraphNode& node = shown_.nodes[n].node;
      if (node.index != n) return rejected(text_of("node ", node.index, " is shown at place ", n));
      ISOBIT_RETURN_IF_ERROR(add_node(shown_.nodes[n]));
    }
    for (const int64_t id : shown_.head.outputs) {
      ISOBIT_TRY(const ValueId output, find(id));
      graph_.add_output(output);
    }
    return std::move(graph_);
  }

 private:
  Status know(int64_t id, ValueId made, const std::string& name) {
    if (graph_.value(made).name != name || !known_.emplace(id, made).second) {
      return unreadable(text_of("value ", id, ", '", name, "', comes twice"));
    }
    return {};
  }

  Expected<ValueId> find(int64_t id) const {
    if (id == kNoValue) return kNoValue;
    const auto found = known_.find(id);
    if (found == known_.end()) return unreadable(text_of("nothing shows where value ", id, " comes from"));
    return found->second;
  }

  // One that is too large to be shown is as good as an input: nothing but its type can be asked for.
  Status add_constant(int64_t id, const commit::Digest& root) {
    const auto shown = shown_.constants.find(id);
    if (shown == shown_.constants.end()) return unreadable(text_of("constant ", id, " is not shown"));
    const ShownConstant& c = shown->second;
    ISOBIT_RETURN_IF_ERROR(c.check(root));
    const std::string& name = c.identity.name;
    return know(
        id,
        c.whole ? graph_.add_initializer(name, *c.whole) : graph_.add_input(name, c.identity.dtype, c.identity.dims),
        name);
  }

  Status add_node(const GraphShowing::Node& shown) {
    const verify::GraphNode& node = shown.node;
    std::vector<ValueId> inputs;
    for (const int64_t id : node.inputs) {
      ISOBIT_TRY(const ValueId input, find(id));
      inputs.push_back(input);
    }
    ISOBIT_TRY(graph::Attributes attributes, attributes_of(node, shown.tensors));
    std::vector<std::string> names;
    for (const verify::GraphValue& output : node.outputs) names.push_back(output.id == kNoValue ? "" : output.name);
    ISOBIT_TRY(const std::vector<ValueId> made, graph_.add_node(node.op, inputs, std::move(attributes), names));
    ISOBIT_RETURN_IF_ERROR(check_outputs(graph_, node, made));
    for (size_t o = 0; o < made.size(); ++o) {
      if (made[o] == kNoValue) continue;
      ISOBIT_RETURN_IF_ERROR(know(node.outputs[o].id, made[o], node.outputs[o].name));
    }
    return {};
  }

  const GraphShowing& shown_;
  graph::Graph graph_;
  std::map<int64_t, ValueId> known_;
};

void write(ByteWriter& w, const std::vector<commit::StateEntry>& entries) {
  w.u64(entries.size());
  for (const commit::StateEntry& e : entries) {
    w.text(e.name);
    w.fixed(e.tensor_root);
  }
}

Expected<std::vector<commit::StateEntry>> read_entries(ByteReader& r) {
  ISOBIT_TRY(const uint64_t count, r.u64("tensors"));
  std::vector<commit::StateEntry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    commit::StateEntry e;
    ISOBIT_TRY(e.name, r.text("name of a tensor", kMaxName));
    ISOBIT_TRY(e.tensor_root, commit::read_digest(r, "tensor root"));
    entries.push_back(std::move(e));
  }
  return entries;
}

}  // namespace

GraphShowing show_graph(const graph::Graph& graph, const verify::GraphTree& tree) {
  GraphShowing shown;
  shown.head = tree.head();
  for (size_t n = 0; n < tree.nodes().size(); ++n) {
    shown.nodes.push_back({tree.nodes()[n], shown_tensors(graph.nodes()[n])});
  }
  for (const graph::Initializer& constant : graph.initializers()) {
    shown.constants.emplace(constant.value, ShownConstant::of(graph.value(constant.value).name, constant.tensor));
  }
  return shown;
}

Expected<graph::Graph> graph_of(const GraphShowing& shown, const commit::Digest& root) {
  std::vector<verify::GraphNode> nodes;
  for (const GraphShowing::Node& node : shown.nodes) nodes.push_back(node.node);
  if (verify::graph_root(shown.head, nodes) != root) return rejected("the graph shown is another one than the job's");
  return Maker(shown).make();
}

void write(ByteWriter& w, const GraphShowing& shown) {
  w.bytes(verify::encode(shown.head));
  w.u64(shown.nodes.size());
  for (const GraphShowing::Node& node : shown.nodes) {
    w.bytes(verify::encode(node.node));
    w.u64(node.tensors.size());
    for (const auto& [name, tensor] : node.tensors) {
      w.text(name);
      write(w, tensor);
    }
  }
  w.u64(shown.constants.size());
  for (const auto& [id, constant] : shown.constants) {
    w.i64(id);
    write(w, constant);
  }
  write(w, shown.state);
  write(w, shown.frozen);
}

Expected<GraphShowing> read_graph_showing(ByteReader& r, const std::string& what) {
  GraphShowing shown;
  ISOBIT_TRY(const ByteView head, r.bytes("head", kMaxHead));
  ISOBIT_TRY(shown.head, verify::decode_graph_head(head, what + ", head"));
  ISOBIT_TRY(const uint64_t nodes, r.u64("nodes"));
  for (uint64_t n = 0; n < nodes; ++n) {
    GraphShowing::Node node;
    ISOBIT_TRY(const ByteView bytes, r.bytes("node", kMaxNode));
    ISOBIT_TRY(node.node, verify::decode_graph_node(bytes, text_of(what, ", node ", n)));
    ISOBIT_TRY(const uint64_t tensors, r.u64("tensors of attributes"));
    for (uint64_t i = 0; i < tensors; ++i) {
      ISOBIT_TRY(std::string name, r.text("attribute", kMaxName));
      ISOBIT_TRY(ShownConstant tensor, read_constant(r));
      ISOBIT_RETURN_IF_ERROR(insert_next(r, node.tensors, std::move(name), std::move(tensor)));
    }
    shown.nodes.push_back(std::move(node));
  }
  ISOBIT_TRY(const uint64_t constants, r.u64("constants"));
  for (uint64_t i = 0; i < constants; ++i) {
    ISOBIT_TRY(const int64_t id, r.i64("constant"));
    ISOBIT_TRY(ShownConstant constant, read_constant(r));
    ISOBIT_RETURN_IF_ERROR(insert_next(r, shown.constants, id, std::move(constant)));
  }
  ISOBIT_TRY(shown.state, read_entries(r));
  ISOBIT_TRY(shown.frozen, read_entries(r));
  return shown;
}

}  // namespace isobit::dispute
