// ONNX files for tests of runs: of a network written field by field, and of a builder's with the values that it begins
// with.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "isobit/base/text.h"
#include "isobit/models/model.h"
#include "isobit/onnx/model_for_test.h"
#include "isobit/run/testing.h"
#include "isobit/train/initial.h"

namespace isobit::run::testing {

inline void write_model(const fs::path& path, const onnx::ModelForTest& model) { model.write(path); }

// "model.onnx=\"...\""
inline std::string model_path(const fs::path& path) { return text_of("model.onnx=\"", path.string(), "\""); }

// y = relu(x a + b) c + d of 64 numbers, 10 scores; digits as they are, [batch, 1, 8, 8].
inline onnx::ModelForTest small_mlp(float scale = 1) {
  onnx::ModelForTest m(13);
  m.input("x", {-1, 1, 8, 8});
  const auto values = [&](Shape shape, int64_t seed) {
    Tensor t(DType::kFloat32, std::move(shape));
    for (int64_t i = 0; i < t.elements(); ++i) {
      t.data<float>()[i] = scale * static_cast<float>((i * 37 + seed * 11) % 19 - 9) / 64;
    }
    return t;
  };
  m.initializer("a.weight", values({16, 64}, 1)).initializer("a.bias", values({16}, 2));
  m.initializer("c.weight", values({10, 16}, 3)).initializer("c.bias", values({10}, 4));
  m.node("Flatten", {"x"}, {"flat"});
  m.node("Gemm", {"flat", "a.weight", "a.bias"}, {"hidden"}).with("transB", 1);
  m.node("Relu", {"hidden"}, {"active"});
  m.node("Gemm", {"active", "c.weight", "c.bias"}, {"scores"}).with("transB", 1);
  m.output("scores");
  return m;
}

// The inference form of a builder's network, as an exporter of another's would write it: open batch, values of step 0.
// Of builders whose nodes are all operators of ONNX. By hand, so that no test of imports rests on our own exporter.
inline onnx::ModelForTest exported(const train::Job& job) {
  const data::DataShape data = *data::declared_shape(job.data);
  models::ModelConfig config = job.model;
  config.input_shape = data.inputs[0].shape;
  config.classes = data.target.classes;
  config.training = false;
  const models::Model model = models::build_model(config).value();
  const graph::Graph& g = model.graph;
  const train::StepGraph step = train::build_step_graph(job, data).value();
  const auto initial = train::initial_values(job, step, *models::built_in()).value();

  onnx::ModelForTest m(15);
  std::vector<int64_t> dims = config.input_shape;
  dims.insert(dims.begin(), -1);
  m.input(g.value(model.inputs[0]).name, dims);
  for (const NamedTensor& t : initial.state) {
    if (g.find(t.name) != graph::kNoValue) m.initializer(t.name, t.tensor);
  }
  for (const graph::Node& node : g.nodes()) {
    std::vector<std::string> inputs;
    for (const graph::ValueId id : node.inputs) inputs.push_back(id == graph::kNoValue ? "" : g.value(id).name);
    auto written = m.node(node.op, inputs, {g.value(node.outputs[0]).name});
    for (const auto& [name, attribute] : node.attributes.items()) {
      if (const auto* i = std::get_if<int64_t>(&attribute)) written.with(name, *i);
      if (const auto* f = std::get_if<double>(&attribute)) written.with(name, static_cast<float>(*f));
      if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) written.with(name, *list);
      ISOBIT_CHECK(attribute.index() < 2 || std::holds_alternative<std::vector<int64_t>>(attribute));
    }
  }
  m.output(g.value(model.output).name);
  return m;
}

}  // namespace isobit::run::testing
