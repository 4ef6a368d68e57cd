// Where the nodes and edges of a graph lie on a drawing, as Graphviz lays it out.
//
// Graphviz (Debian's package graphviz) runs as a child, with limits on its memory and time, and is given numbers alone:
// no name out of a file reaches it. Its answer is read as a stranger's.
#pragma once

#include <utility>
#include <vector>

#include "isobit/base/status.h"

namespace isobit::report {

struct Point {
  double x = 0, y = 0;
};

struct Layout {
  double width = 0, height = 0;  // of the drawing, in inches; y grows downwards
  std::vector<Point> centres;    // of each node
  struct Edge {
    size_t from = 0, to = 0;
    std::vector<Point> points;  // of a Bezier curve: 1 + 3 n
  };
  std::vector<Edge> edges;
};

// The size of every node, in inches.
constexpr double kNodeWidth = 1.9, kNodeHeight = 0.4;
// What is drawn at most. kMaxSide: of the drawing, in inches.
constexpr size_t kMaxDrawnNodes = 4'000, kMaxDrawnEdges = 12'000;
constexpr double kMaxSide = 100'000;

// kUnavailable with the reason and what to do: no Graphviz here, too large a graph, or no answer in `seconds`.
// REQUIRES edges between nodes below `nodes`. `program`: the layout program, looked for on PATH.
Expected<Layout> lay_out(size_t nodes, const std::vector<std::pair<size_t, size_t>>& edges, int seconds = 30,
                         const char* program = "dot");

// The answer of "dot -Tplain" for such a graph; kUnreadable for any other. `what` starts the message.
Expected<Layout> read_plain(std::string_view text, size_t nodes, size_t edges, const std::string& what);

}  // namespace isobit::report
