// Steps that compute values of the forward pass again: the same state to the bit under every arithmetic and on every
// number of threads, every node seen once, and less memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include "isobit/base/file.h"
#include "isobit/base/text.h"
#include "isobit/runtime/stages/log_recorder.h"
#include "isobit/train/trainer.h"

namespace isobit::train {
namespace {

using runtime::Recompute;

// The bits of every node of every step, one after another.
class Digest final : public runtime::Observer {
 public:
  Status after_stage(const runtime::NodeRun& run) override {
    ++seen_;
    for (const Tensor& t : run.outputs) {
      if (!t.defined()) continue;
      const auto* bytes = static_cast<const uint8_t*>(t.raw());
      for (size_t i = 0; i < t.bytes(); ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3;
    }
    return {};
  }
  void ran_again(size_t) override { ++again_; }
  std::pair<uint64_t, int64_t> seen() const { return {hash_, seen_}; }
  int64_t again() const { return again_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
  int64_t seen_ = 0, again_ = 0;
};

struct Trained {
  std::vector<NamedTensor> state;
  std::pair<uint64_t, int64_t> seen;
  log::CountsByOperator counts;
  std::vector<log::StepLog> logs;
  int64_t again = 0;
  size_t peak = 0;
};

class RecomputedSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    Bytes bytes(4000);
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i / 7);
    ASSERT_TRUE(write_file_durably(text_, bytes));
  }
  void TearDown() override { fs::remove(text_); }

  static Job job(const std::string& model, const std::string& data, std::vector<std::string> set) {
    const std::string text = text_of("[job]\nseed = 5\nsteps = 3\n[model]\n", model, "\n[data]\n", data,
                                     "\n[optimizer]\nname = \"adamw\"\nlr = 0.02\nclip_norm = 0.5\n");
    return parse_job(text, "test", "", set).value();
  }
  // Convolutions; batch norm and its running statistics; a GPT with dropout; micro-batches; statistics that are frozen.
  std::vector<Job> jobs(const std::vector<std::string>& set) const {
    const std::string gpt = "builder = \"gpt\"\nlayers = 3\nheads = 2\nchannels = 16\ndropout = 0.1";
    const std::string digits = "dataset = \"digits\"\nbatch = 12";
    const std::string text = text_of("dataset = \"text\"\npath = \"", text_.string(), "\"\ncontext = 16\nbatch = 4");
    return {job("builder = \"digits-cnn\"", digits, set),
            job("builder = \"resnet\"\nblocks = 2\nwidth = 4", digits, set),
            job("builder = \"resnet\"\nblocks = 2\nwidth = 4", digits + "\nmicro_batches = 3", set),
            job("builder = \"resnet\"\nblocks = 2\nwidth = 4\nbatch_norm = \"frozen\"", digits, set),
            job(gpt, text, set),
            job(gpt, text + "\nmicro_batches = 2", set)};
  }

  static Trained train(const Job& job, Recompute what, int threads) {
    platform::Platform platform = platform::parse_platform("ordered").value();
    platform.threads = threads;
    platform::Engine engine(platform);
    auto trainer = Trainer::create(job, data::open_dataset(job.data).value(), engine, backends::native(),
                                   models::built_in(), what);
    EXPECT_TRUE(trainer) << trainer.error().message;
    std::unique_ptr<runtime::LogRecorder> recorder;
    if (arithmetic_of(job).logs) {
      runtime::RoundingRules rules;
      rules.bits = static_cast<int>(job.rounding.bits);
      rules.log = job.rounding.log;
      rules.divergence = 65536;  // enough near-ties to be written down
      recorder = runtime::make_recorder(rules);
    }
    Trained done;
    Digest digest;
    runtime::MemoryUse memory;
    while ((*trainer)->step() < job.steps) {
      if (recorder) recorder->begin_step(static_cast<uint64_t>((*trainer)->step()) + 1);
      const auto step = (*trainer)->advance({.observer = &digest, .stage = recorder.get(), .memory = &memory});
      EXPECT_TRUE(step) << step.error().message;
      if (!step) break;
      if (recorder) done.logs.push_back(recorder->take_log());
    }
    done.state = (*trainer)->state();
    done.seen = digest.seen();
    done.again = digest.again();
    done.peak = memory.peak_bytes;
    if (recorder) done.counts = recorder->counts();
    return done;
  }

