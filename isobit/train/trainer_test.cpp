#include "isobit/train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "isobit/base/text.h"

namespace isobit::train {
namespace {

Job small_job(const std::string& model, const std::string& optimizer, const std::string& data) {
  const std::string text =
      text_of("[job]\nseed = 5\nsteps = 8\n[model]\n", model, "\n[data]\nbatch = 6\n", data,
              "\n[optimizer]\nlr = 0.02\n", optimizer, "\n[schedule]\nname = \"cosine\"\nwarmup = 2\n");
  return parse_job(text, "test", "").value();
}

std::vector<Job> jobs() {
  return {small_job("builder = \"digits-cnn\"", "name = \"sgd\"\nmomentum = 0.9\nweight_decay = 1e-3",
                    "dataset = \"digits\""),
          small_job("builder = \"resnet\"\nwidth = 4", "name = \"adamw\"\nweight_decay = 0.1\nclip_norm = 0.5",
                    "dataset = \"digits\"\naugment = [\"crop\", \"flip\"]"),
          small_job("builder = \"logistic\"", "name = \"sgd\"", "dataset = \"digits\"")};
}

std::shared_ptr<const data::Dataset> open(const Job& job) { return data::open_dataset(job.data).value(); }

std::vector<NamedTensor> state_after(const Job& job, const std::string& platform, int64_t steps) {
  platform::Engine engine(platform::parse_platform(platform).value());
  auto trainer = Trainer::create(job, open(job), engine).value();
  while (trainer->step() < steps) EXPECT_TRUE(trainer->advance());
  return trainer->state();
}

void expect_identical(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b, const std::string& where) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_TRUE(identical(a[i].tensor, b[i].tensor)) << where << ": " << a[i].name;
  }
}

TEST(Trainer, EveryPlatformAndThreadCountGivesTheSameBits) {
  for (const Job& job : jobs()) {
    const auto expected = state_after(job, "ordered@reference/1t", 4);
    for (const platform::Platform& p : platform::available_platforms()) {
      for (int threads : {1, 2, 3, 8}) {
        const std::string text = text_of("ordered@", kernels::name_of(p.isa), "/", threads, "t");
        expect_identical(state_after(job, text, 4), expected, text_of(job.model.builder, " ", text));
      }
    }
  }
}

TEST(Trainer, ARestoredTrainerGoesOnToTheSameBits) {
  for (const Job& job : jobs()) {
    const auto expected = state_after(job, "ordered", 8);
    platform::Engine engine(platform::parse_platform("ordered").value());
    auto trainer = Trainer::create(job, open(job), engine).value();
    std::vector<NamedTensor> middle;
    for (const NamedTensor& t : state_after(job, "ordered", 3)) middle.push_back({t.name, t.tensor.clone()});
    ASSERT_TRUE(trainer->restore(middle, 3));
    while (trainer->step() < 8) ASSERT_TRUE(trainer->advance());
    expect_identical(trainer->state(), expected, job.model.builder);
  }
}

// Whoever keeps what was computed from a state asks whether it is still that state.
TEST(Trainer, AnotherStateIsAnotherRevision) {
  const Job job = jobs()[0];
  platform::Engine engine(platform::parse_platform("ordered").value());
  auto trainer = Trainer::create(job, open(job), engine).value();
  uint64_t last = trainer->revision();
  const auto changed = [&] { return std::exchange(last, trainer->revision()) != last; };
  ASSERT_TRUE(trainer->advance());
  EXPECT_TRUE(changed());
  const std::vector<NamedTensor> state = trainer->state();
  ASSERT_TRUE(trainer->evaluate());
  EXPECT_EQ(trainer->revision(), last);
  ASSERT_TRUE(trainer->restore(state, 1));
  EXPECT_TRUE(changed());
  ASSERT_TRUE(trainer->put({state[0].name, state[0].tensor.clone()}));
  EXPECT_TRUE(changed());
}

