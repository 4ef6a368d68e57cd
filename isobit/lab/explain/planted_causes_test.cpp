// Causes that a test has planted, one operator at a time: each is named, and no other operator is blamed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "isobit/lab/explain/causes.h"
#include "isobit/lab/explain/planted_kernels_for_test.h"
#include "isobit/lab/measure/training_worker.h"
#include "isobit/onnx/model_for_test.h"
#include "isobit/run/job_file.h"
#include "isobit/run/job_root.h"

namespace isobit::lab::explain {
namespace {

using testing::Order;
using testing::Plant;
using testing::PlantedBackend;
using testing::SoftMaximum;
using testing::Sum;

std::vector<float> drawn(size_t n, float scale, uint32_t seed) {
  std::vector<float> values;
  uint32_t state = seed;
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(scale * (static_cast<float>(state >> 8) * 0x1p-23f - 1.0f));
  }
  return values;
}

// An image: two convolutions, a mean of each plane, a product, exponentials.
void write_image_model(const fs::path& path, int64_t channels, int64_t size, uint32_t seed) {
  onnx::ModelForTest m;
  const auto c = static_cast<size_t>(channels);
  m.input("x", {1, 3, size, size});
  m.initializer("w1", onnx::floats({channels, 3, 3, 3}, drawn(c * 27, 0.4f, seed)));
  m.initializer("b1", onnx::floats({channels}, drawn(c, 0.2f, seed + 1)));
  m.initializer("w2", onnx::floats({channels, channels, 3, 3}, drawn(c * c * 9, 0.3f, seed + 2)));
  m.initializer("w3", onnx::floats({channels, 24}, drawn(c * 24, 0.9f, seed + 3)));
  m.initializer("b3", onnx::floats({24}, drawn(24, 0.3f, seed + 4)));
  const std::vector<int64_t> pads = {1, 1, 1, 1};
  m.node("Conv", {"x", "w1", "b1"}, {"conv1"}).with("pads", pads).named("first convolution");
  m.node("Relu", {"conv1"}, {"relu1"});
  m.node("Conv", {"relu1", "w2"}, {"conv2"}).with("pads", pads).named("second convolution");
  m.node("Tanh", {"conv2"}, {"tanh1"});
  m.node("GlobalAveragePool", {"tanh1"}, {"pooled"});
  m.node("Flatten", {"pooled"}, {"flat"});
  m.node("Gemm", {"flat", "w3", "b3"}, {"scores"}).named("scores");
  m.node("Softmax", {"scores"}, {"y"}).with("axis", -1);
  m.output("y");
  m.write(path);
}

// Rows: products, functions, a mean, a division by a constant.
void write_rows_model(const fs::path& path, int64_t rows, int64_t width, uint32_t seed) {
  onnx::ModelForTest m;
  const auto k = static_cast<size_t>(width);
  m.input("x", {rows, width});
  m.initializer("w1", onnx::floats({width, 30}, drawn(k * 30, 0.5f, seed)));
  m.initializer("w2", onnx::floats({30, 42}, drawn(30 * 42, 0.4f, seed + 1)));
  m.initializer("six", onnx::floats({}, {6.0f}));
  m.node("MatMul", {"x", "w1"}, {"product1"}).named("first product");
  m.node("Sigmoid", {"product1"}, {"gate"});
  m.node("MatMul", {"gate", "w2"}, {"product2"}).named("second product");
  m.node("Exp", {"product2"}, {"powers"});
  m.node("Div", {"powers", "six"}, {"sixths"});
  m.node("Softmax", {"sixths"}, {"shares"}).with("axis", -1);
  m.node("Log", {"shares"}, {"logs"});
  m.initializer("axes", onnx::ints({1}));
  m.node("ReduceMean", {"logs", "axes"}, {"y"}).with("keepdims", int64_t{0});
  m.output("y");
  m.write(path);
}

// Functions of single elements.
void write_functions_model(const fs::path& path) {
  onnx::ModelForTest m;
  m.input("x", {6, 40});
  m.initializer("exponents", onnx::floats({40}, drawn(40, 2.0f, 5)));
  m.node("Sin", {"x"}, {"sine"});
  m.node("Cos", {"sine"}, {"cosine"});
  m.node("Erf", {"cosine"}, {"error"});
  m.node("Sqrt", {"error"}, {"root"});
  m.node("Pow", {"root", "exponents"}, {"power"});
  m.node("Gelu", {"power"}, {"gelu"});
  m.node("Softplus", {"gelu"}, {"soft"});
  m.initializer("axes", onnx::ints({1}));
  m.node("ReduceSum", {"soft", "axes"}, {"y"}).with("keepdims", int64_t{0});
  m.output("y");
  m.write(path);
}

// Numbers below the least normal one.
void write_tiny_model(const fs::path& path) {
  onnx::ModelForTest m;
  m.input("x", {6, 30});
  m.initializer("tiny", onnx::floats({}, {3e-39f}));
  m.initializer("w", onnx::floats({30, 20}, drawn(600, 0.3f, 8)));
  m.node("Mul", {"x", "tiny"}, {"scaled"});
  m.node("Relu", {"scaled"}, {"rectified"});
  m.node("MatMul", {"rectified", "w"}, {"product"});
  m.output("product");
  m.write(path);
}

void write_least_powers_model(const fs::path& path) {
  onnx::ModelForTest m;
  m.input("x", {5, 40});
  m.initializer("minus", onnx::floats({}, {-88.0f}));
  m.initializer("half", onnx::floats({}, {0.5f}));
  m.initializer("axes", onnx::ints({1}));
  m.node("Add", {"x", "minus"}, {"moved"});
  m.node("Exp", {"moved"}, {"powers"});
  m.node("Mul", {"powers", "half"}, {"halves"});
  m.node("ReduceMin", {"halves", "axes"}, {"y"}).with("keepdims", int64_t{0});
  m.output("y");
  m.write(path);
}

// One product and nothing else that a library could compute in its own way.
void write_one_product_model(const fs::path& path, int64_t rows, int64_t k, int64_t columns) {
  onnx::ModelForTest m;
  m.input("x", {rows, k});
  m.initializer("w", onnx::floats({k, columns}, drawn(static_cast<size_t>(k * columns), 0.5f, 12)));
  m.node("Tanh", {"x"}, {"bounded"});
  m.node("MatMul", {"bounded", "w"}, {"product"});
  m.node("Sigmoid", {"product"}, {"y"});
  m.output("y");
  m.write(path);
}

struct Case {
  Kind kind;
  std::string value;  // where
  Plant usual;        // of one platform; empty: our own kernels
  Plant planted;      // of the other
  bool confirmed = true;
};

class PlantedCausesTest : public ::testing::Test {
 protected:
  PlantedCausesTest() : folder_(fs::temp_directory_path() / ("isobit_planted_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    request_.replay.inference.model = folder_ / "m.onnx";
  }
  ~PlantedCausesTest() override { fs::remove_all(folder_); }

  const fs::path& model() const { return request_.replay.inference.model; }
  // What follows is about the model that was written.
  void begin() {
    const onnx::Model loaded = onnx::load_model(model()).value();
    nodes_.clear();
    for (const onnx::NodeDef& n : loaded.graph.nodes) nodes_.push_back({n.op, n.name, n.inputs, n.outputs});
    subject_ = {records::SubjectKind::kInference, "m.onnx", commit::sha256(read_file(model(), 1 << 28).value()),
                commit::Digest{7}, ""};
    runs_.clear();
    tensors_.clear();
    request_.replay.own.clear();
  }

  void record(const std::string& name, const platform::Platform& p, backends::Backend& backend) {
    const onnx::Model loaded = onnx::load_model(model()).value();
    std::vector<std::string> names;
    for (const auto& n : nodes_) names.push_back(n.outputs[0]);
    const auto values = values_in_child(request_.replay.inference, loaded, names, p, "float32", 1 << 28, backend);
    ASSERT_TRUE(values.has_value()) << values.error().message;
    records::RunRecord run;
    run.subject = subject_;
    run.platform = {name, p.library, {{"arithmetic", "float32"}}, {}, 0};
    run.tapped = true;
    for (const auto& n : nodes_) {
      const Tensor& tensor = values->at(n.outputs[0]);
      const bool last = &n == &nodes_.back();
      run.values.push_back(
          {n.outputs[0], n.op, name_of(tensor.dtype()), tensor.shape().dims(), hash_of(tensor), "", last, 0});
      const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
      tensors_[hash_of(tensor)] = Bytes(bytes, bytes + tensor.bytes());
    }
    runs_.push_back(std::move(run));
  }
  void record_planted(const std::string& name, PlantedBackend& backend) {
    const platform::Platform p = platform::parse_platform("ordered@portable/1t").value();
    request_.replay.own[name] = {p, "float32", &backend};
    record(name, p, backend);
  }
  void look() {
    const deviation::TensorSource source = [this](const records::Hash128& hash) -> Expected<std::optional<Bytes>> {
      const auto found = tensors_.find(hash);
      return found == tensors_.end() ? std::optional<Bytes>() : found->second;
    };
    explanation_ = explain(subject_, runs_, nodes_, source).value();
    causes_ = find_causes(explanation_, source, request_).value();
  }
  std::string value_of(size_t replay) const {
    return explanation_.trace.values[explanation_.forks[causes_.replays.forks[replay].fork].value].name;
  }
  std::set<std::string> introduced() const {
    std::set<std::string> names;
    for (size_t r = 0; r < causes_.replays.forks.size(); ++r) {
      if (causes_.replays.forks[r].origin() == Origin::kIntroduced) names.insert(value_of(r));
    }
    return names;
  }
  std::string said() const {
    std::string all;
    for (const std::string& sentence : in_words(explanation_, causes_)) all += sentence + "\n";
    return all;
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
    if (::getenv("ISOBIT_SAID") != nullptr) std::cout << said();
    kinds_[name_of(c.kind)].insert(c.value);
    ++places_;
  }

  const fs::path folder_;
  CausesRequest request_;
  std::vector<records::GraphNode> nodes_;
  records::Subject subject_;
  std::vector<records::RunRecord> runs_;
  std::map<records::Hash128, Bytes> tensors_;
  Explanation explanation_;
  Causes causes_;
  std::map<std::string, std::set<std::string>> kinds_;
  int places_ = 0;
};

const Plant kPlainLoop = testing::sums({});

std::vector<Case> product_cases(const std::string& value) {
  return {{Kind::kSummationOrder, value, kPlainLoop, testing::sums({.order = Order::kPairwise})},
          {Kind::kFusedMultiplyAdd, value, kPlainLoop, testing::sums({.fused = true})},
          {Kind::kAccumulatorWidth, value, kPlainLoop, testing::sums({.wide = true})},
          {Kind::kRounding, value, kPlainLoop, testing::sums({.toward_zero = true})}};
}

TEST_F(PlantedCausesTest, InAnImageModel) {
  write_image_model(model(), 4, 9, 3);
  for (const char* value : {"conv1", "conv2", "scores"}) {
    for (const Case& c : product_cases(value)) expect_named(c);
  }
}

TEST_F(PlantedCausesTest, InMeansExponentialsAndDivisions) {
  const Plant mean = testing::sums({.mean = true});
  write_image_model(model(), 16, 11, 4);
  expect_named({Kind::kReciprocalDivision, "pooled", mean, testing::sums({.reciprocal = true, .mean = true})});
  expect_named({Kind::kSummationOrder, "pooled", mean, testing::sums({.order = Order::kLanes, .mean = true})});
  expect_named({Kind::kSummationOrder, "pooled", {}, mean});
  expect_named({Kind::kElementaryFunction, "tanh1", {}, testing::one_ulp_off()});
  expect_named({Kind::kReciprocalDivision, "y", {}, testing::soft_maxima({.reciprocal = true})});
  expect_named({Kind::kElementaryFunction, "y", {}, testing::soft_maxima({.other_exponentials = true}), false});
  write_rows_model(model(), 9, 37, 6);
  expect_named({Kind::kReciprocalDivision, "sixths", {}, testing::by_reciprocal()});
  expect_named({Kind::kReciprocalDivision, "shares", {}, testing::soft_maxima({.reciprocal = true})});
  expect_named({Kind::kSummationOrder, "shares", {}, testing::soft_maxima({.in_order = true})});
  expect_named({Kind::kElementaryFunction, "gate", {}, testing::one_ulp_off()});
  expect_named({Kind::kElementaryFunction, "powers", {}, testing::one_ulp_off()});
  expect_named({Kind::kElementaryFunction, "logs", {}, testing::one_ulp_off()});
  expect_named({Kind::kReciprocalDivision, "y", mean, testing::sums({.reciprocal = true, .mean = true})});
  expect_named({Kind::kSummationOrder, "y", mean, testing::sums({.order = Order::kDescending, .mean = true})});
}

TEST_F(PlantedCausesTest, InAModelOfProducts) {
  write_rows_model(model(), 9, 37, 7);
  for (const char* value : {"product1", "product2"}) {
    for (const Case& c : product_cases(value)) expect_named(c);
    // Our own kernels fuse, in the order of a plain loop.
    expect_named({Kind::kFusedMultiplyAdd, value, {}, kPlainLoop});
  }
}

TEST_F(PlantedCausesTest, InFunctions) {
  write_functions_model(model());
  for (const char* value : {"sine", "cosine", "error", "root", "power", "gelu", "soft"}) {
    expect_named({Kind::kElementaryFunction, value, {}, testing::one_ulp_off()});
  }
  expect_named({Kind::kSummationOrder, "y", {}, kPlainLoop});
}

TEST_F(PlantedCausesTest, InSubnormalNumbers) {
  write_tiny_model(model());
  for (const char* value : {"scaled", "rectified", "product"}) {
    expect_named({Kind::kFlushToZero, value, {}, testing::flushing_results()});
  }
  write_least_powers_model(model());
  for (const char* value : {"powers", "halves", "y"}) {
    expect_named({Kind::kFlushToZero, value, {}, testing::flushing_results()});
  }
}

TEST_F(PlantedCausesTest, InTheAlgorithmOfAConvolution) {
  write_image_model(model(), 6, 14, 5);
  for (const char* algorithm : {"winograd2", "winograd4"}) {
    for (const char* value : {"conv1", "conv2"}) {
      expect_named({Kind::kConvolutionAlgorithm, value, {}, testing::convolution_by(algorithm), false});
      ASSERT_EQ(causes_.trials.size(), 1u) << said();
      EXPECT_EQ(causes_.trials[0].to, algorithm);
      EXPECT_TRUE(causes_.trials[0].agrees);
    }
  }
}

// Platforms by their names alone: the only product is the only place where they can differ.
TEST_F(PlantedCausesTest, InTheInstructionSetOfALibrary) {
  for (const int64_t k : {33, 64, 96, 200}) {
    SCOPED_TRACE(k);
    write_one_product_model(model(), 8, k, 24);
    begin();
    for (const char* name : {"onednn@sse41/1t", "onednn@avx2/1t"}) {
      const auto p = platform::parse_platform(name);
      if (!p) GTEST_SKIP() << "skipped: " << p.error().message;
      record(name, *p, backends::native());
    }
    look();
    ASSERT_EQ(causes_.replays.problem, "");
    EXPECT_EQ(introduced(), std::set<std::string>{"product"}) << said();
    ASSERT_EQ(causes_.trials.size(), 1u) << said();
    EXPECT_EQ(causes_.trials[0].change, Change::kCoreType);
    EXPECT_EQ(causes_.trials[0].from + " " + causes_.trials[0].to, "sse41 avx2");
    EXPECT_TRUE(causes_.trials[0].agrees);
    ASSERT_EQ(causes_.diagnoses.size(), 1u);
    std::cout << said();
  }
}

// What every operator of a training makes.
class Seen final : public runtime::Observer {
 public:
  Seen(int64_t step, std::vector<records::ValueRecord>& values) : step_(step), values_(values) {}
  Status after_stage(const runtime::NodeRun& run) override {
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      const Tensor& t = run.outputs[o];
      if (!t.defined()) continue;
      values_.push_back({run.graph.value(run.node.outputs[o]).name, run.node.op, name_of(t.dtype()), t.shape().dims(),
                         hash_of(t), "", false, step_});
    }
    return {};
  }

