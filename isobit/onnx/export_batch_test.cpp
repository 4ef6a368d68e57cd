// Networks of any number of samples.
#include "isobit/graph/passes/prune.h"
#include "isobit/models/model.h"
#include "isobit/onnx/export_for_test.h"
#include "isobit/onnx/open_batch.h"

namespace isobit::onnx {
namespace {

using graph::Graph;
using graph::ValueId;
using Ints = std::vector<int64_t>;

constexpr int64_t kSamples = 7;

struct Example {
  Graph g;
  ValueId x;

  explicit Example(Ints dims) : x(g.add_input("x", DType::kFloat32, std::move(dims))) {}
  ValueId reshape(ValueId v, Ints shape) { return g.emit("Reshape", {v}, {{"shape", std::move(shape)}}, "reshaped"); }
  Expected<OpenBatch> opened(ValueId output) {
    g.add_output(output);
    return open_batch(g, {x});
  }
};

Ints dims_of_output(const OpenBatch& opened) { return opened.graph.value(opened.graph.outputs()[0]).dims; }

TEST(OpenBatch, SamplesJoinRowsAndPartFromThemAgain) {
  Example e({kSamples, 3, 4});
  const ValueId rows = e.reshape(e.x, {kSamples * 3, 4});
  const ValueId heads = e.reshape(rows, {kSamples, 3, 2, 2});
  const auto opened = e.opened(e.g.emit("Transpose", {heads}, {{"perm", Ints{0, 2, 1, 3}}}, "y"));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->graph.nodes()[0].attributes.integers("shape", {}), (Ints{-1, 4}));
  EXPECT_EQ(opened->graph.nodes()[1].attributes.integers("shape", {}), (Ints{-1, 3, 2, 2}));
  EXPECT_EQ(dims_of_output(*opened), (Ints{-1, 2, 3, 2}));
  EXPECT_EQ(opened->places, (Ints{1, 3, 1, 1}));
}

TEST(OpenBatch, WhatStaysInItsPlaceIsSaidToBeAsInTheSource) {
  Example e({kSamples, 3, 4});
  const auto opened = e.opened(e.reshape(e.x, {kSamples, 12}));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->graph.nodes()[0].attributes.integers("shape", {}), (Ints{0, 12}));
}

TEST(OpenBatch, SamplesBehindAnotherDimensionAreFoundThere) {
  Example e({kSamples, 3, 4});
  const ValueId turned = e.g.emit("Transpose", {e.x}, {{"perm", Ints{1, 0, 2}}}, "turned");
  const auto opened = e.opened(e.reshape(turned, {1, 3, kSamples * 4}));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(dims_of_output(*opened), (Ints{1, 3, -1}));
}

TEST(OpenBatch, ABlockOfAllSamplesBecomesASlice) {
  Example e({kSamples, 6});
  const auto opened =
      e.opened(e.g.emit("isobit.Block", {e.x}, {{"starts", Ints{0, 2}}, {"counts", Ints{kSamples, 3}}}, "block"));
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->graph.nodes()[0].op, "Slice");
  EXPECT_EQ(opened->graph.nodes()[0].attributes.integers("axes", {}), Ints{1});
  EXPECT_EQ(dims_of_output(*opened), (Ints{-1, 3}));
}

TEST(OpenBatch, DimensionsAreNamedByHowManyPlacesASampleHas) {
  Example e({kSamples, 3, 4});
  const auto opened = e.opened(e.reshape(e.x, {kSamples * 3, 4}));
  ASSERT_TRUE(opened) << opened.error().message;
  const auto names = opened->dim_names("batch");
  EXPECT_EQ(names.at("x"), (std::vector<std::string>{"batch", "", ""}));
  EXPECT_EQ(names.at("reshaped"), (std::vector<std::string>{"3*batch", ""}));
}

void expect_refused(Example& e, ValueId output, const std::string& node, const std::string& says = "") {
  const auto opened = e.opened(output);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(opened.error().message.find(node), std::string::npos) << opened.error().message;
  EXPECT_NE(opened.error().message.find(says), std::string::npos) << opened.error().message;
}

TEST(OpenBatch, NetworksThatKnowTheNumberOfSamplesAreRefused) {
  Example mean({kSamples, 3});
  expect_refused(mean, mean.g.emit("ReduceMean", {mean.x}, {{"axes", Ints{0}}}, "mean"), "node 'mean' (ReduceMean)");
  Example row({kSamples, 3});
  const ValueId rows = row.g.add_initializer("rows", Tensor::zeros(DType::kFloat32, {kSamples, 3}));
  expect_refused(row, row.g.emit("Add", {row.x, rows}, {}, "sum"), "node 'sum' (Add)");
  Example apart({kSamples, 14});
  expect_refused(apart, apart.reshape(apart.x, {2, 7 * kSamples}), "takes the 7 samples apart");
  Example some({kSamples, 3});
  expect_refused(some, some.g.emit("isobit.Block", {some.x}, {{"starts", Ints{0, 0}}, {"counts", Ints{2, 3}}}, "block"),
                 "node 'block'");
  Example squared({kSamples, 3});
  const ValueId turned = squared.g.emit("Transpose", {squared.x}, {{"perm", Ints{1, 0}}}, "turned");
  expect_refused(squared, squared.g.emit("MatMul", {squared.x, turned}, {}, "products"), "node 'products' (MatMul)",
                 "samples in place of 7");
}

