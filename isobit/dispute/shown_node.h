// A node of a step's graph that is shown to somebody who has no graph: what it is, and where each of its operands comes
// from. Everything leads to the job root's parts; nothing is believed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/commit/tensor_root.h"
#include "isobit/dispute/shown_tensor.h"
#include "isobit/graph/graph.h"
#include "isobit/train/trace_schema.h"
#include "isobit/verify/graph_tree.h"
#include "isobit/verify/job_parts.h"

namespace isobit::dispute {

// A constant of the graph, or a tensor in an attribute. What its tensor root is of, and the whole of it where it is
// small enough to be shown at once (kMaxWhole bytes).
struct ShownConstant {
  static constexpr uint64_t kMaxWhole = 1 << 16;
  TensorIdentity identity;
  commit::SizedRoot tiles;
  std::optional<Tensor> whole = std::nullopt;

  // kRejected unless the tensor root has this digest.
  Status check(const commit::Digest& root) const;
  static ShownConstant of(std::string name, const Tensor& tensor);
};

void write(ByteWriter& writer, const ShownConstant& constant);
Expected<ShownConstant> read_constant(ByteReader& reader);
// Of the entries of a map as they come: whether the next key is above the last one.
template <class Map, class Key>
Status insert_next(ByteReader& reader, Map& map, Key key, typename Map::mapped_type value) {
  if (!map.empty() && map.rbegin()->first >= key) return reader.fail("key", "the keys are not strictly increasing");
  map.emplace_hint(map.end(), std::move(key), std::move(value));
  return {};
}

// A frozen parameter's place among those that the job root's parts commit to.
struct ShownFrozen {
  commit::Digest tensor_root{};
  commit::InclusionProof inclusion;
  bool operator==(const ShownFrozen&) const = default;
};

struct ShownNode {
  verify::GraphNodeProof node;
  std::vector<verify::GraphNodeProof> producers;  // of the inputs that other nodes make, strictly increasing by node
  std::optional<verify::GraphHead> head;          // where an input is the graph's or a constant
  std::map<int64_t, ShownConstant> constants;     // by value id
  std::map<int64_t, ShownFrozen> frozen;          // by value id
  std::map<std::string, ShownConstant> tensors;   // by attribute
};

// frozen: in the order of their tree (by name). REQUIRES a static graph that `tree` is the tree of.
ShownNode show_node(const graph::Graph& graph, const verify::GraphTree& tree, uint64_t node,
                    const std::vector<commit::StateEntry>& frozen);

// Of the attributes of a node, those that are tensors.
std::map<std::string, ShownConstant> shown_tensors(const graph::Node& node);
// The attributes of a node, with these tensors among them.
Expected<graph::Attributes> attributes_of(const verify::GraphNode& node,
                                          const std::map<std::string, ShownConstant>& tensors);
// kRejected unless the values that the node made have the types that it says.
Status check_outputs(const graph::Graph& graph, const verify::GraphNode& node, const std::vector<graph::ValueId>& made);

Bytes encode(const ShownNode& shown);
// Accepts exactly what encode() writes; checks no proof.
Expected<ShownNode> decode_shown_node(ByteView data, const std::string& what);

// Where an operand's elements are committed to.
struct Operand {
  enum class From : uint8_t { kAbsent, kTrace, kConstant, kFrozen };
  From from = From::kAbsent;
  uint64_t entry = 0;     // kTrace: in the schema
  commit::Digest root{};  // kConstant, kFrozen: of the tensor
  TensorIdentity identity;
  std::optional<Tensor> whole = std::nullopt;  // kConstant, where it was shown
  // Its elements are float64, and the node takes them as float32.
  bool narrows = false;
  DType dtype() const { return narrows ? DType::kFloat32 : identity.dtype; }
  judge::Bits read(judge::Bits bits) const;  // an element as the node takes it
};

// The node alone in a graph of its own, with what is known of its operands.
struct ResolvedNode {
  uint64_t index = 0;
  std::unique_ptr<graph::Graph> graph;  // of this node
  std::vector<Operand> operands;        // by input
  std::vector<uint64_t> statistics;     // entries in the schema
  const graph::Node& node() const { return graph->nodes()[0]; }
};

// What single nodes and their operands lead to.
struct GraphParts {
  commit::Digest graph{};
  std::optional<verify::FrozenParameters> frozen;
  // Inputs that are no values of the trace, by name, with their tensor roots: of an evaluation the state, and what is
  // frozen.
  std::map<std::string, commit::Digest> given;
  bool narrows = false;  // where these are float64, they are taken as float32

  // Of a step.
  static GraphParts of(const verify::JobRootParts& parts) { return {parts.step_graph, parts.frozen, {}}; }
};

// kRejected where the parts do not show it to be node `index` of the step's graph, with operands that are what they are
// shown to be; kUnreadable for a node that cannot stand alone. `schema`: the whole of it, as the parts bind it.
Expected<ResolvedNode> resolve(const ShownNode& shown, uint64_t index, const GraphParts& parts,
                               const std::vector<train::TraceEntry>& schema);

}  // namespace isobit::dispute
