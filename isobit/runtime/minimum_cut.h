// Vertices of least weight together that part a source from a sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace isobit::runtime {

class MinimumCut {
 public:
  static constexpr int64_t kNever = INT64_MAX / 4;  // the weight of a vertex that is in no cut

  // Returns its number. REQUIRES 0 <= weight; that of all vertices which may be cut, together, is below kNever.
  int add_vertex(int64_t weight);
  void add_edge(int from, int to);
  void from_source(int vertex);
  void to_sink(int vertex);

  // The cut of least weight that is nearest to the sink, ascending. REQUIRES that there is one.
  // Source: E. A. Dinic, Algorithm for solution of a problem of maximum flow in networks with power estimation, 1970.
  std::vector<int> cut();

 private:
  struct Arc {
    int to = 0;
    int64_t room = 0;  // what may still flow; the arc back is the one beside it (number ^ 1)
  };
  // Each vertex is two ends with an arc between them, as wide as its weight.
  static int in(int vertex) { return 2 * vertex + 2; }
  static int out(int vertex) { return 2 * vertex + 3; }
  void add_arc(int from, int to, int64_t room);
  bool find_levels();
  bool push();

  static constexpr int kSource = 0, kSink = 1;
  std::vector<Arc> arcs_;
  std::vector<std::vector<int>> of_{2};  // by end: its arcs
  std::vector<int> level_;
  std::vector<size_t> next_;  // by end: the arc to be tried
  int vertices_ = 0;
};

}  // namespace isobit::runtime