models::ModelConfig config_of(const std::string& builder, int64_t batch) {
  models::ModelConfig config{.builder = builder, .batch = batch, .input_shape = {3, 8, 8}};
  if (models::traits_of(builder).takes_tokens) {
    config.input_shape = {6};
    config.classes = 11;
    config.channels = 8;
    config.positions = builder == "gpt2" ? 9 : 0;
  }
  if (models::traits_of(builder).has_forms) config.input_shape = {3, 32, 32};
  config.form = models::Form::kSmall;
  config.width = 4;
  config.training = false;
  return config;
}

// Those of millions of parameters are left to one test: their layers are those of the others.
std::vector<std::string> small_builders() {
  std::vector<std::string> names = models::builder_names();
  std::erase_if(names, [](const std::string& name) { return models::traits_of(name).has_forms; });
  return names;
}

struct Network {
  Graph graph;
  Values values;  // parameters and buffers
  std::vector<NamedTensor> named() const {
    std::vector<NamedTensor> all;
    for (const auto& [name, tensor] : values) all.push_back({name, tensor});
    return all;
  }
};

Network network_of(const std::string& builder, int64_t batch) {
  models::Model model = models::build_model(config_of(builder, batch)).value();
  Network network{graph::pruned(model.graph, {model.output}).value(), {}};
  uint64_t seed = 1;
  for (const ValueId id : network.graph.inputs()) {
    const graph::Value& value = network.graph.value(id);
    if (value.name == "input") continue;
    network.values[value.name] = drawn(value.dtype, value.dims, ++seed, value.name.ends_with("running_var"));
  }
  return network;
}

Tensor input_of(const Network& network, uint64_t seed) {
  const graph::Value& input = network.graph.value(network.graph.find("input"));
  return drawn(input.dtype, input.dims, seed);
}

TEST(OpenBatch, EveryBuilderGivesTheSameBitsForEveryNumberOfSamples) {
  for (const std::string& builder : small_builders()) {
    SCOPED_TRACE(builder);
    const Network probe = network_of(builder, kSamples);
    const auto opened = open_batch(probe.graph, {probe.graph.find("input")});
    ASSERT_TRUE(opened) << opened.error().message;
    ExportOptions options;
    options.dim_names = opened->dim_names("batch");
    const auto model = export_model(opened->graph, probe.named(), options);
    ASSERT_TRUE(model) << model.error().message;
    ASSERT_EQ(model->graph.inputs.size(), 1u);
    EXPECT_EQ(model->graph.inputs[0].type.dims[0].name, "batch");
    for (const int64_t batch : {1, 3, 8}) {
      const auto again = read_again(*model, {.extents = {{"batch", batch}}});
      ASSERT_TRUE(again) << again.error().message;
      Network direct = network_of(builder, batch);
      for (const uint64_t seed : {1, 2}) {
        direct.values["input"] = input_of(direct, seed);
        expect_same(run_graph(*again, direct.values), run_graph(direct.graph, direct.values));
      }
    }
  }
}

TEST(Export, EveryBuilderWithAFixedBatchGivesTheSameBits) {
  std::vector<std::string> names = small_builders();
  names.insert(names.end(), {"resnet18", "vgg11-bn"});
  for (const std::string& builder : names) {
    SCOPED_TRACE(builder);
    Network network = network_of(builder, 2);
    const auto model = export_model(network.graph, network.named());
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->graph.inputs[0].type.dims[0].extent, 2);
    const auto again = read_again(*model);
    ASSERT_TRUE(again) << again.error().message;
    network.values["input"] = input_of(network, 5);
    expect_same(run_graph(*again, network.values), run_graph(network.graph, network.values));
  }
}

TEST(Export, TheLowestOpsetThatHasTheNetworkIsTaken) {
  for (const std::string& builder : small_builders()) {
    SCOPED_TRACE(builder);
    const Network network = network_of(builder, 2);
    const int64_t lowest = models::traits_of(builder).takes_tokens ? 20 : 17;  // Gelu
    const auto model = export_model(network.graph, network.named());
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->opset(""), lowest);
    EXPECT_EQ(model->ir_version, lowest == 17 ? 8 : 9);
    for (int64_t opset = lowest; opset <= kNewestOpset; ++opset) {
      const auto newer = export_model(network.graph, network.named(), {.opset = opset});
      ASSERT_TRUE(newer) << newer.error().message;
      EXPECT_EQ(newer->opset(""), opset);
      EXPECT_TRUE(read_again(*newer));
    }
  }
}

}  // namespace
}  // namespace isobit::onnx
