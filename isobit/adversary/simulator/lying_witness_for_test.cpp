// What a dishonest party answers by its lie.
#include "isobit/adversary/simulator/lie_for_test.h"

namespace isobit::adversary::simulator {

Expected<std::vector<dispute::StepPoint>> LyingWitness::points(uint64_t first, uint64_t last) {
  ISOBIT_TRY(auto points, computed().points(first, last));
  for (uint64_t t = first + 1; t <= last; ++t) {
    if (lie_.points.contains(t)) points[t - first - 1] = lie_.points.at(t);
  }
  return points;
}

Expected<std::vector<commit::TensorRoot>> LyingWitness::roots(uint64_t step) {
  ISOBIT_TRY(auto roots, computed().roots(step));
  if (step != lie_.step) return roots;
  for (const auto& [entry, root] : lie_.roots) roots[entry] = root;
  if (lie_.drops_value) roots.pop_back();
  return roots;
}

Expected<std::map<uint64_t, Tensor>> LyingWitness::values(uint64_t step, const std::set<uint64_t>& entries) {
  ISOBIT_TRY(auto values, computed().values(step, entries));
  if (step != lie_.step) return values;
  for (auto& [entry, tensor] : values) {
    if (lie_.values.contains(entry)) tensor = lie_.values.at(entry);
  }
  return values;
}

Expected<const verify::EvaluationTree*> LyingWitness::evaluation() {
  if (lie_.tree) return &*lie_.tree;
  return computed().evaluation();
}

class LyingWitness::Scored final : public adversary::testing::PassingWitness {
 public:
  Scored(dispute::Witness& honest, const Lie& lie) : PassingWitness(honest), lie_(lie) {}
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override {
    ISOBIT_TRY(auto roots, computed().roots(step));
    for (const auto& [entry, root] : lie_.scored_roots) roots[entry] = root;
    return roots;
  }
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override {
    ISOBIT_TRY(auto values, computed().values(step, entries));
    for (auto& [entry, tensor] : values) {
      if (lie_.scored_values.contains(entry)) tensor = lie_.scored_values.at(entry);
    }
    return values;
  }

 private:
  const Lie& lie_;
};

Expected<dispute::Witness*> LyingWitness::scored(uint64_t sample) {
  ISOBIT_TRY(dispute::Witness * honest, computed().scored(sample));
  if (lie_.scored_values.empty() || lie_.sample != sample) return honest;
  scored_ = std::make_shared<Scored>(*honest, lie_);
  return scored_.get();
}

Expected<verify::LogTree> LyingWitness::log(uint64_t step) {
  if (of_trainer_.log && of_trainer_.step == step) return *of_trainer_.log;
  ISOBIT_TRY(verify::LogTree tree, computed().log(step));
  return tree;
}

Expected<std::optional<runtime::EntryPlace>> LyingWitness::illegal_entry(uint64_t step) {
  if (lie_.log && lie_.step == step) return lie_.accused;
  if (of_trainer_.log && of_trainer_.step == step) return of_trainer_.forged_entry;
  return std::optional<runtime::EntryPlace>();
}

}  // namespace isobit::adversary::simulator
