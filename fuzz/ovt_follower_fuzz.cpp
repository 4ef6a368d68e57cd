// Any ovt log before an auditor: no crash, a log of another shape is refused, and what is accepted is one of the two
// values around the result, at most one spacing from the nearer.
#include "fuzz/follower_fuzz.h"
#include "isobit/runtime/stages/ovt_stage.h"

using namespace isobit;

namespace {

// The first byte: what is changed in the shape of an honest log, if anything; then five decisions a byte.
log::OvtLog log_of(fuzz::Source input, const std::vector<log::LoggedOutput>& schema) {
  const uint8_t change = input.byte();
  log::OvtLog log;
  for (const log::LoggedOutput& s : schema) {
    log::OvtOutput output{s.node, s.output, std::vector<uint8_t>(s.elements, 1)};
    for (size_t i = 0; i < output.decisions.size() && !input.empty();) {
      unsigned packed = input.byte();
      for (int d = 0; d < 5 && i < output.decisions.size(); ++d, packed /= 3)
        output.decisions[i++] = static_cast<uint8_t>(packed % 3);
    }
    log.outputs.push_back(std::move(output));
  }
  log::OvtOutput& victim = log.outputs[change / 8u % log.outputs.size()];
  if (change % 8 == 1) victim.decisions.pop_back();
  if (change % 8 == 2) victim.decisions.push_back(2);
  if (change % 8 == 3) victim.node += 1;
  if (change % 8 == 4) victim.output += 1;
  if (change % 8 == 5) log.outputs.pop_back();
  if (change % 8 == 6) log.outputs.push_back({victim.node + 100, 0, {1}});
  return log;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::FollowedNet net;
  static const std::vector<log::LoggedOutput> schema = runtime::logged_outputs(net.graph(), log::Kind::kOvt);
  static const std::vector<Tensor> honest = [] {
    runtime::RoundingStage rounding(32);
    return net.run(rounding).value();
  }();
  runtime::RoundingRules rules;
  rules.log = log::Kind::kOvt;
  rules.distance = false;  // taken as published; with the bounds see sparse_follower_fuzz
  runtime::OvtFollower follower(rules);
  follower.begin_step(1, log_of({data, size}, schema), runtime::StateBefore::kAgreed);
  const auto outputs = net.run(follower);
  const bool accepted = outputs.has_value() && follower.end_step().has_value();
  ISOBIT_CHECK(accepted != follower.fault().has_value());
  // Of the right shape it can only be refused for a correction outside of inner products.
  const bool whole = size == 0 || data[0] % 8 == 0 || data[0] % 8 == 7;
  ISOBIT_CHECK(whole || !accepted);
  if (!accepted) {
    // Of another shape, it may be refused for a correction that comes before what is missing or too many.
    ISOBIT_CHECK(!whole || follower.fault()->kind != log::FaultKind::kDamaged);
    return 0;
  }
  for (size_t n = 0; n < outputs->size(); ++n) {
    for (size_t i = 0; i < honest[n].span<double>().size(); ++i) {
      const double own = honest[n].data<double>()[i], taken = (*outputs)[n].data<double>()[i];
      ISOBIT_CHECK(std::fabs(taken - own) <= kernels::rounding::spacing(own, 32));
    }
  }
  return 0;
}
