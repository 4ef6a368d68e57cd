// A layout that is read has a place for every node, and edges between nodes of the graph.
#include "isobit/report/layout.h"

using namespace isobit;

// The first two bytes: how many nodes and edges the graph has.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t nodes = data[0] % 16, edges = data[1] % 16;
  const auto layout = report::read_plain({reinterpret_cast<const char*>(data) + 2, size - 2}, nodes, edges, "input");
  if (!layout) return 0;
  ISOBIT_CHECK(layout->centres.size() == nodes && layout->edges.size() == edges);
  for (const auto& edge : layout->edges) {
    ISOBIT_CHECK(edge.from < nodes && edge.to < nodes);
    ISOBIT_CHECK(edge.points.size() >= 4 && edge.points.size() % 3 == 1);
    for (const report::Point& p : edge.points) ISOBIT_CHECK(p.x <= report::kMaxSide && p.y <= 2 * report::kMaxSide);
  }
  return 0;
}
