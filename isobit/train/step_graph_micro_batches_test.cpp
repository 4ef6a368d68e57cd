#include "isobit/train/step_graph_micro_batches.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/graph/op.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

using graph::ValueId;
using Values = std::map<std::string, Tensor>;

Job job_of(const std::string& model, const std::string& data, int64_t batch, int64_t micro_batches) {
  return parse_job(text_of("[job]\nseed = 5\nsteps = 4\n[model]\n", model, "\n[data]\n", data, "\nbatch = ", batch,
                           "\nmicro_batches = ", micro_batches, "\n[optimizer]\nlr = 0.02\n"),
                   "test", "")
      .value();
}

constexpr char kResnet[] = "builder = \"resnet\"\nwidth = 4";
constexpr char kDigits[] = "dataset = \"digits\"";

// A file of bytes for token sequences.
class TextFile {
 public:
  TextFile() : path_(fs::temp_directory_path() / text_of("isobit_micro_batches_", ::getpid())) {
    Bytes bytes(4000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i / 7);
    EXPECT_TRUE(write_file_durably(path_, bytes));
  }
  ~TextFile() { fs::remove(path_); }
  std::string data() const { return text_of("dataset = \"text\"\npath = \"", path_.string(), "\"\ncontext = 8"); }

 private:
  fs::path path_;
};

// Every value of a step by its name, outputs of nodes and what was fed.
class Recorder : public runtime::Observer {
 public:
  explicit Recorder(Values& values) : values_(values) {}
  Status after_stage(const runtime::NodeRun& run) override {
    for (size_t o = 0; o < run.outputs.size(); ++o) {
      if (run.outputs[o].defined()) values_[run.graph.value(run.node.outputs[o]).name] = run.outputs[o].clone();
    }
    return {};
  }

 private:
  Values& values_;
};

Values values_of_a_step(const StepGraph& step, const runtime::Executor::Feeds& feeds) {
  Values values;
  for (const auto& [id, tensor] : feeds) values[step.graph.value(id).name] = tensor.clone();
  Recorder recorder(values);
  ThreadPool pool(2);
  const kernels::KernelContext ctx{kernels::best_isa(), &pool};
  runtime::Executor executor(step.graph);
  runtime::Executor::Feeds own;
  for (const auto& [id, tensor] : feeds) own.emplace_back(id, tensor.clone());
  const auto done = executor.run(ctx, std::move(own), {.observer = &recorder});
  EXPECT_TRUE(done) << done.error().message;
  return values;
}

Tensor rows(const Tensor& tensor, int64_t first, int64_t count) {
  std::vector<int64_t> dims = tensor.shape().dims();
  const size_t row = tensor.bytes() / static_cast<size_t>(dims[0]);
  dims[0] = count;
  Tensor part(tensor.dtype(), Shape(dims));
  const auto* from = static_cast<const uint8_t*>(tensor.raw()) + static_cast<size_t>(first) * row;
  std::copy(from, from + part.bytes(), static_cast<uint8_t*>(part.raw()));
  return part;
}

// A job in micro-batches, its first batch and state, and the graph of one micro-batch alone.
struct Case {
  explicit Case(const Job& whole_job) : job(whole_job) {
    dataset = data::open_dataset(job.data).value();
    engine = std::make_unique<platform::Engine>(platform::parse_platform("ordered/2t").value());
    trainer = Trainer::create(job, dataset, *engine).value();
    Job small = job;
    small.batch = job.batch / job.micro_batches;
    small.micro_batches = 1;
    part = build_step_graph(small, *dataset).value();
    Job uncut = job;
    uncut.micro_batches = 1;
    one = build_step_graph(uncut, *dataset).value();
    batch = trainer->inputs().value().batch;
  }

  // `state`: in place of the trainer's, by name. Micro-batch m of the graph of a part; -1: the whole batch.
  runtime::Executor::Feeds feeds(const StepGraph& graph, int64_t m, const Values& state = {}) const {
    runtime::Executor::Feeds feeds;
    const auto cut = [&](const Tensor& tensor, ValueId id) {
      const int64_t count = job.batch / job.micro_batches;
      const Tensor some = m < 0 ? tensor : rows(tensor, m * count, count);
      feeds.emplace_back(id, some.reshaped(graph.graph.value(id).shape()));
    };
    cut(batch.inputs[0], graph.inputs[0]);
    cut(batch.target, graph.target);
    feeds.emplace_back(graph.lr, Tensor::scalar(0.02));
    if (graph.step != graph::kNoValue) feeds.emplace_back(graph.step, Tensor::scalar(int64_t{0}));
    for (size_t i = 0; i < graph.slots.size(); ++i) {
      const NamedTensor& own = trainer->state()[i];
      EXPECT_EQ(own.name, graph.slots[i].name);
      feeds.emplace_back(graph.slots[i].in, state.contains(own.name) ? state.at(own.name) : own.tensor);
    }
    return feeds;
  }

