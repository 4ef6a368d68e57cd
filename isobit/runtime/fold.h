// Nodes that need not wait for a run: their operands are constants, or only the shapes of their operands count.
#pragma once

#include <vector>

#include "isobit/base/thread_pool.h"
#include "isobit/graph/graph.h"
#include "isobit/runtime/kernel_table.h"

namespace isobit::runtime {

struct FoldOptions {
  uint64_t most_bytes = uint64_t{1} << 20;            // of an operand, and of an output
  uint64_t most_bytes_together = uint64_t{64} << 20;  // of all outputs that are put in
  uint64_t most_work = uint64_t{1} << 32;             // elements that kernels go through for all of them
  // Real outputs as well. Otherwise only integers and truth values are computed in advance, which no stage changes.
  bool reals = false;
};

// The graph with the outputs of such nodes as constants. Values keep their numbers and names; the nodes are left out,
// the others keep their order. A node stays if its result depends on the platform, if it runs graphs or updates state,
// and if its kernel finds an error: that is one of the run then. Determinism class: exact; the kernels that it calls
// give the same bits everywhere. Errors: those of graph::rebuild.
Expected<graph::Graph> fold(const graph::Graph& graph, const FoldOptions& options = {},
                            const KernelTable& table = kernel_table());

// The same as part of another rebuilding (graph::Rebuilding::computed).
class Folding {
 public:
  // The table must outlive it.
  explicit Folding(const FoldOptions& options, const KernelTable& table = kernel_table())
      : options_(options), table_(table), left_(options.most_bytes_together), work_left_(options.most_work) {}
  // Of a node of a graph that has been rebuilt as far as `made`; empty if it stays.
  std::vector<Tensor> outputs_of(const graph::Graph& made, const graph::Node& node);

 private:
  const FoldOptions options_;
  const KernelTable& table_;
  uint64_t left_;  // bytes
  uint64_t work_left_;
  ThreadPool pool_{1};
};

}  // namespace isobit::runtime