TEST(Trainer, TakesAStateOverTensorByTensor) {
  for (const Job& job : jobs()) {
    const auto expected = state_after(job, "ordered", 8);
    platform::Engine engine(platform::parse_platform("ordered").value());
    auto trainer = Trainer::create(job, open(job), engine).value();
    auto middle = state_after(job, "ordered", 3);
    const NamedTensor first{middle[0].name, middle[0].tensor.clone()};
    EXPECT_FALSE(trainer->put({"other", first.tensor}));
    EXPECT_FALSE(trainer->put({first.name, Tensor::zeros(DType::kFloat32, {1})}));
    ASSERT_TRUE(trainer->put(first));
    EXPECT_NE(trainer->put(first).error().message.find("twice"), std::string::npos);
    EXPECT_NE(trainer->go_on_from(3).error().message.find("is missing"), std::string::npos);
    EXPECT_EQ(trainer->wants(first.name, first.tensor.dtype(), first.tensor.shape()).value(), 0u);
    EXPECT_FALSE(trainer->wants("other", first.tensor.dtype(), first.tensor.shape()));
    EXPECT_FALSE(trainer->wants(first.name, DType::kUint8, first.tensor.shape()));
    // Whatever fails forgets what was put: what comes next is not said to come twice.
    ASSERT_TRUE(trainer->put(first));
    EXPECT_FALSE(trainer->go_on_from(job.steps + 1));
    ASSERT_TRUE(trainer->put(first));
    EXPECT_FALSE(trainer->put({"other", first.tensor}));
    std::ranges::reverse(middle);
    for (NamedTensor& t : middle) ASSERT_TRUE(trainer->put({t.name, t.tensor.clone()})) << t.name;
    ASSERT_TRUE(trainer->go_on_from(3));
    while (trainer->step() < 8) ASSERT_TRUE(trainer->advance());
    expect_identical(trainer->state(), expected, job.model.builder);
  }
}

TEST(Trainer, TrainersOfSeveralArithmeticsTakeTurnsOnTheSameThreads) {
  const std::vector<std::string> arithmetics = {"ordered-1", "correct-1", "rounded", "float64"};
  Job job = jobs()[0];
  platform::Engine engine(platform::parse_platform("ordered/2t").value());
  std::vector<std::unique_ptr<Trainer>> together;
  for (const std::string& arithmetic : arithmetics) {
    job.arithmetic = arithmetic;
    together.push_back(Trainer::create(job, open(job), engine).value());
  }
  for (int step = 0; step < 4; ++step) {
    for (const auto& trainer : together) ASSERT_TRUE(trainer->advance());
    ASSERT_TRUE(together[static_cast<size_t>(step)]->evaluate());  // may need another arithmetic than the step
  }
  for (size_t i = 0; i < arithmetics.size(); ++i) {
    job.arithmetic = arithmetics[i];
    expect_identical(together[i]->state(), state_after(job, "ordered/2t", 4), arithmetics[i]);
  }
}

// A device of its own, whose memory is the host's upside down: what nobody copied from it is wrong.
class FarDevice final : public Device {
 public:
  std::string name() const override { return "far"; }
  std::shared_ptr<uint8_t[]> allocate(size_t bytes) override { return host().allocate(bytes); }
  void copy_in(uint8_t* to, ByteView from) override {
    for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<uint8_t>(~from[i]);
  }
  void copy_out(std::span<uint8_t> to, const uint8_t* from) const override {
    for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<uint8_t>(~from[i]);
  }
};

// Runs graphs on that device: feeds go there, outputs come back. The arithmetic unit that it would have is the
// executor.
class FarProgram final : public backends::Program {
 public:
  FarProgram(FarDevice& device, std::unique_ptr<backends::Program> unit, int& runs)
      : device_(device), unit_(std::move(unit)), runs_(runs) {}
  Status run(std::span<Feed> feeds, std::span<Tensor> outputs, runtime::RunOptions options) override {
    std::vector<Tensor> there;
    for (const auto& [id, tensor] : feeds) there.push_back(tensor.copied_to(device_));
    std::vector<Feed> near;
    for (size_t i = 0; i < feeds.size(); ++i) near.emplace_back(feeds[i].first, there[i].copied_to(host()));
    std::vector<Tensor> computed(outputs.size());
    ISOBIT_RETURN_IF_ERROR(unit_->run(near, computed, options));
    for (size_t o = 0; o < outputs.size(); ++o) outputs[o] = computed[o].copied_to(device_).copied_to(host());
    ++runs_;
    return {};
  }

