// From an ONNX file to a graph of isobit's operators.
//
// Every operator of the graph has the meaning of ONNX's newest version; what older versions mean is rewritten into it
// (docs/onnx.md). Operands that say where or how large (axes, shapes, pads ...) become attributes where they are known,
// nodes of small constants are computed here, float16 and bfloat16 are widened before an operator that computes and
// rounded once behind it, functions of the file are inlined. The same file and options give the same graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isobit/graph/graph.h"
#include "isobit/onnx/model.h"

namespace isobit::onnx {

inline constexpr int64_t kOldestOpset = 7, kNewestOpset = 25;  // of ONNX's own domain
inline constexpr int64_t kNewestMlOpset = 5;                   // of ai.onnx.ml
inline constexpr int64_t kNewestIr = 13;                       // of the format

// Nodes that mean one thing in training and another in inference.
enum class Form : uint8_t {
  kAsWritten,  // as the file says; a Dropout that drops is refused
  kInference,  // BatchNormalization by the running statistics, Dropout does nothing, whatever training_mode says
  // BatchNormalization by the batch's statistics, with what its running ones become; Dropout drops. Not within graphs
  // of nodes (If, Loop, Scan), nor where the running statistics are no initializers of the file: inference there.
  kTraining,
};

struct FormOptions {
  Form form = Form::kAsWritten;
  uint64_t seed = 0;               // of what is dropped
  bool unbiased_variance = false;  // what running variances are averages of (models::RunningVariance)
  // Of a running mean or variance, by its name: whether the batch norm is to stay as it is in inference. Null: none is.
  std::function<bool(const std::string&)> keeps = nullptr;
};

struct ImportOptions {
  // Shapes of inputs, in place of what the file says of them; -1: not known before the run. REQUIRED of an input whose
  // rank the file does not say.
  std::map<std::string, std::vector<int64_t>> shapes = {};
  // Extents of named dimensions ("batch").
  std::map<std::string, int64_t> extents = {};
  // Floating-point types of inputs that are fed in another one than the file says: converted behind the input.
  std::map<std::string, DType> types = {};
  // These outputs of the file alone, in this order, with the nodes and the inputs that they need; empty: all there is.
  std::vector<std::string> outputs = {};
  // Float initializers of the main graph are inputs of the graph: see Imported::parameters. But for scalars, those
  // without elements, and those that hold an infinity (masks), which stay constants; and so do those of graphs within
  // nodes, unless lift_weights has moved them. One that holds a NaN is an error for the node that uses it.
  bool opens_parameters = false;
  FormOptions form = {};
  // Of the graph with all its functions and subgraphs; one that lies d graphs deep counts as 2^d, since every graph
  // around it goes through it again.
  int64_t max_nodes = 1 << 18;
  int max_depth = 32;  // functions that call functions, graphs within graphs
  // Of what is made beside the tensors of the file: nodes, their names and lists, constants that are computed.
  uint64_t max_bytes = uint64_t{2} << 30;
  // Set where an import fails that might not with more than max_bytes. Null: nobody asks.
  bool* lacked_memory = nullptr;
};

// A running mean or variance of a batch norm, as an input of the graph.
struct RunningStatistic {
  graph::ValueId value = graph::kNoValue;
  graph::ValueId updated = graph::kNoValue;  // what it becomes in a training step; kNoValue: it stays
};

// What Form made of the nodes that it speaks of, by the names of their first outputs.
struct FormReport {
  std::vector<std::string> batch_norms, dropouts;              // in training form
  std::vector<std::pair<std::string, std::string>> inference;  // left in inference form, and why
};

struct Imported {
  graph::Graph graph;
  // The initializers of floating-point type that the file brings and a node uses, in the order in which nodes do: what
  // training changes. With opens_parameters inputs of the graph, without those that are constants or statistics;
  // float16 and bfloat16 ones are fed as float32 and rounded behind the input. A number of the file that says where or
  // how large (the scales of Resize) is read as it stands and is none of them.
  std::vector<graph::ValueId> parameters;
  // Of forms other than kAsWritten, where parameters are opened.
  std::vector<RunningStatistic> statistics;
  graph::ValueId step = graph::kNoValue;  // int64 scalar, an input: the number of the step, where something is dropped
  FormReport report;
  // Names of float initializers that are used and not opened, those of graphs within nodes included.
  std::vector<std::string> constants;
  uint64_t bytes = 0;  // that were made, as ImportOptions::max_bytes counts them
};

// kUnreadable, with the file and the node ("m.onnx: node 'x' (Conv, opset 13): ..."), for an operator, attribute, type
// or shape that isobit does not have, values that nobody makes or two do, nodes that do not follow their inputs, and
// what is over a limit. Bounded in time and memory by the options and the file.
Expected<Imported> import_model(const Model& model, const ImportOptions& options = {});

// ImportOptions::max_bytes where so much memory may be taken in all and the model has `model_bytes` of it
// (Model::bytes): a quarter of what is left, since there are up to three graphs of a model: as imported, for the shapes
// of its inputs, and as it is run.
uint64_t max_import_bytes(uint64_t max_memory, uint64_t model_bytes);

// Inputs that the file gives no value and that these outputs need; of all outputs where none are named.
std::vector<ValueDef> needed_inputs(const Model& model, const std::vector<std::string>& outputs = {});

// The data of the initializers that opens_parameters makes inputs, under the names that these have and as they are fed:
// float16 and bfloat16 as float32; those that no node uses as well. The model is of no use afterwards. REQUIRES that
// none were dropped.
std::vector<NamedTensor> take_weights(Model& model);

// Something of the file that no import can succeed with.
struct Unsupported {
  std::string node, op, domain;
  int64_t opset = 0;
  std::string reason;
};

// Every node, those of functions that are used and of subgraphs included, whose operator isobit does not have in the
// version that the file means; in the order of the file. What depends on attributes and shapes is seen by import_model.
std::vector<Unsupported> unsupported_operators(const Model& model);

// What a file holds. Counts are of the file as it is: nodes of functions count once for each function, those of
// branches and bodies (the graphs of If, Loop and Scan) among the others.
struct Summary {
  std::map<std::string, int64_t> operators;  // "Conv" or "com.microsoft.Gelu": how many nodes
  int64_t nodes = 0, functions = 0;
  // Initializers of the model's graph; not those of branches and bodies.
  int64_t tensors = 0, elements = 0, bytes = 0;
  int64_t parameters = 0;  // elements of those of floating-point type
};
Summary summary_of(const Model& model);

}  // namespace isobit::onnx