  Values whole() const { return values_of_a_step(trainer->step_graph(), feeds(trainer->step_graph(), -1)); }
  Values of_part(int64_t m, const Values& state = {}) const { return values_of_a_step(part, feeds(part, m, state)); }

  Job job;
  std::shared_ptr<const data::Dataset> dataset;
  std::unique_ptr<platform::Engine> engine;
  std::unique_ptr<Trainer> trainer;
  StepGraph part, one;
  data::Batch batch;
};

std::vector<float> numbers(const Tensor& tensor) { return {tensor.span<float>().begin(), tensor.span<float>().end()}; }

// The tree of the header, written as its recursion: the left part is the largest power of two below n.
std::vector<float> tree_sum(const std::vector<std::vector<float>>& parts, size_t first, size_t n) {
  if (n == 1) return parts[first];
  size_t left = 1;
  while (left * 2 < n) left *= 2;
  std::vector<float> sum = tree_sum(parts, first, left);
  const std::vector<float> right = tree_sum(parts, first + left, n - left);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

TEST(MicroBatches, GradientsAndLossAreMeansByTheTree) {
  for (const int64_t count : {2, 3, 4, 6, 7}) {
    const Case c(job_of("builder = \"logistic\"", kDigits, 2 * count, count));
    const Values whole = c.whole();
    for (const char* name : {"loss", "grad/fc.weight", "grad/fc.bias"}) {
      std::vector<std::vector<float>> parts;
      for (int64_t m = 0; m < count; ++m) parts.push_back(numbers(c.of_part(m).at(name)));
      std::vector<float> expected = tree_sum(parts, 0, parts.size());
      for (float& x : expected) x /= static_cast<float>(count);
      EXPECT_EQ(numbers(whole.at(name)), expected) << count << " " << name;
      for (int64_t m = 0; m < count; ++m) {
        EXPECT_EQ(numbers(whole.at(text_of("micro", m, "/", name))), parts[static_cast<size_t>(m)]) << m;
      }
    }
  }
}

TEST(MicroBatches, OfAnOddNumberTheLastOneWaits) {
  const Case c(job_of("builder = \"logistic\"", kDigits, 7, 7));
  const graph::Graph& g = c.trainer->step_graph().graph;
  std::vector<std::string> sums;
  for (const graph::Node& node : g.nodes()) {
    const std::string& name = g.value(node.outputs[0]).name;
    if (name.ends_with("/loss") && name.find('-') != std::string::npos) sums.push_back(name);
  }
  EXPECT_EQ(sums, (std::vector<std::string>{"micro0-1/loss", "micro2-3/loss", "micro0-3/loss", "micro4-5/loss",
                                            "micro4-6/loss", "micro0-6/loss"}));
}

// Each micro-batch has its own statistics and finds the running ones as the one before left them.
TEST(MicroBatches, BuffersAreUpdatedInTurn) {
  const Case c(job_of(kResnet, kDigits, 12, 3));
  Values state;
  for (int64_t m = 0; m < 3; ++m) {
    const Values values = c.of_part(m, state);
    for (const StateSlot& slot : c.part.slots) {
      if (slot.name.find(".running_") == std::string::npos) continue;
      state[slot.name] = values.at(c.part.graph.value(slot.out).name);
    }
  }
  ASSERT_FALSE(state.empty());
  const Values whole = c.whole();
  const StepGraph& step = c.trainer->step_graph();
  for (const StateSlot& slot : step.slots) {
    if (!state.contains(slot.name)) continue;
    EXPECT_TRUE(identical(whole.at(step.graph.value(slot.out).name), state.at(slot.name))) << slot.name;
    state.erase(slot.name);
  }
  EXPECT_TRUE(state.empty());
}

// A row of the network's output depends on no other row, so what is dropped shows in it.
TEST(MicroBatches, DrawWhatTheWholeBatchDraws) {
  const TextFile text;
  const Case c(job_of("builder = \"gpt\"\nlayers = 1\nheads = 2\nchannels = 8\ndropout = 0.25", text.data(), 6, 3));
  const Values whole = c.whole();
  const Values uncut = values_of_a_step(c.one, c.feeds(c.one, -1));
  const int64_t count = uncut.at("logits").shape()[0] / 3;
  for (int64_t m = 0; m < 3; ++m) {
    const Tensor expected = rows(uncut.at("logits"), m * count, count);
    EXPECT_TRUE(identical(whole.at(text_of("micro", m, "/logits")), expected)) << m;
  }
  const Values other = c.of_part(1);
  EXPECT_FALSE(identical(other.at("logits"), rows(uncut.at("logits"), count, count))) << "nothing was dropped";
}

// What one needs is not held while the next is computed.
TEST(MicroBatches, TakeTheMemoryOfOne) {
  const auto peak = [](int64_t micro_batches) {
    const Job job = job_of(kResnet, kDigits, 64, micro_batches);
    const StepGraph step = build_step_graph(job, *data::declared_shape(job.data)).value();
    return runtime::Executor(step.graph).planned_peak_bytes().value();
  };
  EXPECT_LT(peak(8), peak(1) / 3);
  EXPECT_LT(peak(64), peak(8));
}

TEST(MicroBatches, FollowEachOther) {
  const Case c(job_of(kResnet, kDigits, 4, 4));
  const graph::Graph& g = c.trainer->step_graph().graph;
  std::string last = "micro0/";
  for (const graph::Node& node : g.nodes()) {
    const std::string& name = g.value(node.outputs[0]).name;
    const size_t slash = name.find('/');
    if (!name.starts_with("micro") || name.find('-') < slash) continue;
    EXPECT_LE(last, name.substr(0, slash + 1)) << name;
    last = name.substr(0, slash + 1);
  }
  EXPECT_EQ(last, "micro3/");
}

TEST(MicroBatches, GiveTheSameBitsEverywhere) {
  const TextFile text;
  for (const Job& job :
       {job_of(kResnet, kDigits, 12, 3),
        job_of("builder = \"gpt\"\nlayers = 1\nheads = 2\nchannels = 8\ndropout = 0.25", text.data(), 4, 2)}) {
    const std::shared_ptr<const data::Dataset> dataset = data::open_dataset(job.data).value();
    std::vector<NamedTensor> expected;
    for (const char* platform : {"ordered@reference/1t", "ordered@portable/2t", "ordered/3t"}) {
      platform::Engine engine(platform::parse_platform(platform).value());
      const auto trainer = Trainer::create(job, dataset, engine).value();
      while (trainer->step() < job.steps) ASSERT_TRUE(trainer->advance());
      if (expected.empty()) expected = trainer->state();
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(identical(trainer->state()[i].tensor, expected[i].tensor)) << platform << " " << expected[i].name;
      }
    }
  }
}

