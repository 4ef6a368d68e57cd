// Step graphs of networks that are no builders', of every loss, and of jobs that freeze.
#include "isobit/models/network.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/train/initial.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

using graph::kNoValue;
using graph::ValueId;
using Names = std::vector<std::string>;

// output = x w + b, of samples [3]; and what a test does with it.
class Affine : public models::Network {
 public:
  using Change = std::function<void(models::Model&)>;
  explicit Affine(Change change = nullptr, int64_t batch = 0) : change_(std::move(change)), batch_(batch) {}

  Expected<models::Model> build(const models::ModelConfig& config) const override {
    models::Model m;
    for (const models::ModelInput& input : config.inputs) {
      std::vector<int64_t> dims = input.shape;
      dims.insert(dims.begin(), config.batch);
      m.inputs.push_back(m.graph.add_input(input.name, input.dtype, dims));
    }
    const auto parameter = [&](const char* name, std::vector<int64_t> dims) {
      const ValueId id = m.graph.add_input(name, DType::kFloat32, std::move(dims));
      m.parameters.push_back({name, id, {models::Init::Kind::kGiven, 0}, false});
      return id;
    };
    const ValueId w = parameter("w", {3, 2}), b = parameter("b", {2});
    m.output = m.graph.emit("Add", {m.graph.emit("MatMul", {m.inputs[0], w}, {}, "xw"), b}, {}, "output");
    if (change_) change_(m);
    return m;
  }
  Expected<std::vector<NamedTensor>> given_values() const override {
    std::vector<NamedTensor> values = {{"w", Tensor(DType::kFloat32, {3, 2})}, {"b", Tensor(DType::kFloat32, {2})}};
    for (NamedTensor& t : values) {
      for (int64_t i = 0; i < t.tensor.elements(); ++i) t.tensor.data<float>()[i] = static_cast<float>(i + 1) / 8;
    }
    return values;
  }
  uint64_t given_bytes() const override { return 32; }
  int64_t only_batch() const override { return batch_; }

 private:
  Change change_;
  int64_t batch_;
};

Job job_of(const std::string& model, const std::vector<std::string>& overrides = {}) {
  return parse_job("[job]\nsteps = 2\n[model]\nbuilder = \"onnx\"\n" + model +
                       "\n[data]\ndataset = \"npy\"\nbatch = 4\n[optimizer]\nlr = 0.1\n",
                   "job.toml", "", overrides)
      .value();
}

data::DataShape samples(data::TargetKind kind, std::vector<int64_t> target = {}) {
  const bool classes = kind == data::TargetKind::kClass || kind == data::TargetKind::kClassPerToken;
  data::DataShape shape;
  shape.name = "npy";
  shape.inputs = {{"x", DType::kFloat32, {3}}};
  shape.target = {kind, classes ? DType::kInt64 : DType::kFloat32, std::move(target),
                  classes ? int64_t{2} : int64_t{0}};
  return shape;
}

Names operators(const graph::Graph& g) {
  Names names;
  for (const graph::Node& node : g.nodes()) names.push_back(node.op);
  return names;
}

template <class T>
std::string message(const Expected<T>& result) {
  return result ? "accepted" : result.error().message;
}

