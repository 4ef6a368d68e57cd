// A party to a dispute about a receipt, or the server in a spot check of one: whatever it is asked it computes again,
// from the model and its inputs.
#pragma once

#include <memory>
#include <set>

#include "isobit/dispute/witness.h"
#include "isobit/lab/receipt.h"
#include "isobit/verify/graph_tree.h"

namespace isobit::lab {

class InferenceWitness final : public dispute::Witness {
 public:
  // stage: of somebody who does not compute what the model says; not owned, null: none. Errors: those of
  // ComputationReady::prepare; kUnreadable for a model whose values have no schema.
  static Expected<std::unique_ptr<InferenceWitness>> open(const InferenceRequest& request,
                                                          const platform::Platform& platform,
                                                          runtime::Stage* stage = nullptr);

  const verify::Computation& computation() const { return ready_->computation(); }
  platform::Engine& engine() { return engine_; }

  const std::vector<train::TraceEntry>& schema() const override { return ready_->schema(); }
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override;
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override;
  Status visit(uint64_t step, const std::set<uint64_t>& entries, const See& see) override;
  dispute::ShownNode node(uint64_t index) override;
  const verify::GraphTree& graph() const override { return *tree_; }
  Expected<Tensor> given(const dispute::Operand& operand) override;
  // An inference has none of these: kUnavailable.
  Expected<std::vector<dispute::StepPoint>> points(uint64_t first, uint64_t last) override;
  Expected<verify::ShownLeaves> batch(uint64_t step) override;
  Expected<verify::ShownSample> sample(uint64_t step, int64_t position) override;
  Expected<verify::LogTree> log(uint64_t step) override;
  Expected<std::optional<runtime::EntryPlace>> illegal_entry(uint64_t step) override;

 private:
  InferenceWitness(const platform::Platform& platform, runtime::Stage* stage) : engine_(platform), stage_(stage) {}
  Expected<run::StepTracer> trace(std::set<uint64_t> wanted, run::StepTracer::Hash hash, const See& see = nullptr);

  platform::Engine engine_;
  runtime::Stage* const stage_;
  std::optional<ComputationReady> ready_;
  std::optional<verify::GraphTree> tree_;
};

}  // namespace isobit::lab
