// A graph that is shown whole to somebody who has none, with the names and roots of what it is given: an evaluation's,
// of whose values there is no schema in the job root.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isobit/dispute/shown_node.h"
#include "isobit/verify/graph_tree.h"

namespace isobit::dispute {

struct GraphShowing {
  struct Node {
    verify::GraphNode node;
    std::map<std::string, ShownConstant> tensors;  // by attribute
  };
  verify::GraphHead head;
  std::vector<Node> nodes;
  std::map<int64_t, ShownConstant> constants;  // by value id
  std::vector<commit::StateEntry> state;       // the one that is evaluated, in any order
  std::vector<commit::StateEntry> frozen;      // what the job freezes
};

// What `graph` shows of itself; state and frozen are left to the caller.
GraphShowing show_graph(const graph::Graph& graph, const verify::GraphTree& tree);
// The graph that is shown, under other ids. kRejected unless its root is this one; kUnreadable where it cannot be made
// again from what is shown.
Expected<graph::Graph> graph_of(const GraphShowing& shown, const commit::Digest& root);

void write(ByteWriter& writer, const GraphShowing& shown);
// Accepts exactly what write() writes; checks no root.
Expected<GraphShowing> read_graph_showing(ByteReader& reader, const std::string& what);

}  // namespace isobit::dispute
