// Nodes whose operands are known are computed where the graph is made, by the kernels that would compute them in a run.
// Internal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"
#include "isobit/runtime/fold.h"

namespace isobit::onnx {

class Folder {
 public:
  Folder();
  // The outputs, or nothing where the node is none to be computed here: it is too large, its result depends on the
  // platform, it has a graph, or it is no valid node (who adds it will see why). Absent inputs are undefined tensors.
  std::optional<std::vector<Tensor>> compute(const std::string& op, const std::vector<Tensor>& inputs,
                                             const graph::Attributes& attributes,
                                             const std::vector<std::string>& outputs);

 private:
  runtime::Folding folding_;
};

}  // namespace isobit::onnx
