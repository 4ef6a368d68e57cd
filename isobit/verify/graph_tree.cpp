#include "isobit/verify/graph_tree.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/commit/tensor_root.h"

namespace isobit::verify {
namespace {

using graph::Graph;
using graph::kNoValue;
using graph::ValueId;

constexpr std::string_view kRootTag = "isobit.graph", kHeadTag = "isobit.graph-head", kNodeTag = "isobit.graph-node",
                           kProofTag = "isobit.graph-node-proof";
constexpr uint32_t kRootVersion = 2, kNodeVersion = 1, kHeadVersion = 1, kProofVersion = 1;
constexpr uint64_t kMaxNodeBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxNodeProof = 1 << 13;

void write_value(ByteWriter& writer, const GraphValue& value) {
  writer.i64(value.id);
  if (value.id == kNoValue) return;
  writer.text(value.name);
  writer.u8(static_cast<uint8_t>(value.dtype));
  writer.u64(value.dims.size());
  for (int64_t d : value.dims) writer.i64(d);
}

GraphValue value_of(const Graph& graph, ValueId id) {
  if (id == kNoValue) return {};
  const graph::Value& value = graph.value(id);
  return {id, value.name, value.dtype, value.dims};
}

commit::Digest tensor_digest(const std::string& name, const Tensor& tensor, ThreadPool& pool) {
  return commit::tensor_root(name, tensor, {}, pool).digest();
}

GraphAttribute attribute_of(const std::string& name, const graph::Attribute& attribute, ThreadPool& pool) {
  return std::visit(
      [&](const auto& v) -> GraphAttribute {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, Tensor>) {
          return TensorAttribute{tensor_digest(name, v, pool)};
        } else if constexpr (std::is_same_v<V, std::shared_ptr<const Graph>>) {
          return SubgraphAttribute{graph_root(*v, pool)};
        } else {
          return v;
        }
      },
      attribute);
}

GraphNode node_of(const Graph& graph, uint64_t index, ThreadPool& pool) {
  const graph::Node& from = graph.nodes()[index];
  GraphNode node{index, from.op, {from.inputs.begin(), from.inputs.end()}, {}, {}};
  for (ValueId id : from.outputs) node.outputs.push_back(value_of(graph, id));
  for (const auto& [name, attribute] : from.attributes.items()) {
    node.attributes.emplace_back(name, attribute_of(name, attribute, pool));
  }
  return node;
}

GraphHead head_of(const Graph& graph, ThreadPool& pool) {
  GraphHead head;
  for (ValueId id : graph.inputs()) head.inputs.push_back(value_of(graph, id));
  head.outputs.assign(graph.outputs().begin(), graph.outputs().end());
  for (const graph::Initializer& initializer : graph.initializers()) {
    head.initializers.emplace_back(initializer.value,
                                   tensor_digest(graph.value(initializer.value).name, initializer.tensor, pool));
  }
  return head;
}

commit::Digest root_of(const commit::Digest& head, const commit::SizedRoot& nodes) {
  ByteWriter writer;
  writer.fixed(head);
  writer.u64(nodes.size);
  writer.fixed(nodes.root);
  return commit::tagged_hash(kRootTag, kRootVersion, writer.view());
}

// How many items of at least `size` bytes follow; nothing is allocated for more than there is room for.
Expected<uint64_t> read_count(ByteReader& reader, const char* field, uint64_t size) {
  ISOBIT_TRY(const uint64_t count, reader.u64(field));
  if (count > reader.remaining() / size) {
    return reader.fail(field, text_of("found ", count, ", but only ", reader.remaining(), " bytes are left"));
  }
  return count;
}

Expected<std::vector<int64_t>> read_integers(ByteReader& reader, const char* field) {
  ISOBIT_TRY(const uint64_t count, read_count(reader, field, 8));
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (int64_t& value : out) {
    ISOBIT_TRY(value, reader.i64(field));
  }
  return out;
}

Expected<GraphValue> read_value(ByteReader& reader) {
  GraphValue value;
  ISOBIT_TRY(value.id, reader.i64("value"));
  if (value.id == kNoValue) return value;
  if (value.id < 0) return reader.fail("value", text_of("found ", value.id, ", expected at least -1"));
  ISOBIT_TRY(value.name, reader.text("name", kMaxNodeBytes));
  ISOBIT_TRY(const uint8_t dtype, reader.u8("dtype"));
  const std::optional<DType> known = dtype_of_number(dtype);
  if (!known) return reader.fail("dtype", text_of("found ", dtype, ", expected the number of a type (1 to 13)"));
  value.dtype = *known;
  ISOBIT_TRY(value.dims, read_integers(reader, "dims"));
  return value;
}

Expected<GraphAttribute> read_attribute(ByteReader& reader) {
  ISOBIT_TRY(const uint8_t kind, reader.u8("attribute"));
  switch (kind) {
    case 0:
      return reader.i64("attribute").map([](int64_t v) { return GraphAttribute(v); });
    case 1:
      return reader.f64("attribute").map([](double v) { return GraphAttribute(v); });
    case 2:
      return reader.text("attribute", kMaxNodeBytes).map([](std::string v) { return GraphAttribute(std::move(v)); });
    case 3:
      return read_integers(reader, "attribute").map([](std::vector<int64_t> v) {
        return GraphAttribute(std::move(v));
      });
    case 4: {
      ISOBIT_TRY(const uint64_t count, read_count(reader, "attribute", 8));
      std::vector<double> out(static_cast<size_t>(count));
      for (double& value : out) {
        ISOBIT_TRY(value, reader.f64("attribute"));
      }
      return GraphAttribute(std::move(out));
    }
    case 5:
      return commit::read_digest(reader, "attribute").map([](const auto& d) {
        return GraphAttribute(TensorAttribute{d});
      });
    case 6:
      return commit::read_digest(reader, "attribute").map([](const auto& d) {
        return GraphAttribute(SubgraphAttribute{d});
      });
    default:
      return reader.fail("attribute", text_of("found kind ", kind, ", expected 0 to 6"));
  }
}

}  // namespace

