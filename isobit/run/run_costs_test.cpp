// What training and auditing take: no state is in memory twice, and no file is read more often than it must be.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>

#include "isobit/formats/safetensors.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::Folder;
using testing::train_request;

// "rchar: 123" or "VmHWM:   123 kB"; 0 where the system does not say.
uint64_t number_in(const char* file, const std::string& name) {
  std::ifstream in(file);
  for (std::string word; in >> word;) {
    uint64_t number = 0;
    if (word == name && in >> number) return number;
  }
  return 0;
}
uint64_t bytes_read() { return number_in("/proc/self/io", "rchar:"); }

// How far the memory of a process of its own that does this goes above what it had before. `act` says whether it
// worked; nothing: it did not, or the process died. 0 where the system does not say what memory it takes.
std::optional<uint64_t> peak_of(const std::function<bool()>& act) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // What is freed goes back to the system at once, so that the peak is what was held.
    ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
    ::malloc_trim(0);
    const uint64_t before = number_in("/proc/self/status", "VmRSS:");
    const bool worked = act();
    const uint64_t peak = number_in("/proc/self/status", "VmHWM:");
    const uint64_t grown = before == 0 || peak < before ? 0 : 1024 * (peak - before);
    ::_exit(worked && ::write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
  }
  ::close(ends[1]);
  uint64_t grown = 0;
  const bool told = ::read(ends[0], &grown, sizeof grown) == static_cast<ssize_t>(sizeof grown);
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return told && status == 0 ? std::optional(grown) : std::nullopt;
}

// A wide linear layer under AdamW: 8 MiB of weights, and three times that of state, which takes hardly any computing.
class WideRun : public ::testing::Test {
 protected:
  static constexpr int64_t kFeatures = 4096, kClasses = 512;
  static constexpr uint64_t kState = 3 * sizeof(float) * (kFeatures + 1) * kClasses;

  WideRun() { testing::write_npy_data(folder_ / "", kClasses, kFeatures, kClasses); }
  std::vector<std::string> where() const { return {testing::npy_path(folder_ / "")}; }
  TrainRequest training() const {
    const auto job = testing::npy_job({where()[0], "data.batch=8", "optimizer.name=adamw"});
    return train_request(folder_ / "run", job, "ordered/1t");
  }
  AuditRequest auditing() const {
    AuditRequest request = audit_request(folder_ / "run", "ordered/1t");
    request.overrides = where();
    return request;
  }
  uint64_t checkpoint_bytes() const {
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder_ / "run" / "checkpoints")) bytes += entry.file_size();
    return bytes;
  }
  // In all ways.
  std::vector<AuditRequest> audits() const {
    std::vector<AuditRequest> all;
    for (const char* way : testing::kWays) {
      all.push_back(audit_request(folder_ / "run", way, 2));
      all.back().platform = auditing().platform;
      all.back().overrides = where();
    }
    return all;
  }

  Folder folder_{"wide"};
};

// The first test of the process: memory that another one freed would be found and not counted, or the other way round.
// Weights, two moments, the gradients and what the kernels need come to some two states; a second one, or the bytes of
// a checkpoint, would come on top.
TEST_F(WideRun, NoStateIsInMemoryTwice) {
  if (std::getenv("ISOBIT_SANITIZED") != nullptr) GTEST_SKIP() << "skipped: sanitizers take memory of their own";
  const uint64_t data = fs::file_size(folder_ / "inputs.npy");
  const auto trained = peak_of([&] { return train_run(training()).has_value(); });
  ASSERT_TRUE(trained) << "the training failed";
  if (*trained == 0) GTEST_SKIP() << "skipped: the system does not say what memory a process takes";
  EXPECT_GT(*trained, kState);
  EXPECT_LT(*trained, kState * 5 / 2 + data);
  for (const AuditRequest& request : audits()) {
    const auto audited = peak_of([&] {
      const auto summary = audit_run(request);
      return summary && summary->verdict.accepted();
    });
    ASSERT_TRUE(audited) << "the audit failed";
    EXPECT_GT(*audited, kState);
    EXPECT_LT(*audited, kState * 5 / 2 + data);
  }
}

// Checkpoints that a sample begins from and that are one tensor, as large as a state: refused before it has memory
// beside the trainer's state.
TEST_F(WideRun, ACheckpointOfOneHugeTensorTakesNoMoreThanAnHonestOne) {
  if (std::getenv("ISOBIT_SANITIZED") != nullptr) GTEST_SKIP() << "skipped: sanitizers take memory of their own";
  ASSERT_TRUE(train_run(training()));
  const Tensor huge = Tensor::zeros(DType::kUint8, {static_cast<int64_t>(kState)});
  for (const int step : {1, 2, 3}) {
    const fs::path path = folder_ / "run" / "checkpoints" / bundle::checkpoint_name(static_cast<uint64_t>(step));
    ASSERT_TRUE(formats::write_safetensors(path, {{{"x", huge}}, {{"step", text_of(step)}}}));
  }
  testing::sign_again(folder_ / "run");
  for (uint8_t seed = 0; seed < 3; ++seed) {  // with and without steps before the first checkpoint is needed
    AuditRequest sample = audits()[2];
    sample.sample_seed = Bytes(32, seed);
    const auto audited = peak_of([&] {
      const auto summary = audit_run(sample);
      return summary && !summary->verdict.accepted() &&
             summary->verdict.reason.find("tensor 'x' is none of the job's state") != std::string::npos;
    });
    ASSERT_TRUE(audited) << "it was not refused";
    EXPECT_LT(*audited, kState * 2 + fs::file_size(folder_ / "inputs.npy"));
  }
}

// A replay that begins at a checkpoint reads that one again: all have been compared before anything is replayed.
TEST_F(WideRun, AnAuditReadsEachCheckpointOnceAndThoseItBeginsFromTwice) {
  if (bytes_read() == 0) GTEST_SKIP() << "skipped: the system does not count what a process reads";
  ASSERT_TRUE(train_run(training()));
  const uint64_t checkpoints = checkpoint_bytes();
  ASSERT_GT(checkpoints, 4 * kState);
  const uint64_t data = fs::file_size(folder_ / "inputs.npy") + fs::file_size(folder_ / "labels.npy");
  const std::vector<AuditRequest> all = audits();
  for (size_t way = 0; way < all.size(); ++way) {
    const uint64_t most_again[] = {0, 1, 2};  // one drawn interval and the last one
    const uint64_t again = most_again[way] * checkpoints / 4;
    const AuditRequest& request = all[way];
    const uint64_t before = bytes_read();
    const auto audited = audit_run(request);
    ASSERT_TRUE(audited && audited->verdict.accepted());
    const uint64_t read = bytes_read() - before;
    EXPECT_GE(read, checkpoints + data);
    EXPECT_LT(read, checkpoints + again + data + kState / 4) << "a checkpoint has " << checkpoints / 4 << " bytes";
  }
}

}  // namespace
}  // namespace isobit::run
