// The network of a run: read as an ONNX model it gives the logits that the run's evaluation computes, to the bit.
#include "isobit/run/network_export.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/data/batch.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/onnx/encode.h"
#include "isobit/run/onnx_for_test.h"
#include "isobit/run/testing.h"
#include "isobit/runtime/executor.h"
#include "isobit/train/step_graph.h"

namespace isobit::run {
namespace {

using testing::Folder;
using testing::train_request;

// A few steps on the digits; `model` says what [model] has.
train::Job job_with(const std::string& model, const std::string& arithmetic = "ordered-1") {
  const std::string job = text_of(R"(
[job]
name = "few"
seed = 3
steps = 4
arithmetic = ")",
                                  arithmetic, R"("
[model]
)",
                                  model, R"(
[data]
dataset = "digits"
batch = 8
[optimizer]
name = "sgd"
lr = 0.05
[commit]
every = 1
[checkpoint]
every = 4
)");
  return train::parse_job(job, "few", "").value();
}
train::Job job_of(const std::string& builder, const std::string& arithmetic = "ordered-1") {
  return job_with(text_of("builder = \"", builder, "\""), arithmetic);
}

std::string onnx_line(const fs::path& file) { return text_of("onnx = \"", file.string(), "\""); }

data::DataShape digits() { return *data::declared_shape(job_of("logistic").data); }

// The final weights of a run of the job. `overrides`: where its network lies.
Weights trained(const Folder& folder, const train::Job& job, const std::vector<std::string>& overrides = {}) {
  const fs::path out = folder / (job.model.builder + ".run");
  EXPECT_TRUE(train_run(train_request(out, job)));
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  OpenRequest request;
  request.run = out;
  request.overrides = overrides;
  auto weights = read_run_weights(request, std::nullopt, engine.pool());
  EXPECT_TRUE(weights) << weights.error().message;
  if (!weights) return Weights();
  const Status ready = make_ready(*weights, digits(), engine, {});
  EXPECT_TRUE(ready) << ready.error().message;
  return *std::move(weights);
}

using Feeds = runtime::Executor::Feeds;

Tensor run_graph(const graph::Graph& graph, size_t output, Feeds feeds) {
  ThreadPool pool(1);
  auto outputs = runtime::Executor(graph).run({kernels::best_isa(), &pool}, std::move(feeds));
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? (*outputs)[output].clone() : Tensor();
}

// As train::evaluate has them.
Tensor evaluated_logits(const Weights& weights, const data::Batch& samples, int64_t batch) {
  const train::EvalGraph eval = train::build_eval_graph(weights.job, digits(), batch, *weights.network).value();
  Feeds feeds = {{eval.inputs[0], samples.inputs[0]}, {eval.target, samples.target}};
  const auto state = inference_tensors(weights.state);
  for (const auto& [name, value] : eval.state) {
    feeds.emplace_back(value, std::ranges::find(state, name, &NamedTensor::name)->tensor);
  }
  return run_graph(eval.graph, 1, std::move(feeds));
}

Tensor logits_of_model(const onnx::Model& model, const data::Batch& samples, int64_t batch) {
  const auto encoded = onnx::encode_model(model);
  EXPECT_TRUE(encoded) << encoded.error().message;
  const auto decoded = onnx::decode_model(encoded->whole_file(), "m.onnx");
  EXPECT_TRUE(decoded) << decoded.error().message;
  const auto imported = onnx::import_model(*decoded, {.extents = {{"batch", batch}}});
  EXPECT_TRUE(imported) << imported.error().message;
  return run_graph(imported->graph, 0, {{imported->graph.inputs()[0], samples.inputs[0]}});
}

TEST(RunOnnx, TheModelGivesTheLogitsOfTheEvaluation) {
  const Folder folder("onnx");
  const auto dataset = data::open_dataset(job_of("logistic").data).value();
  ThreadPool pool(1);
  for (const char* builder : {"resnet", "digits-cnn", "mnist-cnn", "logistic"}) {
    SCOPED_TRACE(builder);
    const Weights weights = trained(folder, job_of(builder));
    const auto network = exported_network(weights, digits(), {.producer_version = "1"});
    ASSERT_TRUE(network) << network.error().message;
    EXPECT_EQ(network->batch, 0) << network->fixed_by;
    EXPECT_EQ(network->model.metadata[1].second, text_of(weights.step));
    for (const int64_t batch : {1, 9}) {
      const data::Batch samples = data::test_batch(*dataset, 3, batch, pool).value();
      EXPECT_TRUE(
          identical(logits_of_model(network->model, samples, batch), evaluated_logits(weights, samples, batch)));
    }
  }
}

TEST(RunOnnx, ABatchThatIsAskedForIsFixed) {
  const Folder folder("onnx_fixed");
  const Weights weights = trained(folder, job_of("resnet"));
  const auto network = exported_network(weights, digits(), {.batch = 4, .opset = 21});
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(network->batch, 4);
  EXPECT_EQ(network->model.graph.inputs[0].type.text(), "float32 [4, 1, 8, 8]");
  EXPECT_EQ(network->model.opset(""), 21);
}

// What was computed in float64 is given out in float32, as everywhere.
TEST(RunOnnx, WeightsOfAWiderArithmeticBecomeFloat32) {
  const Folder folder("onnx_wide");
  const Weights weights = trained(folder, job_of("digits-cnn", "float64"));
  const auto network = exported_network(weights, digits());
  ASSERT_TRUE(network) << network.error().message;
  for (const onnx::TensorDef& t : network->model.graph.initializers) EXPECT_NE(t.tensor.dtype(), DType::kFloat64);
}

// What is frozen is no part of the run's state and is read from the file again.
TEST(RunOnnx, TheNetworkOfAFileIsWrittenWithWhatWasTrainedAndWhatWasFrozen) {
  const Folder folder("onnx_imported");
  testing::write_model(folder / "m.onnx", testing::small_mlp());
  const std::string path = testing::model_path(folder / "m.onnx");
  const Weights weights = trained(folder, job_with(onnx_line(folder / "m.onnx") + "\nfreeze = [\"a.*\"]"), {path});
  const auto network = exported_network(weights, digits());
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(network->batch, 0) << network->fixed_by;
  std::vector<std::string> names;
  for (const onnx::TensorDef& t : network->model.graph.initializers) names.push_back(t.name);
  for (const char* name : {"a.weight", "a.bias", "c.weight", "c.bias"}) {
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  }
  const auto dataset = data::open_dataset(weights.job.data).value();
  ThreadPool pool(1);
  const data::Batch samples = data::test_batch(*dataset, 3, 9, pool).value();
  EXPECT_TRUE(identical(logits_of_model(network->model, samples, 9), evaluated_logits(weights, samples, 9)));
}

// [batch, 3, 8, 8] of digits: a loss with a class per place arranges them as [64 * batch, 3], the file does not.
TEST(RunOnnx, TheOutputIsTheOneThatTheFileHas) {
  const Folder folder("onnx_places");
  onnx::ModelForTest m(17);
  m.input("x", {-1, 8, 8}).initializer("w", onnx::floats({1, 3, 1, 1}, {1, 2, 3}));
  m.initializer("axis", onnx::ints({1}));
  m.node("Unsqueeze", {"x", "axis"}, {"channel"});
  m.node("Mul", {"channel", "w"}, {"mask"});
  m.output("mask");
  testing::write_model(folder / "m.onnx", m);
  Tensor inputs = Tensor::zeros(DType::kFloat32, {4, 8, 8}), labels = Tensor::zeros(DType::kInt64, {4, 8, 8});
  labels.data<int64_t>()[5] = 2;
  ASSERT_TRUE(formats::write_npy(folder / "inputs.npy", inputs));
  ASSERT_TRUE(formats::write_npy(folder / "labels.npy", labels));
  Weights weights;
  weights.job =
      testing::npy_job({testing::npy_path(folder / ""), "model.builder=onnx", testing::model_path(folder / "m.onnx")});
  weights.state = {{"w", Tensor::zeros(DType::kFloat32, {1, 3, 1, 1})}};
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const auto dataset = data::open_dataset(weights.job.data).value();
  const data::DataShape shape = data::shape_of(*dataset);
  const Status ready = make_ready(weights, shape, engine, {});
  ASSERT_TRUE(ready) << ready.error().message;
  const auto network = exported_network(weights, shape);
  ASSERT_TRUE(network) << network.error().message;
  ASSERT_EQ(network->model.graph.outputs.size(), 1u);
  EXPECT_EQ(network->model.graph.outputs[0].name, "mask");
  EXPECT_EQ(network->model.graph.outputs[0].type.text(), "float32 [batch, 3, 8, 8]");
  for (const onnx::NodeDef& node : network->model.graph.nodes) EXPECT_NE(node.op, "Transpose");
}

TEST(RunOnnx, AFileForBatchesOfOneSizeGivesAModelForThose) {
  const Folder folder("onnx_only");
  onnx::ModelForTest model = testing::small_mlp();
  auto* dims = model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  dims->mutable_dim(0)->set_dim_value(8);
  testing::write_model(folder / "m.onnx", model);
  const std::string path = testing::model_path(folder / "m.onnx");
  const Weights weights = trained(folder, job_with(onnx_line(folder / "m.onnx")), {path});
  const auto network = exported_network(weights, digits());
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(network->batch, 8);
  EXPECT_TRUE(network->has_only_batch);
  EXPECT_NE(network->fixed_by.find("batches of 8"), std::string::npos) << network->fixed_by;
  const auto other = exported_network(weights, digits(), {.batch = 4});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kUsage);
}

TEST(RunOnnx, TensorsThatAreMissingAreNamed) {
  const Folder folder("onnx_missing");
  Weights weights = trained(folder, job_of("resnet"));
  std::erase_if(weights.state, [](const NamedTensor& t) { return t.name == "fc.bias"; });
  const auto missing = exported_network(weights, digits());
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("tensor 'fc.bias' is missing"), std::string::npos);
}

}  // namespace
}  // namespace isobit::run
