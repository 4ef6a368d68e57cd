// Data that somebody writes to after they were hashed: what a run is of is what it commits to, or there is an error.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "isobit/run/job_root.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::Folder;
using testing::npy_job;
using testing::train_request;

// Writes so many bytes of `value` at a distance from the end of the file, and sets its times back.
void tamper(const fs::path& file, uint64_t from_end, uint8_t value) {
  struct stat before {};
  ASSERT_EQ(::stat(file.c_str(), &before), 0);
  const Descriptor fd(::open(file.c_str(), O_WRONLY));
  ASSERT_EQ(::pwrite(fd.get(), &value, 1, before.st_size - static_cast<off_t>(from_end)), 1);
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::futimens(fd.get(), times), 0);
}

Status fed(const data::Dataset& dataset, data::Split split, int64_t index) {
  float input[4];
  int64_t label = 0;
  void* const to[] = {input};
  return dataset.fill(split, index, {}, to, &label);
}

TEST(ChangedData, AreNotFed) {
  const Folder folder("changed_rows");
  testing::write_npy_data(folder / "data", 8, 4, 4);
  fs::copy(folder / "data/inputs.npy", folder / "data/test_inputs.npy");
  fs::copy(folder / "data/labels.npy", folder / "data/test_labels.npy");
  data::DataConfig config;
  config.dataset = "npy";
  config.path = (folder / "data").string();
  auto dataset = data::open_dataset(config, 0).value();  // nothing is held
  ThreadPool pool(2);
  const commit::Salt salt{1, 2, 3};
  const auto commitment = std::make_shared<const DatasetCommitment>(commit_dataset(*dataset, salt, pool).value());
  data::check_reads(*dataset, check_of_leaves(commitment, salt));
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_TRUE(fed(*dataset, data::Split::kTrain, i));
    EXPECT_TRUE(fed(*dataset, data::Split::kTest, i));
  }
  // Of the last sample but one, of the last, and of the first: rows of 16 bytes, labels of 8.
  tamper(folder / "data/inputs.npy", 16 + 4, 9);
  tamper(folder / "data/test_inputs.npy", 1, 0x40);
  tamper(folder / "data/labels.npy", 8 * 8, 3);
  for (int64_t i = 0; i < 8; ++i) {
    const Status train = fed(*dataset, data::Split::kTrain, i), test = fed(*dataset, data::Split::kTest, i);
    EXPECT_EQ(train.has_value(), i != 0 && i != 6) << i;
    EXPECT_EQ(test.has_value(), i != 7) << i;
    if (train) continue;
    EXPECT_EQ(train.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(train.error().message.find(text_of("training sample ", i, " is not what it was")), std::string::npos);
  }
  tamper(folder / "data/inputs.npy", 16 + 4, 0);
  tamper(folder / "data/labels.npy", 8 * 8, 0);
  EXPECT_TRUE(fed(*dataset, data::Split::kTrain, 6));
  EXPECT_TRUE(fed(*dataset, data::Split::kTrain, 0));
}

TEST(ChangedData, EndATraining) {
  const Folder folder("changed_training");
  constexpr int64_t kSamples = 40, kFeatures = 1 << 18;  // 40 MiB, which stay on the disk
  testing::write_npy_data(folder / "data", kSamples, kFeatures, 4);
  const fs::path inputs = folder / "data/inputs.npy";
  const train::Job job = npy_job({testing::npy_path(folder / "data")});
  const auto left_alone = train_run(train_request(folder / "honest", job));
  ASSERT_TRUE(left_alone) << left_alone.error().message;

  const auto write_all = [&](uint8_t value) {
    for (uint64_t i = 1; i <= kSamples; ++i) tamper(inputs, i * kFeatures * sizeof(float), value);
  };
  const uint8_t before = 0;  // of the float that follows: sample i is one at feature i, so this is not its highest byte
  TrainRequest request = train_request(folder / "run", job);
  request.progress = [&](const TrainProgress& p) {
    if (p.step == 1) write_all(0x77);
  };
  const auto changed = train_run(request);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(changed.error().message.find("something has written to their files"), std::string::npos);

  write_all(before);
  request.progress = nullptr;
  request.overrides = {testing::npy_path(folder / "data")};
  const auto resumed = resume_run(request);
  ASSERT_TRUE(resumed) << resumed.error().message;
  EXPECT_EQ(resumed->final_state_root, left_alone->final_state_root);
  EXPECT_EQ(resumed->first_step, 1);
  AuditRequest audit = audit_request(request.out);
  audit.overrides = request.overrides;
  const auto audited = audit_run(audit);
  ASSERT_TRUE(audited) << audited.error().message;
  EXPECT_TRUE(audited->verdict.accepted());
}

}  // namespace
}  // namespace isobit::run
