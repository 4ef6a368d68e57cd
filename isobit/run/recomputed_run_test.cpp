// Runs that compute values of a step again and runs that keep them: one transcript, and audits of either by the other.
#include <gtest/gtest.h>

#include "isobit/run/onnx_for_test.h"
#include "isobit/run/price.h"
#include "isobit/run/trace_run.h"

namespace isobit::run {
namespace {

using runtime::Recompute;
using testing::audit_request;
using testing::Folder;
using testing::small_job;
using testing::train_request;

TrainSummary trained(const fs::path& out, const train::Job& job, Recompute what) {
  TrainRequest request = train_request(out, job);
  request.limits.recompute = what;
  const auto done = train_run(request);
  EXPECT_TRUE(done) << done.error().message;
  return done ? *done : TrainSummary{};
}

AuditSummary audited(AuditRequest request, Recompute what) {
  request.limits.recompute = what;
  const auto done = audit_run(request);
  EXPECT_TRUE(done) << done.error().message;
  if (!done) return {};
  EXPECT_TRUE(done->verdict.accepted()) << done->verdict.reason;
  return *done;
}

std::vector<std::string> arithmetics() {
  return {"job.arithmetic=ordered-1", "job.arithmetic=correct-1", "job.arithmetic=logged-1"};
}

TEST(RecomputedRun, IsTheSameRunAndEitherAuditsTheOther) {
  const Folder folder("recomputed");
  for (const std::string& arithmetic : arithmetics()) {
    for (const char* log : {"sparse", "ovt"}) {
      const bool logged = arithmetic.ends_with("logged-1");
      if (!logged && std::string(log) == "ovt") continue;
      SCOPED_TRACE(arithmetic + " " + log);
      std::vector<std::string> set = {arithmetic};
      if (logged) set.insert(set.end(), {text_of("rounding.log=", log), "rounding.divergence=65536"});
      const train::Job job = small_job(set);
      const TrainSummary plain = trained(folder / "plain", job, Recompute::kNothing);
      for (const Recompute what : {Recompute::kCheap, Recompute::kEverything}) {
        if (logged && what == Recompute::kEverything) continue;
        const TrainSummary again = trained(folder / "again", job, what);
        EXPECT_EQ(again.final_state_root, plain.final_state_root);
        EXPECT_EQ(again.transcript_root, plain.transcript_root);
        EXPECT_LT(again.step_bytes, plain.step_bytes);
        EXPECT_EQ(again.log_bytes, plain.log_bytes);
        const AuditSummary whole = audited(audit_request(folder / "again"), Recompute::kNothing);
        EXPECT_EQ(whole.step_bytes, plain.step_bytes);
        const AuditSummary other = audited(audit_request(folder / "plain"), what);
        EXPECT_EQ(other.step_bytes, again.step_bytes);
        EXPECT_EQ(log::total(other.log_counts).entries, log::total(whole.log_counts).entries);
        EXPECT_EQ(log::total(other.log_counts).elements, log::total(whole.log_counts).elements);
        audited(audit_request(folder / "plain", "from", 8), what);
        audited(audit_request(folder / "plain", "sample", 8), what);
        fs::remove_all(folder / "again");
      }
      fs::remove_all(folder / "plain");
    }
  }
}

TEST(RecomputedRun, ItsStepsHaveTheSameTrace) {
  const Folder folder("recomputed_trace");
  trained(folder / "run", small_job(), Recompute::kEverything);
  const auto traced = [&](Recompute what) {
    TraceRequest request;
    request.open.run = folder / "run";
    request.open.client = audit_request(folder / "run").client;
    request.open.limits.recompute = what;
    request.platform = platform::parse_platform("ordered").value();
    request.step = 7;
    return trace_step(request).value().trace.root();
  };
  const auto plain = traced(Recompute::kNothing);
  EXPECT_EQ(traced(Recompute::kCheap), plain);
  EXPECT_EQ(traced(Recompute::kEverything), plain);
}

TEST(RecomputedRun, ImportedNetworksToo) {
  const Folder folder("recomputed_imported");
  testing::write_model(folder / "m.onnx", testing::exported(small_job()));
  for (const std::string& arithmetic : arithmetics()) {
    // What is frozen becomes constants of the graph that is run.
    for (const char* freeze : {"model.freeze=[]", "model.freeze=[\"*running*\"]"}) {
      SCOPED_TRACE(arithmetic + " " + freeze);
      const train::Job job =
          train::parse_job(text_of("[job]\nseed = 3\nsteps = 4\n[model]\nonnx = \"", (folder / "m.onnx").string(),
                                   "\"\n[data]\ndataset = \"digits\"\nbatch = 8\n[optimizer]\nlr = 0.05\n"),
                           "job.toml", "", {arithmetic, freeze})
              .value();
      const TrainSummary plain = trained(folder / "plain", job, Recompute::kNothing);
      const TrainSummary again = trained(folder / "again", job, Recompute::kCheap);
      EXPECT_EQ(again.transcript_root, plain.transcript_root);
      EXPECT_LT(again.step_bytes, plain.step_bytes);
      fs::remove_all(folder / "plain");
      fs::remove_all(folder / "again");
    }
  }
}

TEST(RecomputedRun, IsToldInAdvance) {
  const train::Job job = small_job();
  const auto data = *data::declared_shape(job.data);
  const JobSize plain = job_size(job, data).value();
  const JobSize again = job_size(job, data, *models::built_in(), Recompute::kEverything).value();
  EXPECT_LT(again.step_peak, plain.step_peak);
  EXPECT_LE(again.to_train, plain.to_train);
  EXPECT_EQ(again.state, plain.state);
  const Folder folder("recomputed_size");
  EXPECT_EQ(trained(folder / "run", job, Recompute::kEverything).step_bytes, again.step_peak);
  const train::Job logged = small_job({"job.arithmetic=logged-1"});
  const auto refused = job_size(logged, data, *models::built_in(), Recompute::kEverything);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace isobit::run