Bytes encode(const GraphNode& node) {
  ByteWriter writer;
  write_frame(writer, kNodeTag, kNodeVersion);
  writer.u64(node.index);
  writer.text(node.op);
  writer.u64(node.inputs.size());
  for (int64_t id : node.inputs) writer.i64(id);
  writer.u64(node.outputs.size());
  for (const GraphValue& value : node.outputs) write_value(writer, value);
  writer.u64(node.attributes.size());
  for (const auto& [name, attribute] : node.attributes) {
    writer.text(name);
    writer.u8(static_cast<uint8_t>(attribute.index()));
    std::visit(
        [&writer](const auto& v) {
          using V = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<V, int64_t>) {
            writer.i64(v);
          } else if constexpr (std::is_same_v<V, double>) {
            writer.f64(v);
          } else if constexpr (std::is_same_v<V, std::string>) {
            writer.text(v);
          } else if constexpr (std::is_same_v<V, std::vector<int64_t>>) {
            writer.u64(v.size());
            for (int64_t i : v) writer.i64(i);
          } else if constexpr (std::is_same_v<V, std::vector<double>>) {
            writer.u64(v.size());
            for (double d : v) writer.f64(d);
          } else {
            writer.fixed(v.root);
          }
        },
        attribute);
  }
  return writer.take();
}

Expected<GraphNode> decode_graph_node(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  if (data.size() > kMaxNodeBytes) {
    return reader.fail("node", text_of("has ", data.size(), " bytes, expected at most ", kMaxNodeBytes));
  }
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kNodeTag, kNodeVersion));
  GraphNode node;
  ISOBIT_TRY(node.index, reader.u64("index"));
  ISOBIT_TRY(node.op, reader.text("operator", kMaxNodeBytes));
  ISOBIT_TRY(node.inputs, read_integers(reader, "inputs"));
  ISOBIT_TRY(const uint64_t outputs, read_count(reader, "outputs", 8));
  for (uint64_t i = 0; i < outputs; ++i) {
    ISOBIT_TRY(GraphValue value, read_value(reader));
    node.outputs.push_back(std::move(value));
  }
  ISOBIT_TRY(const uint64_t attributes, read_count(reader, "attributes", 9));
  for (uint64_t i = 0; i < attributes; ++i) {
    ISOBIT_TRY(std::string name, reader.text("attribute name", kMaxNodeBytes));
    if (i > 0 && node.attributes.back().first >= name) {
      return reader.fail("attribute name", "the names are not strictly increasing");
    }
    ISOBIT_TRY(GraphAttribute attribute, read_attribute(reader));
    node.attributes.emplace_back(std::move(name), std::move(attribute));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return node;
}

