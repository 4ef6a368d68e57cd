#include "isobit/run/job_size.h"

#include <gtest/gtest.h>

#include <ctime>

#include "isobit/base/text.h"
#include "isobit/formats/safetensors.h"
#include "isobit/platform/memory.h"
#include "isobit/run/job_root.h"
#include "isobit/run/step_logs.h"

namespace isobit::run {
namespace {

train::Job job_of(const std::string& builder, const std::string& data, const std::string& rest = "",
                  const std::string& optimizer = "name = \"sgd\"\nlr = 0.01\nmomentum = 0.9") {
  return train::parse_job(text_of("[job]\nsteps = 4\n[model]\nbuilder = ", builder, "\n[data]\n", data,
                                  "\n[optimizer]\n", optimizer, "\n", rest),
                          "test", "")
      .value();
}

const std::string kDigits = "dataset = \"digits\"\nbatch = 24\n";
const std::string kAdam = "name = \"adamw\"\nlr = 0.01\nclip_norm = 1.0";

std::vector<train::Job> jobs() {
  std::vector<train::Job> all = {
      job_of("\"digits-cnn\"", kDigits),
      job_of("\"mnist-cnn\"", kDigits, "", kAdam),
      job_of("\"logistic\"", kDigits, "[evaluate]\nsamples = 40\n"),
      job_of("\"resnet\"\nwidth = 4\nblocks = 2", kDigits + "augment = [\"crop\"]\n"),
      job_of("\"resnet\"\nwidth = 4", kDigits, "", kAdam),
  };
  for (const char* arithmetic : {"correct-1", "logged-1", "rounded", "float64"}) {
    all.push_back(all[0]);
    all.back().arithmetic = arithmetic;
  }
  all.push_back(all[0]);
  all.back().arithmetic = "logged-1";
  all.back().rounding.log = log::Kind::kOvt;
  return all;
}

std::string name_of(const train::Job& job) { return job.model.builder + " " + job.arithmetic; }

TEST(JobSize, IsWhatAStepTakes) {
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  for (const train::Job& job : jobs()) {
    const Session session = open_session(job, engine).value();
    const JobSize size = job_size(job, data::shape_of(*session.dataset)).value();
    uint64_t state = 0;
    for (const NamedTensor& t : session.trainer->state()) state += t.tensor.bytes();
    EXPECT_EQ(size.state, state) << name_of(job);
    runtime::MemoryUse memory;
    ASSERT_TRUE(session.trainer->advance({.memory = &memory})) << name_of(job);
    EXPECT_EQ(size.step_peak, memory.peak_bytes) << name_of(job);
    const Bytes checkpoint =
        formats::encode_safetensors({session.trainer->state(), {{"step", "18446744073709551615"}}}).value();
    EXPECT_LE(checkpoint.size(), size.largest_checkpoint) << name_of(job);
    EXPECT_LE(size.largest_checkpoint, checkpoint.size() + checkpoint.size() / 16 + 8192) << name_of(job);
  }
}

TEST(JobSize, BoundsTheLog) {
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  for (const train::Job& job : jobs()) {
    const JobSize size = job_size(job, *data::declared_shape(job.data)).value();
    EXPECT_EQ(size.largest_log_segment > 0, arithmetic_of(job).logs) << name_of(job);
    if (!arithmetic_of(job).logs) continue;
    const Session session = open_session(job, engine).value();
    const auto log = make_step_log_writer(job, session.trainer->step_graph());
    ASSERT_TRUE(session.trainer->advance({.stage = &log->begin(1)}));
    EXPECT_LE(log->end().value().bytes.size(), size.largest_log_segment);
    EXPECT_GE(size.largest_log, static_cast<uint64_t>(job.steps) * size.largest_log_segment);
  }
}

// What a job declares is what its data say once they are open.
TEST(JobSize, NeedsNoData) {
  const train::Job job = jobs()[0];
  const auto dataset = data::open_dataset(job.data).value();
  const data::DataShape declared = *data::declared_shape(job.data), found = data::shape_of(*dataset);
  EXPECT_EQ(declared.inputs, found.inputs);
  EXPECT_EQ(declared.target, found.target);
  const JobSize before = job_size(job, declared).value(), after = job_size(job, found).value();
  EXPECT_EQ(before.largest_checkpoint, after.largest_checkpoint);
  EXPECT_EQ(before.step_peak, after.step_peak);
  EXPECT_EQ(before.evaluation_peak, 0u);
  EXPECT_GT(after.evaluation_peak, 0u);
  // A sampled audit reads the next state while the memory of a step is kept.
  EXPECT_GE(before.to_audit, before.step_peak + before.largest_tensor + before.data + kWorkspace);
  EXPECT_GE(after.to_audit, after.step_peak + after.evaluation_peak + after.data + kWorkspace);
  data::DataConfig npy;
  npy.dataset = "npy";
  EXPECT_FALSE(data::declared_shape(npy));
  data::DataConfig text;
  text.dataset = "text";
  EXPECT_FALSE(data::declared_shape(text));
}

// Jobs that no machine can hold: counted, or refused with a reason, without taking what they ask for.
TEST(JobSize, OfHugeJobsIsKnownAtOnce) {
  const std::string text = "dataset = \"text\"\npath = \"x\"\ncontext = 128\nbatch = 4\n";
  const std::string most = "dataset = \"text\"\npath = \"x\"\ncontext = 1048576\nbatch = 1048576\n";
  const std::string images = "dataset = \"cifar10\"\npath = \"x\"\nbatch = 1048576\n";
  const train::Job huge[] = {
      job_of("\"gpt\"\nchannels = 16384\nheads = 16\nlayers = 2", text, "", kAdam),
      job_of("\"gpt\"\nchannels = 16384\nheads = 16\nlayers = 200", text, "", kAdam),
      job_of("\"gpt\"\nchannels = 65536\nheads = 16\nlayers = 200", text, "", kAdam),
      job_of("\"gpt\"\nchannels = 65536\nheads = 1024\nlayers = 200", most, "", kAdam),
      job_of("\"resnet\"\nwidth = 4096\nblocks = 100", kDigits),
      job_of("\"resnet\"\nwidth = 4096\nblocks = 100", images),
      job_of("\"mnist-cnn\"", images),
      job_of("\"logistic\"", "dataset = \"cifar10\"\npath = \"x\"\nbatch = 1048576\n"),
  };
  for (train::Job job : huge) {
    for (const char* arithmetic : {"ordered-1", "logged-1"}) {
      job.arithmetic = arithmetic;
      const std::clock_t begin = std::clock();  // of this process, however busy the machine is
      const auto size = job_size(job, *data::declared_shape(job.data));
      const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
      EXPECT_LT(seconds, 2) << name_of(job);
      if (size) {
        EXPECT_GT(size->to_train, uint64_t{10} << 30) << name_of(job);
      } else {
        EXPECT_NE(size.error().message.find("smaller"), std::string::npos) << size.error().message;
      }
      std::printf("%-12s %-10s %8.1f ms  %s\n", job.model.builder.c_str(), arithmetic, seconds * 1e3,
                  size ? human_bytes(size->to_train).c_str() : size.error().message.c_str());
    }
  }
}

TEST(JobSize, TheTrialOfALibraryIsSaidWhereThereIsOne) {
  train::Job job = job_of("\"digits-cnn\"", kDigits);
  platform::Platform ordered, library;
  library.library = "openblas";
  for (const char* arithmetic : {"correct-1", "logged-1", "rounded", "float64"}) {
    job.arithmetic = arithmetic;
    EXPECT_GT(trial_bytes(job, library), uint64_t{3} * 2048 * 2048 * 8) << arithmetic;
    EXPECT_EQ(trial_bytes(job, ordered), 0u) << arithmetic;
  }
  job.arithmetic = "float32";
  EXPECT_EQ(trial_bytes(job, library), 0u);
}

TEST(Limits, AreSaidWithWhatToDo) {
  EXPECT_TRUE(check_memory(100, {}, "train"));
  EXPECT_TRUE(check_memory(100, {100}, "train"));
  const Status refused = check_memory(3'000'000'000, {1'000'000'000}, "audit");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(
      refused.error().message,
      "to audit this job takes about 3.0 GB of memory, more than the 1.0 GB allowed; make data.batch or the model "
      "smaller, or allow more with --max-memory");
}

TEST(Machine, HasMemory) {
  EXPECT_GT(platform::available_memory(), uint64_t{64} << 20);
  EXPECT_LT(platform::available_memory(), uint64_t{1} << 50);
}

}  // namespace
}  // namespace isobit::run
