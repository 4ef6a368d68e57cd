// What a party to a dispute has computed, as whatever can compute the job again gives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/dispute/bodies.h"
#include "isobit/runtime/stages/log_follower.h"
#include "isobit/tensor/tensor.h"
#include "isobit/train/trace_schema.h"

namespace isobit::dispute {

// Every method may fail for this machine's own reasons. Steps are 1 for the first.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual const std::vector<train::TraceEntry>& schema() const = 0;
  // Of the steps first + 1 .. last.
  virtual Expected<std::vector<StepPoint>> points(uint64_t first, uint64_t last) = 0;
  // Of every value of a step, in the order of the schema.
  virtual Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) = 0;
  // These values of it, by entry of the schema.
  virtual Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) = 0;
  // The same one at a time, as the step makes them: what is said of a value last counts. Holds no tensor longer than
  // that, where the witness can do without.
  using See = std::function<void(uint64_t entry, const Tensor& value)>;
  virtual Status visit(uint64_t step, const std::set<uint64_t>& entries, const See& see) {
    ISOBIT_TRY(const auto values, this->values(step, entries));
    for (const auto& [entry, value] : values) see(entry, value);
    return {};
  }
  // The step's graph as a tree, for its head and single nodes.
  virtual const verify::GraphTree& graph() const = 0;
  // A node of it as it is shown to others; and an operand that is a constant or a frozen parameter.
  virtual ShownNode node(uint64_t index) = 0;
  virtual Expected<Tensor> given(const Operand& operand) = 0;
  // The leaves of the batch of a step in the dataset; and the sample at a position of it.
  virtual Expected<verify::ShownLeaves> batch(uint64_t step) = 0;
  virtual Expected<verify::ShownSample> sample(uint64_t step, int64_t position) = 0;
  // The evaluation of the last state, as this party has it; and what shows the graphs that it may run.
  virtual Expected<const verify::EvaluationTree*> evaluation() { return unavailable("there is no evaluation"); }
  virtual Expected<std::vector<verify::ScoredGraph>> scored_graphs() { return unavailable("there is no evaluation"); }
  // The witness of the values of one sample of it: there the step does not matter. It lives until this one is
  // asked for a step or for another sample.
  virtual Expected<Witness*> scored(uint64_t) { return unavailable("there is no evaluation"); }
  // Of such a witness: the graph. Of any other there is none.
  virtual Expected<GraphShowing> shown_graph() { return unavailable("the graph of a step is not shown whole"); }
  // ... and the values that a metric of the sample adds up.
  virtual Expected<std::vector<train::MetricSum>> items(uint64_t) { return unavailable("a step has no scores"); }
  // Of a job that keeps a rounding log: that of the trainer of the run, of a step; and the first of its entries that
  // may not stand, if there is one.
  virtual Expected<verify::LogTree> log(uint64_t step) = 0;
  virtual Expected<std::optional<runtime::EntryPlace>> illegal_entry(uint64_t step) = 0;
};

}  // namespace isobit::dispute
