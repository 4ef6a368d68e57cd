// A witness that says what another one computed: dishonest ones in tests change a part of it.
#pragma once

#include "isobit/dispute/witness.h"

namespace isobit::adversary::testing {

class PassingWitness : public dispute::Witness {
 public:
  explicit PassingWitness(dispute::Witness& computed) : computed_(computed) {}
  const std::vector<train::TraceEntry>& schema() const override { return computed_.schema(); }
  Expected<std::vector<dispute::StepPoint>> points(uint64_t first, uint64_t last) override {
    return computed_.points(first, last);
  }
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override { return computed_.roots(step); }
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override {
    return computed_.values(step, entries);
  }
  dispute::ShownNode node(uint64_t index) override { return computed_.node(index); }
  const verify::GraphTree& graph() const override { return computed_.graph(); }
  Expected<Tensor> given(const dispute::Operand& operand) override { return computed_.given(operand); }
  Expected<verify::ShownLeaves> batch(uint64_t step) override { return computed_.batch(step); }
  Expected<verify::ShownSample> sample(uint64_t step, int64_t position) override {
    return computed_.sample(step, position);
  }
  Expected<const verify::EvaluationTree*> evaluation() override { return computed_.evaluation(); }
  Expected<std::vector<verify::ScoredGraph>> scored_graphs() override { return computed_.scored_graphs(); }
  Expected<dispute::Witness*> scored(uint64_t sample) override { return computed_.scored(sample); }
  Expected<dispute::GraphShowing> shown_graph() override { return computed_.shown_graph(); }
  Expected<std::vector<train::MetricSum>> items(uint64_t metric) override { return computed_.items(metric); }
  Expected<verify::LogTree> log(uint64_t step) override { return computed_.log(step); }
  Expected<std::optional<runtime::EntryPlace>> illegal_entry(uint64_t step) override {
    return computed_.illegal_entry(step);
  }

 protected:
  dispute::Witness& computed() { return computed_; }

 private:
  dispute::Witness& computed_;
};

// One element of one value is another one.
class FalseValueWitness : public PassingWitness {
 public:
  FalseValueWitness(dispute::Witness& computed, uint64_t entry, int64_t element)
      : PassingWitness(computed), entry_(entry), element_(element) {}
  Expected<std::vector<commit::TensorRoot>> roots(uint64_t step) override {
    ISOBIT_TRY(auto roots, computed().roots(step));
    ISOBIT_TRY(const auto changed, values(step, {entry_}));
    ThreadPool pool(1);
    const dispute::TensorIdentity identity = dispute::TensorIdentity::of(schema()[entry_]);
    roots[entry_] = commit::tensor_root(identity.name, changed.at(entry_), identity.layout(), pool);
    return roots;
  }
  Expected<std::map<uint64_t, Tensor>> values(uint64_t step, const std::set<uint64_t>& entries) override {
    ISOBIT_TRY(auto values, computed().values(step, entries));
    const auto found = values.find(entry_);
    if (found == values.end()) return values;
    Tensor& tensor = found->second;
    const size_t size = size_of(tensor.dtype());
    static_cast<uint8_t*>(tensor.raw())[static_cast<size_t>(element_ % tensor.elements()) * size] ^= 1;
    return values;
  }

 private:
  const uint64_t entry_;
  const int64_t element_;
};

}  // namespace isobit::adversary::testing
