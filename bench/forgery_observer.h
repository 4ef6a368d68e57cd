// Tries forged rounding logs on every logged output of a step, as an auditor on the same platform would meet them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isobit/runtime/stages/ovt_stage.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::bench {

struct Forgeable {
  std::string op;
  uint64_t elements = 0;
  uint64_t sparse = 0;    // an entry that says another value than the exact one rounds to is taken, without a finding
  uint64_t found = 0;     // one is taken, as a finding: it is beyond the job's bound
  uint64_t refused = 0;   // some bound reaches another value, and no entry for it is taken
  uint64_t reversed = 0;  // ovt: reversing the honest decision (up for down) gives another value
  uint64_t any = 0;       // ovt: some decision gives another value
};

// What the real followers said to single forged entries.
struct Trials {
  uint64_t agreed = 0;
  uint64_t differed = 0;  // from what the count says
  uint64_t taken = 0;     // accepted and moved the value
  uint64_t refused = 0;
};

// Tries everything on copies of what the kernels computed. Sparse logs speak of inner products only, ovt of every
// rounded output.
class ForgeryObserver final : public runtime::Observer {
 public:
  // trials: at most so many forged entries an operator's output, of either kind.
  ForgeryObserver(const runtime::RoundingRules& rules, int trials) : rules_(rules), trials_wanted_(trials) {}
  void begin_step(uint64_t step) { step_ = step; }
  Status before_stage(const runtime::NodeRun& run) override;

  const std::map<std::string, Forgeable>& tensors() const { return tensors_; }  // by node and output
  const Trials& sparse_trials() const { return sparse_trials_; }
  const Trials& ovt_trials() const { return ovt_trials_; }

 private:
  struct Suspect;
  Status look_at_product(const runtime::NodeRun& run);
  std::vector<Suspect> judge(const runtime::NodeRun& run) const;
  void try_entry(const runtime::NodeRun& run, const std::vector<log::SparseEntry>& honest, const Suspect& suspect);
  void look_at_decisions(const runtime::NodeRun& run);

  const runtime::RoundingRules rules_;
  const int trials_wanted_;
  uint64_t step_ = 1;
  std::map<std::string, Forgeable> tensors_;
  Trials sparse_trials_, ovt_trials_;
};

}  // namespace isobit::bench
