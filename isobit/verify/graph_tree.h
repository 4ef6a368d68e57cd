// A graph as a tree over its nodes, whose root the job root binds, so that one node (operator, attributes, inputs,
// types of outputs) can be shown alone. Byte layout: docs/formats/graph.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/base/thread_pool.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/merkle.h"
#include "isobit/graph/graph.h"

namespace isobit::verify {

// A value as a node or the head of a graph has it; dims may hold -1 (not known before the run).
struct GraphValue {
  int64_t id = graph::kNoValue;  // kNoValue: an absent optional output, which has nothing else
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> dims;
  bool operator==(const GraphValue&) const = default;
};

// Tensors and subgraphs stand by their roots.
struct TensorAttribute {
  commit::Digest root{};
  bool operator==(const TensorAttribute&) const = default;
};
struct SubgraphAttribute {
  commit::Digest root{};
  bool operator==(const SubgraphAttribute&) const = default;
};
using GraphAttribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                                    TensorAttribute, SubgraphAttribute>;

struct GraphNode {
  uint64_t index = 0;
  std::string op;
  std::vector<int64_t> inputs;  // ids; kNoValue: an absent optional input
  std::vector<GraphValue> outputs;
  std::vector<std::pair<std::string, GraphAttribute>> attributes;  // strictly increasing by name
  bool operator==(const GraphNode&) const = default;
};

Bytes encode(const GraphNode& node);
// Accepts exactly what encode() writes. kUnreadable for anything else, and for more than 1 MiB.
Expected<GraphNode> decode_graph_node(ByteView data, const std::string& what);

// What a graph takes, gives out and has built in.
struct GraphHead {
  std::vector<GraphValue> inputs;
  std::vector<int64_t> outputs;                                  // ids
  std::vector<std::pair<int64_t, commit::Digest>> initializers;  // id and tensor root
  bool operator==(const GraphHead&) const = default;
};
Bytes encode(const GraphHead& head);
// Accepts exactly what encode() writes.
Expected<GraphHead> decode_graph_head(ByteView data, const std::string& what);
// GraphNodeProof::head.
commit::Digest digest_of(const GraphHead& head);

struct GraphNodeProof {
  GraphNode node;
  commit::Digest head{};  // of inputs, outputs and initializers
  commit::InclusionProof inclusion;
  bool operator==(const GraphNodeProof&) const = default;
};

class GraphTree {
 public:
  GraphTree(const graph::Graph& graph, ThreadPool& pool);
  commit::Digest root() const;
  // REQUIRES index < the number of nodes.
  GraphNodeProof prove(uint64_t index) const;
  const std::vector<GraphNode>& nodes() const { return nodes_; }
  const GraphHead& head() const { return head_; }

 private:
  std::vector<GraphNode> nodes_;
  std::vector<commit::Digest> hashes_;
  GraphHead head_;
};

commit::Digest graph_root(const graph::Graph& graph, ThreadPool& pool);
commit::Digest graph_root(const GraphHead& head, const std::vector<GraphNode>& nodes);

// kRejected with the reason unless the proof leads to `root`, and its node stands where its index says.
Status verify_graph_node(const GraphNodeProof& proof, const commit::Digest& root);

// Canonical bytes; the decoder takes no others, and allocates nothing that the data do not hold.
Bytes encode(const GraphNodeProof& proof);
Expected<GraphNodeProof> decode_graph_node_proof(ByteView data, const std::string& what);

}  // namespace isobit::verify