 private:
  const int64_t step_;
  std::vector<records::ValueRecord>& values_;
};

class PlantedTrainingTest : public PlantedCausesTest {
 protected:
  void begin_training(const std::string& text) {
    request_.replay.inference.model = folder_ / "job.toml";
    std::ofstream(request_.replay.inference.model) << text;
    const auto training = measure::open_training(request_.replay.inference.model, {}, kSteps, {}).value();
    subject_ = training.subject;
    nodes_ = training.nodes;
    runs_.clear();
    request_.replay.own.clear();
  }
  void train(const std::string& name, backends::Backend& backend) {
    const platform::Platform p = platform::parse_platform("ordered@portable/1t").value();
    if (&backend != &backends::native()) request_.replay.own[name] = {p, "", &backend};
    platform::Engine engine(p);
    const train::Job job = run::load_job(request_.replay.inference.model.string(), {}, {}).value();
    const run::Session session = run::open_session(job, engine, {}).value();
    const auto trainer = train::Trainer::create(session.job, session.dataset, engine, backend, session.network).value();
    records::RunRecord run;
    run.subject = subject_;
    run.platform = {name, "ordered", {}, {}, 0};
    run.tapped = true;
    for (int64_t step = 1; step <= kSteps; ++step) {
      Seen seen(step, run.values);
      ASSERT_TRUE(trainer->advance({.observer = &seen}).has_value());
    }
    run.values.back().is_output = true;
    runs_.push_back(std::move(run));
  }
  static constexpr int64_t kSteps = 2;
};

constexpr const char* kAdamJob = R"([job]
name = "planted"
seed = 5
steps = 4
arithmetic = "ordered-1"
[model]
builder = "digits-cnn"
[data]
dataset = "digits"
batch = 8
[optimizer]
name = "adam"
lr = 0.001
)";