  static void expect_same(const Trained& a, const Trained& b) {
    ASSERT_EQ(a.state.size(), b.state.size());
    for (size_t i = 0; i < a.state.size(); ++i) {
      EXPECT_TRUE(identical(a.state[i].tensor, b.state[i].tensor)) << a.state[i].name;
    }
    EXPECT_EQ(a.seen, b.seen);
    EXPECT_TRUE(a.logs == b.logs);
    EXPECT_EQ(a.counts.size(), b.counts.size());
    for (const auto& [op, counts] : a.counts) {
      EXPECT_EQ(counts.elements, b.counts.at(op).elements) << op;
      EXPECT_EQ(counts.entries, b.counts.at(op).entries) << op;
    }
  }

  void try_all(const std::vector<std::string>& set, const std::vector<Recompute>& ways) {
    for (const Job& job : jobs(set)) {
      SCOPED_TRACE(text_of(job.model.builder, ", ", job.micro_batches, " micro-batches"));
      const Trained plain = train(job, Recompute::kNothing, 2);
      EXPECT_EQ(plain.again, 0);
      for (const Recompute what : ways) {
        SCOPED_TRACE(runtime::name_of(what));
        for (const int threads : {1, 2, 3}) {
          const Trained found = train(job, what, threads);
          expect_same(found, plain);
          EXPECT_LE(found.peak, plain.peak);
          if (job.model.builder == "digits-cnn") continue;  // too small for a gain in every way
          EXPECT_GT(found.again, 0);
          EXPECT_LT(found.peak, plain.peak);
        }
      }
    }
  }

  const fs::path text_ = fs::temp_directory_path() / text_of("isobit_recomputed_", ::getpid());
};

TEST_F(RecomputedSteps, Ordered) { try_all({}, {Recompute::kCheap, Recompute::kEverything}); }
TEST_F(RecomputedSteps, Correct) { try_all({"job.arithmetic=correct-1"}, {Recompute::kCheap, Recompute::kEverything}); }
TEST_F(RecomputedSteps, LoggedSparse) { try_all({"job.arithmetic=logged-1"}, {Recompute::kCheap}); }
TEST_F(RecomputedSteps, LoggedOvt) { try_all({"job.arithmetic=logged-1", "rounding.log=ovt"}, {Recompute::kCheap}); }
TEST_F(RecomputedSteps, WithoutPromises) {
  for (const char* arithmetic : {"rounded", "float64", "float32"}) {
    try_all({text_of("job.arithmetic=", arithmetic)}, {Recompute::kCheap});
  }
}

TEST_F(RecomputedSteps, LoggedProductsAreRefused) {
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  for (const char* arithmetic : {"logged-1", "rounded", "float64", "float32"}) {
    const Job job = jobs({text_of("job.arithmetic=", arithmetic)})[0];
    const auto refused = Trainer::create(job, data::open_dataset(job.data).value(), engine, backends::native(),
                                         models::built_in(), Recompute::kEverything);
    ASSERT_FALSE(refused) << arithmetic;
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
    EXPECT_NE(refused.error().message.find("'cheap'"), std::string::npos) << refused.error().message;
  }
}

// A loss for each micro-batch, in the order in which their passes follow one another.
TEST_F(RecomputedSteps, EveryMicroBatchHasItsLoss) {
  const Job job = jobs({})[2];
  const StepGraph step = build_step_graph(job, *data::open_dataset(job.data).value()).value();
  ASSERT_EQ(step.losses.size(), 3u);
  for (size_t m = 0; m < 3; ++m) {
    EXPECT_TRUE(step.graph.value(step.losses[m]).name.starts_with(text_of("micro", m, "/")));
    EXPECT_TRUE(step.graph.value(step.losses[m]).dims.empty());
  }
}

}  // namespace
}  // namespace isobit::train
