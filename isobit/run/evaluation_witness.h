// The evaluation of one sample by the state that a trainer has: what a party to a dispute computes of it again.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "isobit/dispute/witness.h"
#include "isobit/platform/platform.h"
#include "isobit/run/job_root.h"
#include "isobit/run/step_tracer.h"
#include "isobit/train/scored_ranges.h"
#include "isobit/verify/graph_tree.h"

namespace isobit::run {

class EvaluationWitness final : public dispute::Witness {
 public:
  // By the state that the session's trainer has now. Session and engine must outlive it. kUnavailable: no such sample
  // is scored. kUnreadable: the values of the evaluation have no schema.
  static Expected<std::unique_ptr<EvaluationWitness>> open(const Session& session, platform::Engine& engine,
                                                           uint64_t sample);
  uint64_t sample_number() const { return sample_; }

  const std::vector<train::TraceEntry>& schema() const override { return schema_; }
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override;
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override;
  dispute::ShownNode node(uint64_t index) override;
  const verify::GraphTree& graph() const override { return *tree_; }
  Expected<Tensor> given(const dispute::Operand& operand) override;
  // A test sample: that of its place among those that are scored together.
  Expected<verify::ShownSample> sample(uint64_t step, int64_t position) override;
  Expected<dispute::GraphShowing> shown_graph() override;
  Expected<std::vector<train::MetricSum>> items(uint64_t metric) override;
  // It has none of these: kUnavailable.
  Expected<std::vector<dispute::StepPoint>> points(uint64_t first, uint64_t last) override;
  Expected<verify::ShownLeaves> batch(uint64_t step) override;
  Expected<verify::LogTree> log(uint64_t step) override;
  Expected<std::optional<runtime::EntryPlace>> illegal_entry(uint64_t step) override;

 private:
  EvaluationWitness(const Session& session, platform::Engine& engine, uint64_t sample)
      : session_(session), engine_(engine), sample_(sample) {}
  Status prepare();
  Expected<StepTracer> trace(std::set<uint64_t> wanted, StepTracer::Hash hash);

  const Session& session_;
  platform::Engine& engine_;
  const uint64_t sample_;
  train::SampleRange range_;
  train::EvalGraph eval_;
  train::StepGraph step_;
  std::vector<train::TraceEntry> schema_;
  std::optional<verify::GraphTree> tree_;
  std::vector<NamedTensor> state_, frozen_;
};

}  // namespace isobit::run
