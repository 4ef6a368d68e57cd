// A network that was built for so many samples, made one for any number of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::onnx {

struct OpenBatch {
  graph::Graph graph;  // values under the same numbers and names; the dimension of the samples is -1
  // By value: how many places of that dimension each sample has; 0: the value is the same for any number of samples.
  std::vector<int64_t> places;

  // What an export calls the open dimensions of the graph's inputs and outputs: "batch", "64*batch".
  std::map<std::string, std::vector<std::string>> dim_names(const std::string& batch) const;
};

// `inputs` have the samples along their first dimension; every shape of the graph is known. A number of samples that is
// nothing else in the network (a prime that no other extent is a multiple of) leaves the least doubt what is one.
// Only constants that count samples are rewritten: shapes of Reshape, and blocks that take all samples become Slice.
// Each value is looked at for two numbers of samples: it has none, or exactly one dimension that grows with them, and
// what follows from values with samples has them, too. Where that is not so (samples are added up, a constant has an
// element for each, a shape is fixed) nobody can say what another number of samples would mean: kUnreadable, naming the
// node. REQUIRES at least 2 samples, as many in each of `inputs`.
Expected<OpenBatch> open_batch(const graph::Graph& graph, const std::vector<graph::ValueId>& inputs);

}  // namespace isobit::onnx
