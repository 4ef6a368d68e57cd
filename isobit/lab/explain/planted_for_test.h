// Runs of invented platforms on an invented model, for tests: a value is a float32 vector, and platforms that were
// planted the same vector agree.
#pragma once

#include "isobit/lab/explain/explanation.h"

namespace isobit::lab::explain {

class Planted {
 public:
  // A node of one output, which has its name.
  Planted& node(const std::string& op, const std::string& name, const std::vector<std::string>& inputs) {
    graph.push_back({op, "node of " + name, inputs, {name}});
    return *this;
  }
  // A platform that recorded these values, in this order; the last one is the model's output.
  records::RunRecord& run(const std::string& platform, const std::vector<std::pair<std::string, float>>& values,
                          const std::map<std::string, std::string>& fields = {}) {
    records::RunRecord run;
    run.subject = subject;
    run.platform = {platform, platform.substr(0, platform.find_first_of("@/+")), fields, {}, 0};
    run.tapped = true;
    for (const auto& [name, x] : values) run.values.push_back(value(name, x));
    run.values.back().is_output = true;
    runs.push_back(std::move(run));
    return runs.back();
  }
  records::ValueRecord value(const std::string& name, float x) {
    const std::vector<float> data = {1.0f, x};
    const auto* from = reinterpret_cast<const uint8_t*>(data.data());
    const Bytes bytes(from, from + data.size() * sizeof(float));
    const records::Hash128 hash = records::hash_of(bytes);
    tensors[hash] = bytes;
    std::string op;
    for (const auto& n : graph) op = n.outputs[0] == name ? n.op : op;
    return {name, op, "float32", {1, 2}, hash, "", false, 0};
  }
  deviation::TensorSource source() const {
    return [this](const records::Hash128& hash) -> Expected<std::optional<Bytes>> {
      const auto found = tensors.find(hash);
      return found == tensors.end() ? std::optional<Bytes>() : found->second;
    };
  }
  Explanation explained() const { return explain(subject, runs, graph, source()).value(); }

  records::Subject subject{records::SubjectKind::kInference, "m.onnx", commit::Digest{1}, commit::Digest{2}, ""};
  std::vector<records::GraphNode> graph;
  std::vector<records::RunRecord> runs;
  std::map<records::Hash128, Bytes> tensors;
};

// x -> Conv a -> Relu b -> Gemm c -> Softmax y; w and v are weights.
inline Planted chain() {
  Planted p;
  p.node("Conv", "a", {"x", "w"}).node("Relu", "b", {"a"}).node("Gemm", "c", {"b", "v"}).node("Softmax", "y", {"c"});
  return p;
}

}  // namespace isobit::lab::explain