Bytes encode(const GraphHead& head) {
  ByteWriter writer;
  writer.u64(head.inputs.size());
  for (const GraphValue& input : head.inputs) write_value(writer, input);
  writer.u64(head.outputs.size());
  for (const int64_t id : head.outputs) writer.i64(id);
  writer.u64(head.initializers.size());
  for (const auto& [id, root] : head.initializers) {
    writer.i64(id);
    writer.fixed(root);
  }
  return writer.take();
}

Expected<GraphHead> decode_graph_head(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  GraphHead head;
  ISOBIT_TRY(const uint64_t inputs, read_count(reader, "inputs", 8));
  for (uint64_t i = 0; i < inputs; ++i) {
    ISOBIT_TRY(GraphValue value, read_value(reader));
    head.inputs.push_back(std::move(value));
  }
  ISOBIT_TRY(head.outputs, read_integers(reader, "outputs"));
  ISOBIT_TRY(const uint64_t initializers, read_count(reader, "initializers", 40));
  for (uint64_t i = 0; i < initializers; ++i) {
    ISOBIT_TRY(const int64_t id, reader.i64("initializer"));
    ISOBIT_TRY(const commit::Digest root, commit::read_digest(reader, "tensor root"));
    head.initializers.emplace_back(id, root);
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return head;
}

commit::Digest digest_of(const GraphHead& head) { return commit::tagged_hash(kHeadTag, kHeadVersion, encode(head)); }

GraphTree::GraphTree(const Graph& graph, ThreadPool& pool) : head_(head_of(graph, pool)) {
  for (uint64_t i = 0; i < graph.nodes().size(); ++i) {
    nodes_.push_back(node_of(graph, i, pool));
    hashes_.push_back(commit::leaf_hash(encode(nodes_.back())));
  }
}

commit::Digest GraphTree::root() const {
  return root_of(digest_of(head_), {hashes_.size(), commit::merkle_root(hashes_)});
}

GraphNodeProof GraphTree::prove(uint64_t index) const {
  return {nodes_[index], digest_of(head_), commit::prove_inclusion(hashes_, index)};
}

commit::Digest graph_root(const Graph& graph, ThreadPool& pool) { return GraphTree(graph, pool).root(); }

commit::Digest graph_root(const GraphHead& head, const std::vector<GraphNode>& nodes) {
  std::vector<commit::Digest> hashes;
  for (const GraphNode& node : nodes) hashes.push_back(commit::leaf_hash(encode(node)));
  return root_of(digest_of(head), {hashes.size(), commit::merkle_root(hashes)});
}

Status verify_graph_node(const GraphNodeProof& proof, const commit::Digest& root) {
  constexpr const char* kWhat = "graph node proof";
  if (proof.node.index != proof.inclusion.index) {
    return rejected(text_of(kWhat, ": node ", proof.node.index, " stands at place ", proof.inclusion.index));
  }
  ISOBIT_TRY(const commit::Digest nodes,
             commit::inclusion_root(proof.inclusion, commit::leaf_hash(encode(proof.node))));
  if (root_of(proof.head, {proof.inclusion.size, nodes}) != root) {
    return rejected(text_of(kWhat, ": node ", proof.node.index, " does not lead to the graph"));
  }
  return {};
}

Bytes encode(const GraphNodeProof& proof) {
  ByteWriter writer;
  write_frame(writer, kProofTag, kProofVersion);
  writer.fixed(proof.head);
  writer.bytes(encode(proof.node));
  writer.bytes(commit::encode(proof.inclusion));
  return writer.take();
}

Expected<GraphNodeProof> decode_graph_node_proof(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kProofTag, kProofVersion));
  GraphNodeProof proof;
  ISOBIT_TRY(proof.head, commit::read_digest(reader, "head"));
  ISOBIT_TRY(const ByteView node, reader.bytes("node", kMaxNodeBytes));
  ISOBIT_TRY(proof.node, decode_graph_node(node, what + ", node"));
  ISOBIT_TRY(const ByteView inclusion, reader.bytes("inclusion", kMaxNodeProof));
  ISOBIT_TRY(proof.inclusion, commit::decode_inclusion_proof(inclusion, what + ", inclusion"));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return proof;
}

}  // namespace isobit::verify
