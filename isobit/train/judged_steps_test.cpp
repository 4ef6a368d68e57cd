// Elements of whole training steps judged alone: every node, output and statistic of a step of each builder, with every
// optimizer, as the executor computed them.
#include <unistd.h>

#include "isobit/train/judged_steps_for_test.h"

namespace isobit::train {
namespace {

constexpr char kDigits[] = "dataset = \"digits\"\nbatch = 16";
constexpr char kPlain[] = "lr = 0.1";
constexpr char kMomentum[] = "lr = 0.1\nmomentum = 0.9\nnesterov = true\nweight_decay = 1e-3\nclip_norm = 0.5";
constexpr char kAdam[] = "name = \"adam\"\nlr = 0.01\nweight_decay = 0.1";
constexpr char kAdamW[] = "name = \"adamw\"\nlr = 0.01\nweight_decay = 0.1\nclip_norm = 1.0";

TEST_F(JudgedSteps, OfNetworksOfImages) {
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    for (const char* optimizer : {kPlain, kMomentum, kAdam, kAdamW}) {
      SCOPED_TRACE(text_of(arithmetic, " ", optimizer));
      for (const char* model : {"builder = \"logistic\"", "builder = \"mnist-cnn\"", "builder = \"digits-cnn\"",
                                "builder = \"resnet\"\nwidth = 4\nblocks = 1",
                                "builder = \"resnet\"\nwidth = 4\nblocks = 1\nrunning_variance = \"unbiased\""}) {
        SCOPED_TRACE(model);
        const Judgement all = judge_a_step(job_of(model, kDigits, optimizer, arithmetic));
        EXPECT_GT(all.elements, 30);
      }
    }
  }
}

TEST_F(JudgedSteps, OfGpt) {
  const fs::path path = fs::temp_directory_path() / text_of("isobit_judged_steps_", ::getpid());
  Bytes bytes(4000);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * i / 7);
  ASSERT_TRUE(write_file_durably(path, bytes));
  const std::string data = text_of("dataset = \"text\"\npath = \"", path.string(), "\"\ncontext = 8\nbatch = 4");
  const std::string model = "builder = \"gpt\"\nlayers = 1\nheads = 2\nchannels = 16\ndropout = 0.1";
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    for (const std::string& more : {std::string(), std::string("\nmicro_batches = 2")}) {
      for (const char* optimizer : {kMomentum, kAdamW}) {
        SCOPED_TRACE(text_of(arithmetic, " ", optimizer, more));
        const Judgement all = judge_a_step(job_of(model, data + more, optimizer, arithmetic));
        EXPECT_GT(all.elements, 100);
      }
    }
  }
  // More positions than tokens, and matrices that lie the other way.
  const std::string other = "builder = \"gpt2\"\nlayers = 1\nheads = 2\nchannels = 16\npositions = 11";
  EXPECT_GT(judge_a_step(job_of(other, data, kAdamW, "ordered-1")).elements, 100);
  fs::remove(path);
}

// Windows that overlap and are padded are their stem's.
TEST_F(JudgedSteps, OfTorchvisionsResnet) {
  const std::string data = "dataset = \"digits\"\nbatch = 2";
  EXPECT_GT(judge_a_step(job_of("builder = \"resnet18\"", data, kPlain, "ordered-1")).elements, 100);
}

}  // namespace
}  // namespace isobit::train