bool has(const Names& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

TEST(Losses, EachTakesItsTargets) {
  using data::TargetKind;
  const Affine network;
  for (const char* loss : {"mse", "l1", "huber", "bce-with-logits"}) {
    const Job job = job_of(text_of("loss = \"", loss, "\""));
    const auto step = build_step_graph(job, samples(TargetKind::kRegression, {2}), network);
    ASSERT_TRUE(step) << loss << ": " << step.error().message;
    EXPECT_EQ(step->graph.value(step->target).dims, (std::vector<int64_t>{4, 2}));
    EXPECT_EQ(step->graph.value(step->target).name, "target");
    EXPECT_TRUE(has(operators(step->graph), "ReduceMean")) << loss;
    // Another shape of the same elements does, others do not.
    EXPECT_TRUE(build_step_graph(job, samples(TargetKind::kMultiLabel, {2, 1}), network));
    EXPECT_NE(message(build_step_graph(job, samples(TargetKind::kRegression, {3}), network)).find("target's shape"),
              std::string::npos);
    EXPECT_NE(message(build_step_graph(job, samples(TargetKind::kClass), network)).find("see data.target"),
              std::string::npos);
    const auto eval = build_eval_graph(job, samples(TargetKind::kRegression, {2}), 5, network);
    ASSERT_TRUE(eval);
    EXPECT_EQ(eval->graph.value(eval->graph.outputs()[0]).dims, std::vector<int64_t>{5}) << "a loss of each sample";
  }
  const Job classes = job_of("");
  EXPECT_TRUE(build_step_graph(classes, samples(TargetKind::kClass), network));
  EXPECT_NE(message(build_step_graph(classes, samples(TargetKind::kRegression, {2}), network)).find("of classes"),
            std::string::npos);
}

TEST(Losses, CrossEntropyFindsTheClasses) {
  const auto reshaped = [](std::vector<int64_t> dims) {
    return Affine([dims](models::Model& m) {
      std::vector<int64_t> full = dims;
      full.insert(full.begin(), m.graph.value(m.inputs[0]).dims[0]);
      m.output = m.graph.emit(
          "Expand", {m.graph.emit("Reshape", {m.output}, {{"shape", std::vector<int64_t>{full[0], 2, 1}}}, "r")},
          {{"shape", full}}, "scores");
    });
  };
  const Job job = job_of("");
  // Two tokens of two classes: the last axis goes before the second; of five tokens only one of them fits.
  const auto ambiguous = build_step_graph(job, samples(data::TargetKind::kClassPerToken, {2}), reshaped({2, 2}));
  ASSERT_TRUE(ambiguous) << ambiguous.error().message;
  EXPECT_FALSE(has(operators(ambiguous->graph), "Transpose"));
  ASSERT_EQ(ambiguous->remarks.size(), 1u) << "the owner is told";
  EXPECT_NE(ambiguous->remarks[0].find("'scores' [4, 2, 2] fit with the classes as last axis and as second"),
            std::string::npos)
      << ambiguous->remarks[0];
  const auto second = build_step_graph(job, samples(data::TargetKind::kClassPerToken, {5}), reshaped({2, 5}));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(has(operators(second->graph), "Transpose"));
  EXPECT_TRUE(second->remarks.empty());
  EXPECT_EQ(second->graph.value(second->target).dims, std::vector<int64_t>{20});
  const auto few = build_step_graph(job, samples(data::TargetKind::kClassPerToken, {4}), reshaped({2, 5}));
  EXPECT_NE(message(few).find("expected scores"), std::string::npos);
}

TEST(Losses, OfTheNetworkItselfIsOneNumber) {
  const Affine summed([](models::Model& m) {
    m.output = m.graph.emit("ReduceSum", {m.graph.emit("Mul", {m.output, m.output}, {}, "q")},
                            {{"keepdims", int64_t{1}}}, "own_loss");
  });
  const Job job = job_of("loss = \"output\"");
  data::DataShape none = samples(data::TargetKind::kNone);
  const auto step = build_step_graph(job, none, summed);
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(step->target, kNoValue);
  EXPECT_TRUE(step->graph.value(step->graph.outputs()[0]).dims.empty());
  EXPECT_NE(message(build_step_graph(job, none, Affine())).find("expected one number"), std::string::npos);
  // With a target the network takes it.
  const auto fed = build_step_graph(job, samples(data::TargetKind::kRegression, {2}), summed);
  ASSERT_TRUE(fed) << fed.error().message;
  EXPECT_EQ(fed->inputs.size(), 1u);
  EXPECT_EQ(fed->graph.value(fed->target).name, "target");
  EXPECT_EQ(evaluation_batch(job, 50, summed), 1);
  EXPECT_EQ(evaluation_samples(job, 50, Affine(nullptr, 4)), 0);
}

TEST(Losses, BuildersHaveAnOutputForEachNumber) {
  const Job job = parse_job(
                      "[job]\nsteps = 2\n[model]\nbuilder = \"logistic\"\nloss = \"mse\"\n[data]\ndataset = \"npy\"\n"
                      "batch = 4\n[optimizer]\nlr = 0.1\n",
                      "job.toml", "")
                      .value();
  const auto step = build_step_graph(job, samples(data::TargetKind::kRegression, {5}));
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(step->graph.value(step->slots[0].in).dims, (std::vector<int64_t>{5, 3}));
}

TEST(Smoothing, IsOfTrainingAlone) {
  const Affine network;
  const Job plain = job_of(""), smooth = job_of("label_smoothing = 0.1");
  const data::DataShape data = samples(data::TargetKind::kClass);
  EXPECT_FALSE(has(operators(build_step_graph(plain, data, network)->graph), "LogSoftmax"));
  EXPECT_TRUE(has(operators(build_step_graph(smooth, data, network)->graph), "LogSoftmax"));
  EXPECT_FALSE(has(operators(build_eval_graph(smooth, data, 4, network)->graph), "LogSoftmax"));
}

TEST(Freezing, TakesParametersOutOfTheState) {
  const Affine network;
  const data::DataShape data = samples(data::TargetKind::kClass);
  const auto step = build_step_graph(job_of("freeze = [\"w\"]"), data, network);
  ASSERT_TRUE(step) << step.error().message;
  ASSERT_EQ(step->slots.size(), 1u);
  EXPECT_EQ(step->slots[0].name, "b");
  EXPECT_EQ(step->slots[0].parameter, 1) << "the values of a seed do not depend on what is frozen";
  ASSERT_EQ(step->frozen.size(), 1u);
  EXPECT_EQ(step->frozen[0].name, "w");
  const auto values = initial_values(job_of("freeze = [\"w\"]"), *step, network);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->state.size(), 1u);
  EXPECT_EQ(values->frozen[0].tensor.data<float>()[5], 6.0f / 8);
  EXPECT_NE(message(build_step_graph(job_of("freeze = [\"v*\"]"), data, network)).find("'v*' names no parameter"),
            std::string::npos);
  EXPECT_NE(message(build_step_graph(job_of("freeze = [\"?\"]"), data, network)).find("nothing is left to train"),
            std::string::npos);
}