 private:
  FarDevice& device_;
  std::unique_ptr<backends::Program> unit_;
  int& runs_;
};

class FarBackend final : public backends::Backend {
 public:
  Expected<std::unique_ptr<backends::Program>> compile(const graph::Graph& graph, const platform::Context& context,
                                                       const runtime::Limits& limits) override {
    ISOBIT_TRY(auto unit, backends::native().compile(graph, context, limits));
    return std::make_unique<FarProgram>(device_, std::move(unit), runs);
  }
  int runs = 0;

 private:
  FarDevice device_;
};

TEST(Trainer, ABackendWithADeviceOfItsOwnNeedsNothingOfTheTrainer) {
  for (Job job : jobs()) {
    for (const char* arithmetic : {"ordered-1", "rounded"}) {
      job.arithmetic = arithmetic;
      FarBackend far;
      platform::Engine engine(platform::parse_platform("ordered").value());
      auto trainer = Trainer::create(job, open(job), engine, far).value();
      while (trainer->step() < 3) ASSERT_TRUE(trainer->advance());
      ASSERT_EQ(far.runs, 3);
      expect_identical(trainer->state(), state_after(job, "ordered", 3), arithmetic);
      const SampleScores scored = trainer->evaluate().value();
      EXPECT_GT(far.runs, 3);
      EXPECT_EQ(scored.sums, evaluate(job, trainer->dataset(), trainer->state(), engine)->sums);
    }
  }
}

TEST(Trainer, RestoreRefusesWhatDoesNotFit) {
  const Job job = jobs()[0];
  platform::Engine engine(platform::parse_platform("ordered").value());
  auto trainer = Trainer::create(job, open(job), engine).value();
  EXPECT_FALSE(trainer->restore({}, 1));
  EXPECT_FALSE(trainer->restore(trainer->state(), 9));
  std::vector<NamedTensor> renamed = trainer->state();
  renamed[0].name = "other";
  EXPECT_FALSE(trainer->restore(renamed, 1));
  std::vector<NamedTensor> reshaped = trainer->state();
  reshaped[0].tensor = Tensor::zeros(DType::kFloat32, {1});
  EXPECT_FALSE(trainer->restore(reshaped, 1));
}

TEST(Trainer, LearnsTheDigits) {
  Job job = jobs()[0];
  job.steps = 120;
  job.batch = 32;
  job.lr = 0.05;
  job.warmup = 10;
  platform::Engine engine(platform::parse_platform("ordered").value());
  auto trainer = Trainer::create(job, open(job), engine).value();
  const auto before = trainer->evaluate()->totals();
  while (trainer->step() < job.steps) ASSERT_TRUE(trainer->advance());
  const SampleScores evaluation = trainer->evaluate().value();
  const auto after = evaluation.totals();
  EXPECT_EQ(evaluation.samples(), 360u);
  const auto value = [](const std::vector<Metric>& metrics, const char* name) {
    return value_of(*find_metric(metrics, name));
  };
  EXPECT_LT(value(before, "top1"), 1 / 3.0);
  EXPECT_GT(value(after, "top1"), 330 / 360.0);
  EXPECT_GE(value(after, "top5"), value(after, "top1"));
  EXPECT_LT(value(after, "loss"), value(before, "loss"));
}

TEST(Trainer, AStepHoldsNoMoreThanItNeeds) {
  Job job = jobs()[1];
  job.model.blocks = 3;
  platform::Engine engine(platform::parse_platform("ordered").value());
  auto trainer = Trainer::create(job, open(job), engine).value();
  runtime::MemoryUse memory;
  ASSERT_TRUE(trainer->advance({.memory = &memory}));
  size_t everything = 0;
  const graph::Graph& g = trainer->step_graph().graph;
  for (graph::ValueId v = 0; v < g.value_count(); ++v)
    everything += static_cast<size_t>(g.value(v).shape().elements()) * 4;
  EXPECT_LT(memory.peak_bytes, everything / 2);
}

}  // namespace
}  // namespace isobit::train
