// Nodes that together are one of ONNX's: what isobit/graph/expansions/convolution.h makes of a convolution along three
// axes and of a deformable one, whose windows no operator of ONNX lays out alone.
#pragma once

#include <string>
#include <vector>

#include "isobit/graph/graph.h"

namespace isobit::onnx {

struct Contraction {
  std::vector<size_t> nodes;  // of the graph, ascending; the last one makes the result
  std::string op;             // ONNX's
  std::vector<graph::ValueId> inputs;
  graph::Attributes attributes;
  int64_t since;  // opset
};

// Those of the graph. What stands between their nodes has no other reader: `readers` counts operands and outputs, by
// value.
std::vector<Contraction> contractions_of(const graph::Graph& graph, const std::vector<int>& readers);

}  // namespace isobit::onnx