// As many steps with a frozen kernel as without: it stays, the rest is what it would be.
TEST(Freezing, OfABuilderKeepsTheValuesOfTheSeed) {
  const auto trainer = [](const std::string& freeze, const char* arithmetic) {
    const Job job = parse_job(text_of("[job]\nsteps = 3\nseed = 2\narithmetic = \"", arithmetic,
                                      "\"\n[model]\nbuilder = \"digits-cnn\"\n", freeze,
                                      "\n[data]\ndataset = \"digits\"\nbatch = 4\n[optimizer]\nlr = 0.1\n"),
                              "job.toml", "")
                        .value();
    static platform::Engine engine(platform::parse_platform("ordered/2t").value());
    return Trainer::create(job, data::open_dataset(job.data).value(), engine).value();
  };
  for (const char* arithmetic : {"ordered-1", "logged-1"}) {
    const auto whole = trainer("", arithmetic), part = trainer("freeze = [\"conv1.*\"]", arithmetic);
    ASSERT_EQ(part->frozen().size(), 2u);
    const auto start = std::ranges::find(whole->state(), "conv1.weight", &NamedTensor::name);
    const Tensor before = part->frozen()[0].tensor.clone();
    EXPECT_TRUE(identical(before, start->tensor));
    for (const NamedTensor& t : part->state()) {
      const auto same = std::ranges::find(whole->state(), t.name, &NamedTensor::name);
      EXPECT_TRUE(identical(t.tensor, same->tensor)) << t.name;
    }
    const auto first = part->advance(), reference = whole->advance();
    ASSERT_TRUE(first && reference);
    EXPECT_EQ(first->loss, reference->loss);
    ASSERT_TRUE(part->advance());
    EXPECT_TRUE(identical(part->frozen()[0].tensor, before)) << arithmetic;
    EXPECT_TRUE(part->evaluate());
  }
}

TEST(Networks, WithoutAGradientNameTheNode) {
  const Affine stuck([](models::Model& m) { m.output = m.graph.emit("Floor", {m.output}, {}, "steps"); });
  const auto refused = build_step_graph(job_of(""), samples(data::TargetKind::kClass), stuck);
  ASSERT_FALSE(refused);
  const std::string& why = refused.error().message;
  EXPECT_TRUE(why.find("steps") != std::string::npos || why.find("no parameter") != std::string::npos) << why;
}

TEST(Networks, ParametersThatNoGradientReachesAreFrozenAndNamed) {
  const Affine network([](models::Model& m) {
    const ValueId id = m.graph.add_input("lonely", DType::kFloat32, {2});
    m.parameters.push_back({"lonely", id, {models::Init::Kind::kConstant, 1}, false});
    m.output =
        m.graph.emit("Where", {m.graph.emit("Less", {id, m.output}, {}, "less"), m.output, m.output}, {}, "chosen");
  });
  const auto step = build_step_graph(job_of(""), samples(data::TargetKind::kClass), network);
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(step->slots.size(), 2u);
  ASSERT_EQ(step->frozen.size(), 1u);
  EXPECT_EQ(step->frozen[0].name, "lonely");
  ASSERT_EQ(step->remarks.size(), 1u);
  EXPECT_NE(step->remarks[0].find("'lonely'"), std::string::npos);
}

