// What the operators of a run of our own executor make, by their hashes.
#pragma once

#include <set>

#include "isobit/lab/kernel_name.h"
#include "isobit/lab/measure/protocol.h"
#include "isobit/platform/platform.h"
#include "isobit/runtime/executor.h"

namespace isobit::lab::measure {

// Tensors that are wanted by their hashes go into files of a folder (file_of), up to a number of bytes.
class Keeper {
 public:
  Keeper(fs::path folder, const std::vector<records::Hash128>& wanted, uint64_t most_bytes)
      : folder_(std::move(folder)), wanted_(wanted.begin(), wanted.end()), left_(most_bytes) {}
  // Nothing where it is not wanted, is there already or does not fit any more. Errors: those of writing files.
  Status offer(const records::Hash128& hash, ByteView bytes);
  const std::vector<records::Hash128>& kept() const { return kept_; }

 private:
  fs::path folder_;
  std::set<records::Hash128> wanted_;
  uint64_t left_;
  std::vector<records::Hash128> kept_;
};

records::ValueRecord value_record(const std::string& name, const Tensor& tensor);

// Hashes every output of every node. A view has the hash of what it views.
class Recorder final : public runtime::Observer {
 public:
  // Neither is kept beyond the run. `step`: which all values get.
  Recorder(const graph::Graph& graph, const platform::Platform& platform, Keeper& keeper, int64_t step = 0);
  Status after_stage(const runtime::NodeRun& run) override;
  std::vector<records::ValueRecord> take() { return std::move(values_); }

 private:
  const graph::Graph& graph_;
  const KernelNames names_;
  Keeper& keeper_;
  const int64_t step_;
  std::set<graph::ValueId> outputs_;
  std::vector<records::Hash128> hashes_;  // by value
  std::vector<bool> hashed_;
  std::vector<records::ValueRecord> values_;
};

}  // namespace isobit::lab::measure
