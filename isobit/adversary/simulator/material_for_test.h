// One small run, computed once, over which thousands of simulated disputes are held: what an honest party answers is
// looked up, and what a dishonest one answers is that with something changed.
#pragma once

#include <memory>
#include <random>
#include <string>

#include "isobit/dispute/player.h"
#include "isobit/dispute/subject.h"
#include "isobit/run/run_witness.h"
#include "isobit/run/testing.h"

namespace isobit::adversary::simulator {

// All randomness of a game comes from its seed, and is the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t next() { return engine_(); }
  uint64_t below(uint64_t n) { return engine_() % n; }
  bool chance(double p) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < p; }
  commit::Digest digest();

 private:
  std::mt19937_64 engine_;
};

// Remembers whatever it was once told.
class CachedWitness final : public dispute::Witness {
 public:
  explicit CachedWitness(dispute::Witness& computed) : computed_(computed) {}
  const std::vector<train::TraceEntry>& schema() const override { return computed_.schema(); }
  Expected<std::vector<dispute::StepPoint>> points(uint64_t first, uint64_t last) override;
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override;
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override;
  dispute::ShownNode node(uint64_t index) override;
  const verify::GraphTree& graph() const override { return computed_.graph(); }
  Expected<Tensor> given(const dispute::Operand& operand) override { return computed_.given(operand); }
  Expected<verify::ShownLeaves> batch(uint64_t step) override;
  Expected<verify::ShownSample> sample(uint64_t step, int64_t position) override;
  Expected<verify::LogTree> log(uint64_t step) override;
  Expected<std::optional<runtime::EntryPlace>> illegal_entry(uint64_t step) override;
  Expected<const verify::EvaluationTree*> evaluation() override { return computed_.evaluation(); }
  Expected<std::vector<verify::ScoredGraph>> scored_graphs() override { return computed_.scored_graphs(); }
  // Here it stays, whatever is asked of another step or sample.
  Expected<dispute::Witness*> scored(uint64_t sample) override;
  Expected<dispute::GraphShowing> shown_graph() override;
  Expected<std::vector<train::MetricSum>> items(uint64_t metric) override;

 private:
  class OfSample;
  dispute::Witness& computed_;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<dispute::StepPoint>> points_;
  std::map<uint64_t, std::vector<commit::TensorRoot>> roots_;
  std::map<uint64_t, std::map<uint64_t, Tensor>> values_;
  std::map<uint64_t, dispute::ShownNode> nodes_;
  std::map<uint64_t, verify::ShownLeaves> batches_;
  std::map<std::pair<uint64_t, int64_t>, verify::ShownSample> samples_;
  std::map<uint64_t, std::pair<std::shared_ptr<OfSample>, std::shared_ptr<CachedWitness>>> scored_;
  std::optional<dispute::GraphShowing> shown_graph_;
};

inline constexpr uint8_t kClientSeed = 1, kTrainerSeed = 2, kRefereeSeed = 3, kChallengerSeed = 77, kStrangerSeed = 99;

// Why two honest parties have other values of one step: under logged arithmetic near-ties are decided by the log alone.
enum class Difference : uint8_t {
  kNone,
  kEntry,    // an entry decides as the exact value does not; the challenger's copy of it was damaged on its disk
  kMissing,  // the trainer's platform was beyond the calibrated bound at a near-tie, and wrote no entry
  kBeyond,   // ... and wrote one; the challenger's copy was damaged
};

class Material {
 public:
  // Of digits-cnn: four steps, of which the third and the last one's states are committed, on 40 samples each, so that
  // there are sums of several chunks. overrides: of fields of the job.
  explicit Material(const std::vector<std::string>& overrides) : Material(overrides, Difference::kNone, 0) {}
  // One whose honest parties differ first at `step`: not every near-tie reaches a state.
  static std::unique_ptr<Material> of_honest_parties(const std::vector<std::string>& overrides, Difference difference,
                                                     uint64_t step);

  static std::unique_ptr<Material> of_job(const train::Job& job) {
    return std::unique_ptr<Material>(new Material(job, "simulated_" + job.name, Difference::kNone, 0));
  }

  // The trainer's, and the challenger's where they differ.
  dispute::Witness& honest() { return *honest_; }
  dispute::Witness& honest(dispute::Party party) {
    return party == dispute::Party::kChallenger && challenger_ ? *challenger_ : *honest_;
  }
  // The step at which two honest parties differ.
  std::optional<uint64_t> differs_at() const { return differs_at_; }
  const dispute::Subject& subject() const { return *subject_; }
  const verify::EngagementTerms& terms() const { return subject_->engagement.terms; }
  const verify::JobRootParts& parts() const { return run_->session().parts; }
  const verify::Transcript& transcript() const { return run_->reader().transcript(); }
  bool logged() const { return subject_->rules.logged; }
  ThreadPool& pool() { return pool_; }

 private:
  Material(const std::vector<std::string>& overrides, Difference difference, uint64_t step);
  Material(const train::Job& job, const std::string& folder, Difference difference, uint64_t step);
  bool differs();
  void differ(run::OpenRequest open, Difference difference);

  run::testing::Folder folder_;
  ThreadPool pool_{1};
  std::unique_ptr<run::RunWitness> run_;
  std::unique_ptr<CachedWitness> honest_;
  std::optional<dispute::Subject> subject_;
  std::optional<uint64_t> differs_at_;
  std::unique_ptr<run::RunWitness> copy_, challenger_run_;
  std::unique_ptr<CachedWitness> challenger_;
};

}  // namespace isobit::adversary::simulator