// What the data decide is beside the way of the gradient.
Affine with_data_shapes() {
  return Affine([](models::Model& m) {
    const ValueId places = m.graph.emit("NonZero", {m.inputs[0]}, {}, "places");
    const ValueId count = m.graph.emit("Size", {places}, {}, "count");
    const ValueId number = m.graph.emit("Cast", {count}, {{"to", static_cast<int64_t>(DType::kFloat32)}}, "number");
    const ValueId zero = m.graph.add_initializer("zero", Tensor::scalar(0.0f));
    m.output = m.graph.emit("Add", {m.output, m.graph.emit("Mul", {number, zero}, {}, "nothing")}, {}, "sum");
  });
}

TEST(Networks, WhoseShapesFollowFromDataTrainWhereNothingIsPromisedOfBounds) {
  const Affine network = with_data_shapes();
  const data::DataShape data = samples(data::TargetKind::kClass);
  const auto step = build_step_graph(job_of(""), data, network);
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_FALSE(step->disputable);
  for (const char* arithmetic : {"correct-1", "logged-1"}) {
    const auto refused = build_step_graph(job_of("", {text_of("job.arithmetic=", arithmetic)}), data, network);
    EXPECT_NE(message(refused).find("compute in ordered-1"), std::string::npos) << message(refused);
  }
  EXPECT_NE(message(build_step_graph(job_of("", {"data.micro_batches=2"}), data, network)).find("micro_batches"),
            std::string::npos);
}

TEST(Networks, ThatThisProgramCannotReadAreNamed) {
  const data::DataShape data = samples(data::TargetKind::kClass);
  EXPECT_NE(message(build_step_graph(job_of(""), data)).find("model.onnx: is missing"), std::string::npos);
  EXPECT_NE(message(build_step_graph(job_of("", {"model.onnx=/m.onnx"}), data)).find("reads no networks from files"),
            std::string::npos);
  EXPECT_NE(message(build_step_graph(job_of("", {"model.weights=/w"}), data)).find("model.weights"), std::string::npos);
}

TEST(Networks, WhoseStateNoCheckpointCanHoldAreRefused) {
  const auto with = [](const std::string& name, int rank) {
    const Affine network([&](models::Model& m) {
      const ValueId id = m.graph.add_input(name, DType::kFloat32, std::vector<int64_t>(static_cast<size_t>(rank), 1));
      m.parameters.push_back({name, id, {}, false});
      const ValueId one = m.graph.emit("Reshape", {id}, {{"shape", std::vector<int64_t>{1}}}, "one");
      m.output = m.graph.emit("Add", {m.output, one}, {}, "more");
    });
    return message(build_step_graph(job_of(""), samples(data::TargetKind::kClass), network));
  };
  EXPECT_NE(with("w33", 33).find("'w33' has 33 axes, and files of weights at most 32"), std::string::npos);
  EXPECT_NE(with(std::string(9 << 20, 'w'), 1).find("names and shapes"), std::string::npos);
}

TEST(Networks, NamesThatACheckpointHasForTheOptimizerAreRefused) {
  const Affine network([](models::Model& m) {
    const ValueId id = m.graph.add_input("w/momentum", DType::kFloat32, {2});
    m.parameters.push_back({"w/momentum", id, {}, false});
    m.output = m.graph.emit("Add", {m.output, id}, {}, "more");
  });
  const data::DataShape data = samples(data::TargetKind::kClass);
  for (const char* set : {"optimizer.momentum=0.9", "optimizer.momentum=0.0", "model.freeze=[\"w/*\"]"}) {
    const auto refused = build_step_graph(job_of("", {set}), data, network);
    EXPECT_NE(message(refused).find("'w/momentum' is what a checkpoint calls"), std::string::npos) << message(refused);
  }
}

// The trace of a step would begin with another state than the one before it, whoever computed it.
TEST(Networks, ValuesThatAreCalledAsTheOptimizersTensorsAreRefused) {
  const data::DataShape data = samples(data::TargetKind::kClass);
  for (const char* name : {"w/momentum", "b/momentum", "b/m", "w/v"}) {
    const Affine network([&](models::Model& m) { m.output = m.graph.emit("Relu", {m.output}, {}, name); });
    const std::string wanted = text_of("has the name of a tensor of the state, '", name, "'");
    for (const char* optimizer : {"sgd", "adamw"}) {
      const bool clashes = (std::string_view(name).ends_with("momentum")) == (std::string_view(optimizer) == "sgd");
      std::vector<std::string> set = {text_of("optimizer.name=", optimizer)};
      if (std::string_view(optimizer) == "sgd") set.emplace_back("optimizer.momentum=0.9");
      const auto built = build_step_graph(job_of("", set), data, network);
      EXPECT_EQ(message(built).find(wanted) != std::string::npos, clashes) << message(built);
      EXPECT_EQ(built.has_value(), !clashes);
    }
  }
}

}  // namespace
}  // namespace isobit::train
