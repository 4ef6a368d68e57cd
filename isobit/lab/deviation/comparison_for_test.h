// Runs of invented platforms, compared.
#pragma once

#include "isobit/lab/deviation/comparison.h"

namespace isobit::lab::deviation {

// The runs, and the tensors they made.
class Runs {
 public:
  records::RunRecord& add(const std::string& platform, const std::vector<float>& output) {
    records::RunRecord run;
    run.subject = subject;
    run.platform = {platform, "engine", {}, {}, 2};
    run.values.push_back(value("out", output, true));
    runs.push_back(run);
    return runs.back();
  }
  records::ValueRecord value(const std::string& name, const std::vector<float>& data, bool is_output) {
    const auto* from = reinterpret_cast<const uint8_t*>(data.data());
    const Bytes bytes(from, from + data.size() * 4);
    const records::Hash128 hash = records::hash_of(bytes);
    tensors[hash] = bytes;
    return {name, "Op", "float32", {1, static_cast<int64_t>(data.size())}, hash, "", is_output, 0};
  }
  Comparison compare() {
    auto result =
        compare_runs(subject, runs, graph, [this](const records::Hash128& hash) -> Expected<std::optional<Bytes>> {
          const auto found = tensors.find(hash);
          return found == tensors.end() ? std::optional<Bytes>() : found->second;
        });
    return result.value();
  }

  records::Subject subject{records::SubjectKind::kInference, "m", {}, {}, ""};
  std::vector<records::RunRecord> runs;
  std::vector<records::GraphNode> graph;
  std::map<records::Hash128, Bytes> tensors;
};

}  // namespace isobit::lab::deviation
