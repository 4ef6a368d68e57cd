#include "isobit/lab/costs.h"

#include <gtest/gtest.h>

#include "isobit/kernels/vendor/vendor.h"
#include "isobit/run/testing.h"

namespace isobit::lab {
namespace {

using run::testing::Folder;

train::Job digits_job(const std::vector<std::string>& overrides = {}) {
  constexpr char kJob[] = R"(
[job]
name = "digits"
seed = 1
steps = 4
arithmetic = "logged-1"
[model]
builder = "digits-cnn"
[data]
dataset = "digits"
batch = 32
[optimizer]
name = "sgd"
lr = 0.05
momentum = 0.9
[evaluate]
samples = 60
)";
  return train::parse_job(kJob, "digits", "", overrides).value();
}

// Clocks that advance by themselves: 10 ms a look for the process, 20 ms on the wall.
CostsRequest costs_request(const Folder& folder, const std::string& trainer, const std::string& auditor) {
  CostsRequest request;
  request.job = digits_job();
  request.trainer = platform::parse_platform(trainer).value();
  request.auditor = platform::parse_platform(auditor).value();
  request.rounds = 1;
  request.folder = folder / "runs";
  fs::create_directories(request.folder);
  request.processor_seconds = [t = 0.0]() mutable { return t += 0.01; };
  request.wall_seconds = [t = 0.0]() mutable { return t += 0.02; };
  return request;
}

const Cost& row(const Costs& costs, const std::string& name) {
  for (const Cost& c : costs.rows) {
    if (c.name == name) return c;
  }
  ADD_FAILURE() << name << " is missing";
  return costs.rows.front();
}

TEST(Costs, EveryArithmeticOfAJobOnOurOwnPlatforms) {
  const Folder folder("costs");
  CostsRequest request = costs_request(folder, "ordered@portable/1t", "ordered/2t");
  request.rounds = 2;
  std::vector<std::string> said;
  request.progress = [&](const std::string& what) { said.push_back(what); };
  const auto costs = measure_costs(request);
  ASSERT_TRUE(costs) << costs.error().message;
  EXPECT_EQ(costs->steps, 4u);
  ASSERT_EQ(costs->rows.size(), cost_names().size());
  for (const Cost& c : costs->rows) {
    EXPECT_NEAR(c.trainer.seconds_per_step, 0.01, 1e-9) << c.name;
    EXPECT_NEAR(c.auditor.seconds_per_step, 0.02, 1e-9) << c.name << ": two threads are timed by the wall";
    EXPECT_NEAR(c.trainer.ratio, 1, 1e-9);
    EXPECT_EQ(c.first_difference, std::nullopt) << c.name << ": our own kernels agree in every arithmetic";
    EXPECT_EQ(c.test_rows, 60u);
    EXPECT_EQ(c.forgeable.has_value(), !c.name.starts_with("float") && c.name != "rounded") << c.name;
  }
  const Cost &sparse = row(*costs, "sparse"), &ovt = row(*costs, "ovt");
  EXPECT_GT(*ovt.log_bytes, 1000 * *sparse.log_bytes);
  EXPECT_GT(*ovt.forgeable, 0.5) << "all but what came out exact, zeros above all";
  EXPECT_LT(*ovt.forgeable, 1);
  EXPECT_LT(*sparse.forgeable, 1e-4);
  EXPECT_EQ(*sparse.corrections, 0);
  EXPECT_TRUE(sparse.misses.empty());
  EXPECT_GT(*row(*costs, "correct").repairs, 0);
  EXPECT_EQ(row(*costs, "ordered").trainer.platform, "ordered@portable/1t");
  // One check and two rounds of each, both sides, and one count.
  EXPECT_EQ(said.size(), 3 * 2 * cost_names().size() + 1);
  EXPECT_TRUE(fs::is_empty(request.folder));
}

TEST(Costs, VendorsDifferAndTheirAuditsAgree) {
  if (!kernels::vendor_installed("openblas") || !kernels::vendor_installed("eigen"))
    GTEST_SKIP() << "skipped: no OpenBLAS and Eigen";
  const Folder folder("costs_vendors");
  CostsRequest request = costs_request(folder, "openblas/1t", "eigen@sse2/1t");
  request.job = digits_job({"job.steps=5"});
  request.only = {"float32", "sparse", "correct"};
  const auto costs = measure_costs(request);
  ASSERT_TRUE(costs) << costs.error().message;
  ASSERT_EQ(costs->rows.size(), 4u) << "float64 is what the others are compared with";
  EXPECT_EQ(row(*costs, "float32").first_difference, 1u);
  EXPECT_TRUE(row(*costs, "float64").first_difference.has_value());
  EXPECT_FALSE(row(*costs, "sparse").first_difference.has_value());
  EXPECT_EQ(row(*costs, "sparse").findings, 0u);
  EXPECT_EQ(row(*costs, "correct").forgeable, 0.0);
}

TEST(Costs, WhatCannotBeMeasured) {
  const Folder folder("costs_errors");
  CostsRequest request = costs_request(folder, "ordered/1t", "ordered/1t");
  request.only = {"sparse", "dense"};
  EXPECT_EQ(measure_costs(request).error().code, ErrorCode::kUsage);
  request.only = {};
  const std::atomic<bool> stop{true};
  request.stop = &stop;
  EXPECT_EQ(measure_costs(request).error().code, ErrorCode::kUnavailable);
  request.stop = nullptr;
  request.job.data.dataset = "mnist";
  request.job.data.path = (folder / "nowhere").string();
  const auto missing = measure_costs(request);
  EXPECT_EQ(missing.error().code, ErrorCode::kUnreadable);
  EXPECT_TRUE(missing.error().message.starts_with("check: float32, training on ordered")) << missing.error().message;
  request.job = digits_job();
  request.only = {"correct"};
  request.trainer = platform::parse_platform("openblas@no-such-core/1t").value();
  const auto no_core = measure_costs(request);
  EXPECT_EQ(no_core.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(no_core.error().message.starts_with("check: float64, training on openblas@no-such-core/1t"))
      << no_core.error().message;
}

TEST(Costs, JobsKeepTheRulesTheyHaveAUseFor) {
  const train::Job job = digits_job({"rounding.bits=30", "rounding.divergence=7", "checkpoint.every=1"});
  for (const std::string& name : cost_names()) {
    const train::Job own = cost_job(job, name);
    const train::Job again = train::parse_job(train::job_to_toml(own), name, "").value();
    EXPECT_EQ(train::canonical_job_bytes(own), train::canonical_job_bytes(again)) << name;
    EXPECT_EQ(own.rounding, again.rounding) << name;
    EXPECT_EQ(own.checkpoint_every, 0);
  }
  EXPECT_EQ(cost_job(job, "rounded").rounding.bits, 30);
  EXPECT_EQ(cost_job(job, "ovt").rounding.log, log::Kind::kOvt);
  EXPECT_EQ(cost_job(job, "sparse").rounding.divergence, 7);
  EXPECT_EQ(cost_job(job, "correct").arithmetic, "correct-1");
}

}  // namespace
}  // namespace isobit::lab
