// From a graph of isobit's operators to a model that other tools open: ONNX Runtime, PyTorch, viewers, onnx.checker.
//
// Most operators are ONNX's own; what ONNX has as an input (shapes, axes, pads) becomes a constant input again, and
// isobit's own operators of inference are written as those of ONNX that mean the same (docs/onnx.md). Whoever imports
// the model (import.h) gets the same bits of the same inputs under ordered arithmetic.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isobit/graph/graph.h"
#include "isobit/onnx/import.h"
#include "isobit/onnx/model.h"

namespace isobit::onnx {

inline constexpr int64_t kOldestWrittenOpset = 17;  // of ONNX's own domain; the newest is kNewestOpset

struct ExportOptions {
  // 0: the lowest one that has every node as it is written.
  int64_t opset = 0;
  std::string name = "isobit";  // of the graph
  std::string producer = "isobit", producer_version = {};
  std::vector<std::pair<std::string, std::string>> metadata = {};
  // What dimensions of inputs and outputs that are not known before the run are called, by the name of the value and
  // axis by axis ("" or absent: nothing). Dimensions of one name are one extent (open_batch.h makes such names).
  std::map<std::string, std::vector<std::string>> dim_names = {};
};

// The graph's outputs are the model's. `values` are those of inputs that the model holds, by name; the other inputs
// that an output follows from are the model's own. Names of values and nodes stay, nodes that no output follows from
// are left out. Tensors are shared with the graph and `values`, not copied. The same graph, values and options give the
// same model. Real attributes become the nearest float32, which is all that ONNX has for them. Errors (kUnreadable)
// name the node: an operator, or a use of it, that has no meaning in ONNX (gradients, optimizers, a type that ONNX does
// not have it for); a value that the graph has no such input for, or of another type or shape. kUsage: an opset that is
// not written, or that a node does not have.
Expected<Model> export_model(const graph::Graph& graph, std::span<const NamedTensor> values,
                             const ExportOptions& options = {});

}  // namespace isobit::onnx
