// A platform whose float64 product is not classical, with the trial of its library out of the way: correct-1 stops on
// graded data within one step, and nothing is signed after it. So does a thread whose floating-point environment has
// been changed.
#include <gtest/gtest.h>

#include <cmath>

#include "isobit/base/fp_env_for_test.h"
#include "isobit/bundle/writer.h"
#include "isobit/formats/npy.h"
#include "isobit/kernels/correct/illegal_products_for_test.h"
#include "isobit/kernels/testing.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using kernels::GemmArgs;
using kernels::KernelContext;
using kernels::MatrixProduct;
using testing::audit_request;
using testing::Folder;
using testing::train_request;

// Logistic regression of 128 classes on samples of which every other feature is times 2^-30: the gradient of the
// weights has graded columns.
class GradedJob {
 public:
  GradedJob() : folder_("graded") {
    constexpr int64_t kSamples = 128, kFeatures = 1024;
    Tensor inputs(DType::kFloat32, {kSamples, kFeatures}), labels(DType::kInt64, {kSamples});
    const auto values = kernels::testing::random_values<float>(static_cast<size_t>(kSamples * kFeatures),
                                                               kernels::testing::Values::kUnit, 1);
    for (int64_t q = 0; q < kSamples * kFeatures; ++q) {
      inputs.data<float>()[q] = values[static_cast<size_t>(q)] * (q % kFeatures < kFeatures / 2 ? 1.0f : 0x1p-30f);
    }
    for (int64_t i = 0; i < kSamples; ++i) labels.data<int64_t>()[i] = i;
    EXPECT_TRUE(formats::write_npy(folder_ / "inputs.npy", inputs));
    EXPECT_TRUE(formats::write_npy(folder_ / "labels.npy", labels));
  }
  train::Job job() const {
    constexpr char kJob[] = R"(
[job]
name = "graded"
seed = 1
steps = 2
arithmetic = "correct-1"
[model]
builder = "logistic"
[data]
dataset = "npy"
batch = 128
[optimizer]
name = "sgd"
lr = 0.1
[commit]
every = 1
)";
    return train::parse_job(kJob, "graded", "", {where()}).value();
  }
  // A run names no paths: whoever resumes or audits it says where the data lie.
  std::string where() const { return "data.path=" + (folder_ / "").string(); }
  fs::path out(const std::string& name) const { return folder_ / name; }

 private:
  Folder folder_;
};

platform::Platform two_threads() { return platform::parse_platform("ordered/2t").value(); }

std::vector<std::pair<std::string, platform::OpenProduct>> illegal_products() {
  std::vector<std::pair<std::string, platform::OpenProduct>> all;
  for (const int64_t cutoff : {16, 40, 100}) {
    all.emplace_back(text_of("strassen@", cutoff), [cutoff](const KernelContext& kernel) {
      return std::make_unique<kernels::correct::testing::StrassenProduct>(kernel, cutoff);
    });
  }
  all.emplace_back("fixed@55", [](const KernelContext& kernel) {
    return std::make_unique<kernels::correct::testing::FixedPointProduct>(kernel, 55, false);
  });
  return all;
}

// Steps whose leaves are in the transcript of an unfinished run.
uint64_t steps_written(const fs::path& run) {
  return bundle::BundleWriter::resume(run, testing::key(2)).value().transcript().steps();
}

TEST(IllegalPlatform, TrainingStopsInItsFirstStepAndSignsNothing) {
  const GradedJob graded;
  for (const auto& [name, product] : illegal_products()) {
    platform::Engine engine(two_threads(), product);
    const auto trained = train_run(train_request(graded.out(name), graded.job()), engine);
    ASSERT_FALSE(trained) << name;
    EXPECT_EQ(trained.error().code, ErrorCode::kUnavailable);
    const std::string& message = trained.error().message;
    EXPECT_NE(message.find("operator MatMul 'grad/fc.weight': "), std::string::npos) << message;
    EXPECT_NE(message.find("platform " + name + " is not classical: output ("), std::string::npos) << message;
    EXPECT_EQ(steps_written(graded.out(name)), 0u) << name;
    // Another platform can go on from there.
    TrainRequest again = train_request(graded.out(name), graded.job());
    again.overrides = {graded.where()};
    const auto resumed = resume_run(again);
    EXPECT_TRUE(resumed) << resumed.error().message;
  }
}

TEST(IllegalPlatform, AnAuditStopsWithoutAVerdict) {
  const GradedJob graded;
  ASSERT_TRUE(train_run(train_request(graded.out("run"), graded.job())));
  AuditRequest request = audit_request(graded.out("run"));
  request.overrides = {graded.where()};
  const auto honest = audit_run(request);
  ASSERT_TRUE(honest) << honest.error().message;
  ASSERT_TRUE(honest->verdict.accepted()) << honest->verdict.reason;
  for (const auto& [name, product] : illegal_products()) {
    platform::Engine engine(two_threads(), product);
    const auto audited = audit_run(request, engine);
    ASSERT_FALSE(audited) << name;
    EXPECT_EQ(audited.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(audited.error().message.find("is not classical"), std::string::npos) << audited.error().message;
  }
}

// A legal product that changes the environment of a worker once it has been called often enough: in the second step.
class Disturbing final : public MatrixProduct {
 public:
  Disturbing(const KernelContext& kernel, void (*set)(), int calls)
      : kernel_(kernel), base_(kernel), set_(set), calls_(calls) {}
  ~Disturbing() override { on_worker(pin_fp_environment); }
  std::string name() const override { return "disturbing"; }
  bool has_f64() const override { return true; }
  void product(const GemmArgs<double>& g) override {
    ISOBIT_CHECK(base_.multiply(g));
    if (--calls_ == 0) on_worker(set_);
  }

 private:
  void on_worker(void (*set)()) {
    kernel_.pool->on_every_thread([set](int thread) {
      if (thread == 1) set();
    });
  }
  KernelContext kernel_;
  kernels::OrderedProduct base_;
  void (*set_)();
  int calls_;
};

TEST(FloatingPointEnvironment, AStepIsRefusedOnThreadsThatHaveAnother) {
  const GradedJob graded;
  for (const auto& d : isobit::testing::fp_disturbances()) {
    // Of a worker, by a library in the first step.
    platform::Engine engine(
        two_threads(), [&](const KernelContext& kernel) { return std::make_unique<Disturbing>(kernel, d.set, 1); });
    const auto worker = train_run(train_request(graded.out("worker"), graded.job()), engine);
    ASSERT_FALSE(worker) << d.what;
    EXPECT_EQ(worker.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(worker.error().message.find("thread 2 of 2: " + d.what), std::string::npos) << worker.error().message;
    EXPECT_EQ(steps_written(graded.out("worker")), 0u);
    fs::remove_all(graded.out("worker"));
    // Of the caller, by the host between two steps.
    TrainRequest request = train_request(graded.out("caller"), graded.job());
    request.progress = [&](const TrainProgress&) { d.set(); };
    const auto caller = train_run(request);
    pin_fp_environment();
    ASSERT_FALSE(caller) << d.what;
    EXPECT_EQ(caller.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(caller.error().message.find("the calling thread of "), std::string::npos) << caller.error().message;
    EXPECT_EQ(steps_written(graded.out("caller")), 1u);
    fs::remove_all(graded.out("caller"));
  }
}

}  // namespace
}  // namespace isobit::run
