// Jobs drawn at random, and what became of each when fields were read, written and encoded by a function per table:
// the digest of the job and of its file as written out, or the complaint (tests/golden/job_fields.txt).
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <random>

#include "isobit/base/text.h"
#include "isobit/run/job_digest.h"

namespace isobit::run {
namespace {

constexpr char kSmall[] = R"([job]
steps = 100
[model]
builder = "logistic"
[data]
dataset = "digits"
batch = 8
[optimizer]
lr = 0.1
)";

// What a job is about, so that fields of every table have a meaning now and then.
const std::vector<std::vector<std::string>> kKinds = {
    {"model.builder=digits-cnn", "model.builder=resnet", "model.builder=gpt", "model.builder=logistic"},
    {"data.dataset=digits", "data.dataset=text", "data.dataset=cifar10", "data.dataset=npy"},
    {"optimizer.name=sgd", "optimizer.name=adam", "optimizer.name=adamw"},
    {"schedule.name=constant", "schedule.name=step", "schedule.name=cosine"},
    {"job.arithmetic=ordered-1", "job.arithmetic=logged-1", "job.arithmetic=logged-1", "job.arithmetic=rounded"},
};

const std::vector<std::string> kChanges = {
    "job.name=a-b_c.1", "job.seed=7", "job.seed=9223372036854775807", "job.steps=4194304", "commit.every=3",
    "checkpoint.every=4", "checkpoint.keep=2", "evaluate.samples=10", "model.blocks=2", "model.width=8",
    "model.running_variance=unbiased", "model.running_variance=biased", "model.layers=3", "model.heads=2",
    "model.channels=32", "model.dropout=0.25", "data.context=16", "data.augment=[\"flip\", \"crop\"]",
    "data.augment=[]", "data.path=/d", "data.files=[\"/a\", \"/b\"]", "data.salt=/s", "data.test_path=/t",
    "data.test_files=[\"/c\"]", "data.labels_path=/l", "data.test_labels_path=/m", "optimizer.momentum=0.5",
    "optimizer.nesterov=true", "optimizer.beta1=0.5", "optimizer.beta2=0.5", "optimizer.epsilon=1e-6",
    "optimizer.weight_decay=0.01", "optimizer.clip_norm=1", "optimizer.lr=1e-300", "optimizer.lr=3",
    "schedule.warmup=9", "schedule.every=30", "schedule.every=30", "schedule.factor=0.5", "schedule.min_lr=1e-3",
    "rounding.bits=28", "rounding.log=ovt", "rounding.log=ovt", "rounding.log=sparse", "rounding.bound=sound",
    "rounding.bound=calibrated", "rounding.divergence=16", "rounding.divergences={ Conv = 8, MatMul = 12 }",
    "rounding.divergences={}", "rounding.threshold=0.125", "rounding.thresholds={ Conv = 0.5 }",
    "rounding.distance=false", "rounding.distance=true",
    // Wrong ones.
    "job.name=../x", "job.seed=-1", "job.steps=0", "job.steps=many", "job.arithmetic=fast", "model.builder=3",
    "model.blocks=0", "model.widht=3", "model.dropout=1", "data.batch=0", "data.context=0", "data.augment=flip",
    "data.augment=[1]", "data.path=[]", "data.pathh=/d", "optimizer.name=sdg", "optimizer.lr=-1", "optimizer.lr=inf",
    "optimizer.nesterov=1", "optimizer.momentum=1", "optimizer.rate=1", "schedule.name=cosin", "schedule.warmup=100",
    "schedule.every=0", "schedule.factor=2", "schedule.min_lr=nan", "rounding.bits=21", "rounding.log=dense",
    "rounding.bound=proved", "rounding.divergence=1e9", "rounding.divergences={ Cnv = 1 }",
    "rounding.divergences={ Relu = 1 }", "rounding.divergences=3", "rounding.thresholds={ Conv = 1 }",
    "rounding.threshold=soon", "rounding.zzz=1", "commit.every=0", "checkpoint.keep=0", "evaluate.samples=-1",
    "checkpoint.evry=1", "jab.x=1", "other.x=1"};

std::vector<std::string> drawn(std::mt19937& random) {
  std::vector<std::string> overrides;
  for (const auto& kind : kKinds) overrides.push_back(kind[random() % kind.size()]);
  if (overrides[3] == "schedule.name=step" && random() % 4 > 0) overrides.emplace_back("schedule.every=5");
  for (unsigned n = random() % 4; n > 0; --n) overrides.push_back(kChanges[random() % kChanges.size()]);
  return overrides;
}

std::string outcome_of(const std::vector<std::string>& overrides) {
  const auto job = train::parse_job(kSmall, "job.toml", "", overrides);
  if (!job) return job.error().message;
  const std::string toml = train::job_to_toml(*job);
  const commit::Digest file = commit::sha256(ByteView(reinterpret_cast<const uint8_t*>(toml.data()), toml.size()));
  return text_of("job ", commit::hex_of(job_digest(*job)).substr(0, 16), " file ", commit::hex_of(file).substr(0, 16));
}

TEST(JobGolden, RandomJobsAreWhatTheyWere) {
  const char* source = std::getenv("ISOBIT_SOURCE_DIR");
  const std::string path = std::string(source ? source : ".") + "/tests/golden/job_fields.txt";
  std::mt19937 random(9);
  if (std::getenv("ISOBIT_WRITE_GOLDEN") != nullptr) {
    std::ofstream out(path);
    out << "# What became of the jobs that isobit/run/job_golden_test.cpp draws; written by it under "
           "ISOBIT_WRITE_GOLDEN=1.\n";
    for (int i = 0; i < 800; ++i) out << outcome_of(drawn(random)) << "\n";
    FAIL() << path << " was written, and nothing was compared; run without ISOBIT_WRITE_GOLDEN";
  }
  std::ifstream file(path);
  ASSERT_TRUE(file) << path;
  int jobs = 0, complaints = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> overrides = drawn(random);
    ASSERT_EQ(outcome_of(overrides), line) << join_or(overrides);
    (line.starts_with("job ") ? jobs : complaints)++;
  }
  EXPECT_GE(jobs, 300);
  EXPECT_GT(complaints, 300);
}

}  // namespace
}  // namespace isobit::run