TEST_F(PlantedTrainingTest, InTheBiasCorrectionOfAdam) {
  begin_training(kAdamJob);
  std::vector<std::string> updates;
  for (const auto& n : nodes_) {
    if (n.op.ends_with("Adam")) updates.push_back(n.outputs[0]);
  }
  ASSERT_GE(updates.size(), 4u);
  for (const std::string& value : updates) {
    const Case c{Kind::kBiasCorrection, value, {}, testing::bias_correction_in_float()};
    SCOPED_TRACE(value);
    begin_training(kAdamJob);
    PlantedBackend planted(value, c.planted);
    train("ordered@portable/1t", backends::native());
    train("another/1t", planted);
    look();
    expect_blamed(c);
    EXPECT_EQ(explanation_.trace.values[explanation_.forks[causes_.replays.forks[0].fork].value].step, 1);
  }
}

TEST_F(PlantedTrainingTest, NothingIsBlamedInEqualTrainings) {
  begin_training(kAdamJob);
  PlantedBackend innocent(nodes_.back().outputs[0], [](auto& call, const auto& run) { return run(call); });
  train("ordered@portable/1t", backends::native());
  train("another/1t", innocent);
  look();
  EXPECT_TRUE(explanation_.forks.empty());
  EXPECT_TRUE(causes_.diagnoses.empty());
}

TEST_F(PlantedCausesTest, NothingIsBlamedWhereNothingWasPlanted) {
  write_image_model(model(), 6, 14, 3);
  begin();
  PlantedBackend innocent("conv1", [](auto& call, const auto& run) { return run(call); });
  record("ordered@portable/1t", platform::parse_platform("ordered@portable/1t").value(), backends::native());
  record_planted("another/1t", innocent);
  look();
  EXPECT_TRUE(introduced().empty());
  EXPECT_TRUE(causes_.diagnoses.empty());
  EXPECT_TRUE(explanation_.forks.empty());
}

}  // namespace
}  // namespace isobit::lab::explain
