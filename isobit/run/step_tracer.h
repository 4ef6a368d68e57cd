// An observer of one training step that hashes every value of its trace, and keeps some of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "isobit/commit/tensor_root.h"
#include "isobit/runtime/executor.h"
#include "isobit/train/trace_schema.h"
#include "isobit/train/trainer.h"

namespace isobit::run {

class StepTracer : public runtime::Observer {
 public:
  // What is hashed: every value, or none. step and schema must outlive it.
  enum class Hash { kAll, kNothing };
  // seen: of the wanted values, as they come to be, in place of keeping them; a value that is replaced
  // (take_state_after) comes twice.
  using See = std::function<void(uint64_t entry, const Tensor& value)>;
  StepTracer(const train::StepGraph& step, const std::vector<train::TraceEntry>& schema, std::set<uint64_t> wanted,
             Hash hash = Hash::kAll, See seen = nullptr);

  // What the step is fed, before it runs. The entries come first, in the order of the step graph's parts.
  void take_feeds(const train::Trainer& trainer, const runtime::Executor::Feeds& feeds, ThreadPool& pool);
  // The same of an inference, whose entries begin with its inputs.
  void take_inputs(const std::vector<NamedTensor>& inputs, ThreadPool& pool);
  // In place of what was seen: the state after the step, where that is not what its operators made.
  void take_state_after(const train::Trainer& trainer, ThreadPool& pool);

  bool wants_statistics() const override { return true; }
  Status before_stage(const runtime::NodeRun& run) override;
  Status after_stage(const runtime::NodeRun& run) override;

  // The first entry that was not seen.
  std::optional<size_t> missing() const;
  std::vector<commit::TensorRoot> take_roots() { return std::move(roots_); }
  std::map<uint64_t, Tensor> take_values() { return std::move(values_); }

 private:
  std::string name_of_output(const train::TraceEntry& e) const;
  void take(size_t index, const Tensor& tensor, ThreadPool& pool);

  const train::StepGraph& step_;
  const std::vector<train::TraceEntry>& schema_;
  const std::set<uint64_t> wanted_;
  const Hash hash_;
  const See seen_;
  std::map<std::string, size_t> outputs_;
  std::map<std::pair<int64_t, int64_t>, size_t> statistics_;  // by node and place
  std::map<std::string, size_t> nodes_;                       // by the name of the first output
  std::vector<commit::TensorRoot> roots_;
  std::vector<bool> known_;
  std::map<uint64_t, Tensor> values_;
};

}  // namespace isobit::run
