// A party to a dispute that has a run on its disk: whatever it is asked it computes again, from the run's nearest
// checkpoint or its initial state.
#pragma once

#include <memory>
#include <optional>

#include "isobit/dispute/witness.h"
#include "isobit/platform/platform.h"
#include "isobit/run/bundle_replay.h"
#include "isobit/run/evaluation_witness.h"
#include "isobit/run/open_run.h"
#include "isobit/run/step_tracer.h"
#include "isobit/verify/graph_tree.h"

namespace isobit::run {

class RunWitness final : public dispute::Witness {
 public:
  struct As {
    // Speaks for the run's trainer, whose points are those of its transcript as far as that has them.
    bool is_trainer = true;
    // How the steps are computed by somebody who does not compute them as the job says; then states are what it leaves
    // behind, and a log is written anew.
    std::optional<Conduct> conduct = std::nullopt;
    // Of a logged job: whose log decides near-ties, in place of the run's own; where it says what it may not, the exact
    // values do. It must outlive the witness.
    const RunWitness* judged = nullptr;
  };
  // Errors: those of open_run and open_session; kUnreadable for a job whose steps have no schema.
  static Expected<std::unique_ptr<RunWitness>> open(const OpenRequest& request, const platform::Platform& platform,
                                                    const As& as);

  const bundle::BundleReader& reader() const { return opened_.reader; }
  const Session& session() const { return session_; }
  platform::Engine& engine() { return engine_; }

  const std::vector<train::TraceEntry>& schema() const override { return schema_; }
  Expected<std::vector<dispute::StepPoint>> points(uint64_t first, uint64_t last) override;
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override;
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override;
  Status visit(uint64_t step, const std::set<uint64_t>& entries, const See& see) override;
  dispute::ShownNode node(uint64_t index) override;
  const verify::GraphTree& graph() const override { return *tree_; }
  Expected<Tensor> given(const dispute::Operand& operand) override;
  Expected<verify::ShownLeaves> batch(uint64_t step) override;
  Expected<verify::ShownSample> sample(uint64_t step, int64_t position) override;
  Expected<verify::LogTree> log(uint64_t step) override;
  Expected<std::optional<runtime::EntryPlace>> illegal_entry(uint64_t step) override;

  bool judges_a_log() const { return as_.judged != nullptr; }
  bool misbehaves() const { return as_.conduct.has_value(); }
  // The first step after `after`, where both have one state, in which the transcript says something else than is
  // computed here; nothing where there is none among its steps. Stands behind its last step then.
  Expected<std::optional<uint64_t>> first_difference(const verify::Transcript& theirs, uint64_t after);
  // Of where that left off.
  Expected<commit::Digest> state_root() { return session_.state_root(engine_.pool()); }
  Expected<const verify::EvaluationTree*> evaluation() override;
  Expected<std::vector<verify::ScoredGraph>> scored_graphs() override;
  Expected<dispute::Witness*> scored(uint64_t sample) override;

 private:
  RunWitness(OpenedRun opened, const platform::Platform& platform, const As& as);
  Status prepare(const Limits& limits);
  int64_t sample_at(uint64_t step, int64_t position) const;
  Expected<std::unique_ptr<RunReplay>> stand_after(uint64_t step);
  Expected<std::unique_ptr<RunReplay>> replay_to(uint64_t start, uint64_t step);
  Expected<StepTracer> trace(uint64_t step, std::set<uint64_t> wanted, StepTracer::Hash hash, const See& see = nullptr);

  OpenedRun opened_;
  platform::Engine engine_;
  const As as_;
  Session session_;
  ReplayTally tally_;
  std::unique_ptr<BundleReplays> replays_;
  std::vector<train::TraceEntry> schema_;
  std::optional<verify::GraphTree> tree_;
  std::vector<commit::StateEntry> frozen_;  // by name
  // What was computed last: who asks whether there is ground for a dispute answers its first question next.
  std::pair<uint64_t, uint64_t> points_of_{};
  std::vector<dispute::StepPoint> points_;
  std::optional<verify::EvaluationTree> evaluation_;
  std::vector<verify::ScoredGraph> graphs_;
  std::unique_ptr<EvaluationWitness> scored_;
};

}  // namespace isobit::run
