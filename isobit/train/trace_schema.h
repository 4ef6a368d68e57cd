// What a trace of one training step holds: every value of the step in the order in which it comes to be, with the type,
// shape and layout of its tensor root. A pure function of the step graph, so that two parties who agree on the job
// agree on what entry i of a trace means. Byte layout: docs/formats/trace-schema.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/tensor/tensor.h"
#include "isobit/train/step_graph.h"

namespace isobit::train {

struct TraceEntry {
  // The numbers are those of the format.
  enum class Kind : uint8_t {
    kState = 0,      // read from the state before the step
    kBatch = 1,      // input and labels of the step's samples
    kRate = 2,       // learning rate, step and powers of beta: formulas of job and step
    kOutput = 3,     // of a node
    kStatistic = 4,  // of a node, as it was before any stage; before all of the node's outputs
  };
  Kind kind = Kind::kOutput;
  int64_t node = -1;   // of kOutput and kStatistic, in the step graph; else -1
  int64_t place = -1;  // the output, or the statistic; else -1
  // Of the tensor root. What replaces a piece of state has its name, so that its root is that of the state after.
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<int64_t> dims;
  int split = 0;  // as in commit::TensorLayout; 0 for rank 0 and 1, which are flat
  bool operator==(const TraceEntry&) const = default;
};

const char* name_of(TraceEntry::Kind kind);

// In the order of the trace: state in slot order, batch, rates, then of every node its statistics and its outputs.
//
// Splits: rank 0 and 1 have 0. State, what replaces it and the gradients that its replacement reads have 1, as in state
// roots. Of other values, rank 3 and matrices (graph::OpDef::on_matrices) are cut before the last dimension; rank 4 and
// more after the second, so that the terms of one output of a convolution lie in few tiles. REQUIRES a static graph.
std::vector<TraceEntry> trace_schema(const StepGraph& step);

// An inference as a step without state and rates: its inputs are the batch (StepGraph::inputs), and `disputable` says
// whether its values have a schema: every shape is known, no node has graphs within it, and each output is an input or
// made by a node.
StepGraph inference_step(const graph::Graph& graph);
// In the order of the trace: the inputs, then of every node its statistics and its outputs. Splits as of a step, but
// for 1 of the graph's inputs and outputs, whose roots anybody can compute who has but these. REQUIRES a disputable
// inference_step.
std::vector<TraceEntry> inference_schema(const StepGraph& inference);

// An evaluation of some samples as a step without rates: its inputs are those of the graph that are not `given`, by
// name, as state and what is frozen are.
StepGraph evaluation_step(const graph::Graph& graph, const std::function<bool(const std::string&)>& given);
// In the order of the trace: the inputs, then of every node its statistics and its outputs. Splits as of a step, but
// for 0 of the graph's outputs, so that the scores of one row lie side by side. REQUIRES a disputable evaluation_step.
std::vector<TraceEntry> evaluation_schema(const StepGraph& evaluation);

// The canonical bytes of entry `index`.
Bytes trace_entry_bytes(const TraceEntry& entry, uint64_t index);

}  // namespace isobit::train
