// From an ONNX file to a graph of isobit's operators.
//
// Every operator of the graph has the meaning of ONNX's newest version; what older versions mean is rewritten into it
// (docs/onnx.md). Operands that say where or how large (axes, shapes, pads ...) become attributes where they are known,
// nodes of small constants are computed here, float16 and bfloat16 are widened before an operator that computes and
// rounded once behind it, functions of the file are inlined. The same file and options give the same graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"
#include "isobit/onnx/model.h"

namespace isobit::onnx {

inline constexpr int64_t kOldestOpset = 7, kNewestOpset = 25;  // of ONNX's own domain
inline constexpr int64_t kNewestIr = 13;                       // of the format

struct ImportOptions {
  // Shapes of inputs, in place of what the file says of them; -1: not known before the run. REQUIRED of an input whose
  // rank the file does not say.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  // Extents of named dimensions ("batch").
  std::map<std::string, int64_t> extents = {};
  // Of the graph with all its functions and subgraphs; one that lies d graphs deep counts as 2^d, since every graph
  // around it goes through it again.
  int64_t max_nodes = 1 << 18;
  int max_depth = 32;  // functions that call functions, graphs within graphs
  // Of what is made beside the tensors of the file: nodes, their names and lists, constants that are computed.
  uint64_t max_bytes = uint64_t{2} << 30;
};

struct Imported {
  graph::Graph graph;
  // The initializers of floating-point type that the file brings and a node uses, in the order in which nodes do: what
  // training changes.
  std::vector<graph::ValueId> parameters;
  uint64_t bytes = 0;  // that were made, as ImportOptions::max_bytes counts them
};

// kUnreadable, with the file and the node ("m.onnx: node 'x' (Conv, opset 13): ..."), for an operator, attribute, type
// or shape that isobit does not have, values that nobody makes or two do, nodes that do not follow their inputs, and
// what is over a limit. Bounded in time and memory by the options and the file.
Expected<Imported> import_model(const Model& model, const ImportOptions& options = {});

// Something of the file that no import can succeed with.
struct Unsupported {
  std::string node, op, domain;
  int64_t opset = 0;
  std::string reason;
};

// Every node, those of functions that are used and of subgraphs included, whose operator isobit does not have in the
// version that the file means; in the order of the file. What depends on attributes and shapes is seen by import_model.
std::vector<Unsupported> unsupported_operators(const Model& model);

// What a file holds. Counts are of the file as it is: nodes of functions count once for each function.
struct Summary {
  std::map<std::string, int64_t> operators;  // "Conv" or "com.microsoft.Gelu": how many nodes
  int64_t nodes = 0, functions = 0;
  int64_t tensors = 0, elements = 0, bytes = 0;  // initializers
  int64_t parameters = 0;                        // elements of initializers of floating-point type
};
Summary summary_of(const Model& model);

}  // namespace isobit::onnx
