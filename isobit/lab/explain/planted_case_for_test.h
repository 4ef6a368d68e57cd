// A model, two platforms of which one has a planted operator, and what is said of them.
#pragma once

#include <set>

#include "isobit/lab/explain/planted_kernels_for_test.h"
#include "isobit/lab/explain/recorded_model_for_test.h"

namespace isobit::lab::explain::testing {

struct Case {
  Kind kind;
  std::string value;  // where
  Plant usual;        // of one platform; empty: our own kernels
  Plant planted;      // of the other
  bool confirmed = true;
  std::string setting = {};  // that a trial is to find
};

inline Plant plain_loop() { return sums({}); }

// Each beside a plain loop that differs in nothing else.
inline std::vector<Case> product_cases(const std::vector<std::string>& values) {
  std::vector<Case> cases;
  for (const std::string& value : values) {
    cases.push_back({Kind::kSummationOrder, value, plain_loop(), sums({.order = Order::kPairwise})});
    cases.push_back({Kind::kFusedMultiplyAdd, value, plain_loop(), sums({.fused = true})});
    cases.push_back({Kind::kAccumulatorWidth, value, plain_loop(), sums({.wide = true})});
    cases.push_back({Kind::kRounding, value, plain_loop(), sums({.toward_zero = true})});
  }
  return cases;
}

// What every operator of a run makes; the tensors where they are wanted.
class Seen final : public runtime::Observer {
 public:
  using Tensors = std::map<records::Hash128, Bytes>;
  Seen(int64_t step, std::vector<records::ValueRecord>& values, Tensors* tensors)
      : step_(step), values_(values), tensors_(tensors) {}
  Status after_stage(const runtime::NodeRun& run) override {
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      const Tensor& t = run.outputs[o];
      if (!t.defined()) continue;
      values_.push_back({run.graph.value(run.node.outputs[o]).name, run.node.op, name_of(t.dtype()), t.shape().dims(),
                         hash_of(t), "", false, step_});
      if (tensors_ != nullptr)
        tensors_->insert_or_assign(hash_of(t), Bytes(t.byte_view().begin(), t.byte_view().end()));
    }
    return {};
  }

 private:
  const int64_t step_;
  std::vector<records::ValueRecord>& values_;
  Tensors* const tensors_;
};

class PlantedCause : public RecordedModel {
 protected:
  void record_planted(const std::string& name, PlantedBackend& backend) {
    const platform::Platform p = platform::parse_platform("ordered@portable/1t").value();
    request_.replay.own[name] = {p, "float32", &backend};
    record(name, p, backend);
  }
  std::set<std::string> introduced() const {
    std::set<std::string> names;
    for (size_t r = 0; r < causes_.replays.forks.size(); ++r) {
      if (causes_.replays.forks[r].origin() == Origin::kIntroduced) names.insert(value_of(r));
    }
    return names;
  }

  // The operator that was planted is blamed and no other one, and the kind is right.
  void expect_named(const Case& c) {
    SCOPED_TRACE(std::string(name_of(c.kind)) + " at " + c.value);
    begin();
    PlantedBackend usual(
        c.value, c.usual ? c.usual : [](auto& call, const auto& run) { return run(call); });
    PlantedBackend planted(c.value, c.planted);
    if (c.usual) {
      record_planted("one/1t", usual);
    } else {
      record("ordered@portable/1t", platform::parse_platform("ordered@portable/1t").value(), backends::native());
    }
    record_planted("another/1t", planted);
    look();
    expect_blamed(c);
  }
  void expect_blamed(const Case& c) {
    ASSERT_EQ(causes_.replays.problem, "");
    EXPECT_EQ(introduced(), std::set<std::string>{c.value}) << said();
    ASSERT_EQ(causes_.diagnoses.size(), 1u) << said();
    const DiagnosedPair& pair = causes_.diagnoses.front();
    EXPECT_EQ(value_of(pair.replay), c.value);
    EXPECT_STREQ(name_of(pair.diagnosis.kind), name_of(c.kind)) << said();
    EXPECT_EQ(pair.diagnosis.confirmed, c.confirmed) << said();
    EXPECT_TRUE(pair.diagnosis.also.empty()) << said();
    if (c.setting.empty()) return;
    ASSERT_EQ(causes_.trials.size(), 1u) << said();
    EXPECT_EQ(causes_.trials[0].to, c.setting);
    EXPECT_TRUE(causes_.trials[0].agrees);
  }
};

}  // namespace isobit::lab::explain::testing
