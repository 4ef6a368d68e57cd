// The only place that tells the kinds of log apart for those who record or follow one.
#include "isobit/runtime/stages/ovt_stage.h"
#include "isobit/runtime/stages/sparse_stage.h"

namespace isobit::runtime {

std::unique_ptr<LogRecorder> make_recorder(const RoundingRules& rules, SelfCheck self_check) {
  if (rules.log == log::Kind::kOvt) return std::make_unique<OvtRecorder>(rules, self_check);
  return std::make_unique<SparseRecorder>(rules, self_check);
}

std::unique_ptr<LogFollower> make_follower(const RoundingRules& rules, OnIllegal on_illegal) {
  if (rules.log == log::Kind::kSparse) return std::make_unique<SparseFollower>(rules, on_illegal);
  ISOBIT_CHECK(on_illegal == OnIllegal::kEndStep);
  return std::make_unique<OvtFollower>(rules);
}

}  // namespace isobit::runtime
