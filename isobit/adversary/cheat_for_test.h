// What the tests of dishonest runs share: a training that was made to cheat, and the audit of what it left.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "isobit/adversary/log_cheat.h"
#include "isobit/run/testing.h"

namespace isobit::adversary::testing {

using run::testing::audit_request;
using run::testing::Folder;
using run::testing::small_job;
using run::testing::train_request;

// Logged jobs are of kSteps steps; their logs are false in step kAt.
inline constexpr int64_t kSteps = 5, kAt = 3;

inline train::Job logged_job(const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = {"job.arithmetic=logged-1", "job.steps=5", "checkpoint.every=0"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return small_job(all);
}

// Wide enough, and under a bound as loose as there is, that every step has some tens of near-ties.
inline train::Job near_tie_job(const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = {"model.width=16", "data.batch=24", "rounding.divergence=65536"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  return logged_job(all);
}

class CheatTest : public ::testing::Test {
 protected:
  // The audit of a run that was trained so.
  run::AuditSummary audit_of(const run::TrainRequest& request) {
    const auto trained = run::train_run(request);
    EXPECT_TRUE(trained) << trained.error().message;
    const auto audited = run::audit_run(audit_request(request.out));
    EXPECT_TRUE(audited) << audited.error().message;
    fs::remove_all(request.out);
    return audited ? *audited : run::AuditSummary{};
  }
  run::TrainRequest request(const train::Job& job) { return train_request(folder_ / "run", job); }
  run::AuditSummary audit_of_cheat(const std::string& name, int64_t step, const train::Job& job) {
    run::TrainRequest r = request(job);
    const Status applied = apply_cheat(name, step, r);
    EXPECT_TRUE(applied) << applied.error().message;
    return audit_of(r);
  }

  // Rejected for this part of step kAt.
  void expect_rejected(const run::AuditSummary& s, verify::Part part, const std::string& what) {
    EXPECT_FALSE(s.verdict.accepted()) << what;
    ASSERT_TRUE(s.verdict.first_difference) << what;
    EXPECT_EQ(s.verdict.first_difference->step, static_cast<uint64_t>(kAt)) << what << ": " << s.verdict.reason;
    EXPECT_EQ(s.verdict.first_difference->part, part) << what << ": " << s.verdict.reason;
  }
  Folder folder_{"cheat"};
};

}  // namespace isobit::adversary::testing