// As float64 and rounding: the graph is retyped as any other.
TEST(MicroBatches, ComputeUnderEveryArithmetic) {
  for (const char* arithmetic : {"correct-1", "logged-1", "rounded", "float64"}) {
    Job job = job_of(kResnet, kDigits, 12, 3);
    job.arithmetic = arithmetic;
    platform::Engine engine(platform::parse_platform("ordered/2t").value());
    const auto trainer = Trainer::create(job, data::open_dataset(job.data).value(), engine);
    ASSERT_TRUE(trainer) << trainer.error().message;
    const auto step = (*trainer)->advance();
    ASSERT_TRUE(step) << step.error().message;
    EXPECT_GT(step->loss, 1.0f);
    EXPECT_LT(step->loss, 5.0f);
  }
}

TEST(MicroBatches, StepsHaveALimit) {
  Job job = job_of("builder = \"resnet\"\nwidth = 1\nblocks = 100", kDigits, 256, 2);
  EXPECT_TRUE(build_step_graph(job, *data::declared_shape(job.data)));
  job.micro_batches = 256;
  const auto refused = build_step_graph(job, *data::declared_shape(job.data));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnreadable);
  EXPECT_TRUE(refused.error().message.starts_with("data.micro_batches: 256 micro-batches of about "));
}

}  // namespace
}  // namespace isobit::train
