// One training step as one single-assignment graph: forward, loss, backward, clipping, optimizer.
//
// Its node order is the order of execution and the schema of an operator trace: a pure function of the job and the
// dataset's shape. Its real values are of the type that the job's arithmetic computes in.
#pragma once

#include <string>
#include <vector>

#include "isobit/data/data_shape.h"
#include "isobit/models/model.h"
#include "isobit/train/job.h"

namespace isobit::train {

// A piece of training state: what a step reads, and what replaces it.
struct StateSlot {
  std::string name;  // "conv1.weight", "conv1.weight/momentum", "bn1.running_mean"
  graph::ValueId in;
  graph::ValueId out;
  models::Init init;
  int64_t parameter = -1;  // place in Model::parameters; -1: optimizer state or buffer, which starts constant
};

struct StepGraph {
  graph::Graph graph;  // outputs: the loss, then StateSlot::out of each slot
  std::vector<graph::ValueId> inputs;            // one for each of data::DataShape::inputs, in their order
  graph::ValueId target = graph::kNoValue;       // with the elements of Batch::target; kNoValue for a target of kNone
  graph::ValueId lr = graph::kNoValue;           // float64 scalar
  graph::ValueId step = graph::kNoValue;         // int64 scalar, where dropout needs it
  graph::ValueId beta1_power = graph::kNoValue;  // float64 scalars, Adam only
  graph::ValueId beta2_power = graph::kNoValue;
  std::vector<StateSlot> slots;
};

// Building allocates names and shapes, never a tensor, whatever sizes the job asks for. Errors: kUnreadable for a model
// that does not fit the data, and for one with inner products too long for the job's arithmetic.
Expected<StepGraph> build_step_graph(const Job& job, const data::DataShape& data);
Expected<StepGraph> build_step_graph(const Job& job, const data::Dataset& dataset);

// The same network, always in float32, for inference on `batch` samples; outputs: row losses, logits. Parameters and
// buffers are inputs with the names of the step graph's slots.
struct EvalGraph {
  graph::Graph graph;
  std::vector<graph::ValueId> inputs;
  graph::ValueId target = graph::kNoValue;
  int64_t batch = 0;
  std::vector<std::pair<std::string, graph::ValueId>> state;
};

Expected<EvalGraph> build_eval_graph(const Job& job, const data::DataShape& data, int64_t batch);
Expected<EvalGraph> build_eval_graph(const Job& job, const data::Dataset& dataset, int64_t batch);

// How many samples an evaluation scores, and how many of them at a time (but for the last batch).
int64_t evaluation_samples(const Job& job, int64_t test_count);
int64_t evaluation_batch(const Job& job, int64_t samples);

}  // namespace isobit::train
