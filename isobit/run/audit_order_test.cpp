// What an audit looks at before what: a file that is not what was signed, and a second run under a run id, need no data
// and no replay to be rejected.
#include <gtest/gtest.h>

#include "isobit/run/registers.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::Folder;

// A trainer that hands out other weights than it trained.
Expected<train::SampleScores> score_other_weights(train::Trainer& trainer) {
  std::vector<NamedTensor> state = trainer.state();
  state.front().tensor = state.front().tensor.clone();
  state.front().tensor.span<float>()[0] += 1;
  ISOBIT_RETURN_IF_ERROR(trainer.restore(std::move(state), trainer.step()));
  return score(trainer);
}

// A run on data that the auditor has not, unless it says where.
class NoData : public ::testing::TestWithParam<const char*> {
 protected:
  NoData() {
    testing::write_npy_data(folder_ / "data", 8, 4, 4);
    EXPECT_TRUE(train_run(training()));
  }
  std::string data() const { return testing::npy_path(folder_ / "data"); }
  TrainRequest training() const { return testing::train_request(folder_ / "run", testing::npy_job({data()})); }
  AuditRequest auditing(const std::string& run) const {
    AuditRequest request = testing::audit_request(folder_ / run, GetParam(), 2);
    request.home = folder_ / "home";
    return request;
  }

  Folder folder_{text_of("no_data_", GetParam())};
};

TEST_P(NoData, ADamagedCheckpointIsFoundWithoutThem) {
  EXPECT_EQ(audit_run(auditing("run")).error().code, ErrorCode::kUnreadable) << "an honest run needs them";
  for (int step = 1; step <= 4; ++step) {
    fs::remove_all(folder_ / "damaged");
    fs::copy(folder_ / "run", folder_ / "damaged", fs::copy_options::recursive);
    const fs::path file = folder_ / "damaged" / "checkpoints" / text_of("step-", step, ".safetensors");
    Bytes bytes = read_file(file, 1 << 20).value();
    bytes.back() ^= 1;
    ASSERT_TRUE(write_file_durably(file, bytes));
    const auto audited = audit_run(auditing("damaged"));
    ASSERT_TRUE(audited) << audited.error().message;
    EXPECT_EQ(audited->verdict.outcome, verify::Outcome::kRejected);
    EXPECT_NE(audited->verdict.reason.find(text_of("step-", step, ".safetensors: has SHA-256")), std::string::npos)
        << audited->verdict.reason;
    EXPECT_TRUE(audited->engaged);
    EXPECT_FALSE(audited->finished);
    EXPECT_TRUE(audited->sampled.empty());
    EXPECT_FALSE(fs::exists(folder_ / "home" / "judged"));
  }
}

TEST_P(NoData, ASecondRunUnderTheRunIdIsRejectedWithoutThem) {
  AuditRequest first = auditing("run");
  first.overrides = {data()};
  std::vector<uint64_t> read;
  first.checkpoint_progress = [&](uint64_t done, uint64_t total) { read.push_back(10 * done + total); };
  const auto audited = audit_run(first);
  ASSERT_TRUE(audited && audited->verdict.accepted());
  EXPECT_EQ(read, (std::vector<uint64_t>{14, 24, 34, 44}));
  TrainRequest request = training();
  request.out = folder_ / "second";
  const Bytes engagement = read_file(folder_ / "run" / bundle::kEngagementFile, 1 << 16).value();
  request.engagement = verify::decode_engagement(engagement, "test").value();
  request.client = std::nullopt;
  request.conduct.evaluate = score_other_weights;
  const auto trained = train_run(request);
  ASSERT_TRUE(trained) << trained.error().message;
  const auto second = audit_run(auditing("second"));
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->verdict.outcome, verify::Outcome::kRejected);
  EXPECT_NE(second->verdict.reason.find("isobit verify A B"), std::string::npos) << second->verdict.reason;
  EXPECT_TRUE(second->finished) << "its digests are right";
  // A run that nobody could judge is not noted: the other auditor's register stays empty.
  AuditRequest elsewhere = auditing("second");
  elsewhere.home = folder_ / "another home";
  EXPECT_EQ(audit_run(elsewhere).error().code, ErrorCode::kUnreadable);
  EXPECT_FALSE(fs::exists(elsewhere.home / "judged"));
}

// A slip of the pen costs no pass over the checkpoints, and judges nobody.
TEST_P(NoData, AStepThatNoAuditBeginsFromIsSaidFirst) {
  for (const uint64_t step : {4, 7}) {
    AuditRequest request = auditing("run");
    request.sample.reset();
    request.from_step = step;
    request.checkpoint_progress = [](uint64_t, uint64_t) { FAIL() << "a checkpoint was read"; };
    const auto audited = audit_run(request);
    ASSERT_FALSE(audited) << step;
    EXPECT_EQ(audited.error().code, ErrorCode::kUsage) << audited.error().message;
    EXPECT_NE(audited.error().message.find(text_of("--from ", step)), std::string::npos) << audited.error().message;
    EXPECT_FALSE(fs::exists(request.home / "judged"));
  }
}

INSTANTIATE_TEST_SUITE_P(Each, NoData, ::testing::ValuesIn(testing::kWays), [](const auto& p) { return p.param; });

}  // namespace
}  // namespace isobit::run
