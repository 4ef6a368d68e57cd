// One training step as one single-assignment graph: forward, loss, backward, clipping, optimizer.
//
// Its node order is the order of execution and the schema of an operator trace: a pure function of the job and the
// dataset's shape. Its real values are of the type that the job's arithmetic computes in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isobit/data/data_shape.h"
#include "isobit/models/network.h"
#include "isobit/train/job.h"

namespace isobit::train {

// A piece of training state: what a step reads, and what replaces it.
struct StateSlot {
  std::string name;  // "conv1.weight", "conv1.weight/momentum", "bn1.running_mean"
  graph::ValueId in;
  graph::ValueId out;
  models::Init init;
  int64_t parameter = -1;  // place in Model::parameters; -1: optimizer state or buffer
};

// A parameter or buffer that no step changes: an input of the graph that is the same in every step, and no part of the
// state.
struct FrozenSlot {
  std::string name;
  graph::ValueId in;
  models::Init init;
  int64_t parameter = -1;  // as in StateSlot
};

struct StepGraph {
  graph::Graph graph;                            // outputs: the loss, then StateSlot::out of each slot
  std::vector<graph::ValueId> inputs;            // one for each of data::DataShape::inputs, in their order
  graph::ValueId target = graph::kNoValue;       // with the elements of Batch::target; kNoValue for a target of kNone
  graph::ValueId lr = graph::kNoValue;           // float64 scalar
  graph::ValueId step = graph::kNoValue;         // int64 scalar, where dropout needs it
  graph::ValueId beta1_power = graph::kNoValue;  // float64 scalars, Adam only
  graph::ValueId beta2_power = graph::kNoValue;
  std::vector<StateSlot> slots;
  std::vector<FrozenSlot> frozen;
  std::vector<graph::ValueId> losses;  // of each micro-batch, where its backward pass begins; of a whole batch, one
  // Which values a step computes is known before the run, so that a trace has a schema and a step can be disputed value
  // by value: every shape is known, and no node has graphs within it (If, Loop, Scan).
  bool disputable = true;
  std::vector<std::string> remarks;  // what of the network its owner should know: a sentence each
};

// Whether an optimizer keeps something of that name beside a parameter: "NAME/momentum", "NAME/m", "NAME/v".
bool is_companion(std::string_view kind);

// Building allocates names and shapes, never a tensor, whatever sizes the job asks for. Errors: kUnreadable for a model
// that does not fit the data, for one that cannot be trained (naming the node without a gradient), for a pattern of
// model.freeze that names nothing, and for inner products too long for the job's arithmetic.
Expected<StepGraph> build_step_graph(const Job& job, const data::DataShape& data,
                                     const models::Network& network = *models::built_in());
Expected<StepGraph> build_step_graph(const Job& job, const data::Dataset& dataset,
                                     const models::Network& network = *models::built_in());

// The same network, always in float32, for inference on `batch` samples; outputs: row losses, the output. Parameters
// and buffers are inputs with the names of the step graph's slots, frozen ones included.
struct EvalGraph {
  graph::Graph graph;
  std::vector<graph::ValueId> inputs;
  graph::ValueId target = graph::kNoValue;
  int64_t batch = 0;
  std::vector<std::pair<std::string, graph::ValueId>> state;
  graph::ValueId given = graph::kNoValue;  // the output as the network gives it, before the loss arranges it
};

Expected<EvalGraph> build_eval_graph(const Job& job, const data::DataShape& data, int64_t batch,
                                     const models::Network& network = *models::built_in());
Expected<EvalGraph> build_eval_graph(const Job& job, const data::Dataset& dataset, int64_t batch,
                                     const models::Network& network = *models::built_in());
// For as few samples as it can be built: what a job commits to.
Expected<EvalGraph> build_eval_graph(const Job& job, const data::DataShape& data, const models::Network& network);

// How many samples an evaluation scores, and how many of them at a time (but for the last batch). A loss that is an
// output is that of one sample, where batches may have one; where they have another size none is scored.
int64_t evaluation_samples(const Job& job, int64_t test_count, const models::Network& network = *models::built_in());
int64_t evaluation_batch(const Job& job, int64_t samples, const models::Network& network = *models::built_in());
// The same for who knows of the network its models::Network::only_batch() alone.
int64_t evaluation_samples(const Job& job, int64_t test_count, int64_t only_batch);
int64_t evaluation_batch(const Job& job, int64_t samples, int64_t only_batch);

// A number of samples that graphs are built for to see what in them counts samples: extents that are none of samples
// are seldom a multiple of it (7, say, many feature maps have).
inline constexpr int64_t kProbeBatch = 13;

// The batches, in ascending order, that graphs of inference of a network from a file are built for: those that an
// evaluation of `test_count` samples scores, one sample, and kProbeBatch, from which exports are made. Where the file
// fixes one, that alone. A file may make another network of each, so that a job commits to all.
std::vector<int64_t> committed_batches(const Job& job, int64_t test_count, const models::Network& network);

}  // namespace isobit::train
