// A model, what platforms made of it as records, and what is said of them.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "isobit/base/thread_pool.h"
#include "isobit/lab/explain/causes.h"
#include "isobit/lab/measure/subject.h"

namespace isobit::lab::explain::testing {

class RecordedModel : public ::testing::Test {
 protected:
  RecordedModel() : folder_(fs::temp_directory_path() / ("isobit_recorded_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    request_.replay.inference.model = folder_ / "m.onnx";
  }
  ~RecordedModel() override { fs::remove_all(folder_); }

  const fs::path& model() const { return request_.replay.inference.model; }
  // What follows is about the model that was written and the inputs of the request.
  void begin() {
    const onnx::Model loaded = onnx::load_model(model()).value();
    nodes_.clear();
    for (const onnx::NodeDef& n : loaded.graph.nodes) nodes_.push_back({n.op, n.name, n.inputs, n.outputs});
    ThreadPool pool(1);
    subject_ = measure::open_model(request_.replay.inference, pool).value().subject;
    runs_.clear();
    tensors_.clear();
    request_.replay.own.clear();
  }

  // What a platform makes of the model, which has one output, that of its last node.
  void record_in(const std::string& arithmetic, const std::string& name, const platform::Platform& p,
                 backends::Backend& backend) {
    const onnx::Model loaded = onnx::load_model(model()).value();
    std::vector<std::string> names;
    for (const auto& n : nodes_) names.push_back(n.outputs[0]);
    const auto values = values_in_child(request_.replay.inference, loaded, names, p, arithmetic, 1 << 28, backend);
    ASSERT_TRUE(values.has_value()) << values.error().message;
    records::RunRecord run;
    run.subject = subject_;
    run.platform = {name, p.library, {{"arithmetic", arithmetic}}, {}, 0};
    run.tapped = true;
    for (const auto& n : nodes_) {
      const Tensor& tensor = values->at(n.outputs[0]);
      const bool last = &n == &nodes_.back();
      run.values.push_back(
          {n.outputs[0], n.op, name_of(tensor.dtype()), tensor.shape().dims(), hash_of(tensor), "", last, 0});
      tensors_[hash_of(tensor)] = Bytes(tensor.byte_view().begin(), tensor.byte_view().end());
    }
    runs_.push_back(std::move(run));
  }
  virtual void record(const std::string& name, const platform::Platform& p, backends::Backend& backend) {
    record_in("float32", name, p, backend);
  }

  deviation::TensorSource source() {
    return [this](const records::Hash128& hash) -> Expected<std::optional<Bytes>> {
      const auto found = tensors_.find(hash);
      return found == tensors_.end() ? std::optional<Bytes>() : found->second;
    };
  }
  void look() {
    const deviation::TensorSource tensors = source();
    explanation_ = explain(subject_, runs_, nodes_, tensors).value();
    causes_ = find_causes(explanation_, tensors, request_).value();
  }
  std::string value_of(size_t replay) const {
    return explanation_.trace.values[explanation_.forks[causes_.replays.forks[replay].fork].value].name;
  }
  std::string said() const {
    std::string all;
    for (const std::string& sentence : in_words(explanation_, causes_)) all += sentence + "\n";
    return all;
  }

  const fs::path folder_;
  CausesRequest request_;
  std::vector<records::GraphNode> nodes_;
  records::Subject subject_;
  std::vector<records::RunRecord> runs_;
  std::map<records::Hash128, Bytes> tensors_;
  Explanation explanation_;
  Causes causes_;
};

}  // namespace isobit::lab::explain::testing
