// Networks of files in a process that may not take the memory that they need.
#include <gtest/gtest.h>

#include "isobit/run/network.h"
#include "isobit/run/onnx_for_test.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::Folder;
using testing::model_path;
using testing::small_mlp;
using testing::train_request;
using testing::write_model;

// small_mlp, beside which 40 constants of 2 KiB a sample are made for the number of samples.
onnx::ModelForTest large_for_many() {
  onnx::ModelForTest m = small_mlp();
  const auto numbers = [&](const std::string& name, std::vector<int64_t> values) {
    m.initializer(name, Tensor::of<int64_t>(Shape{static_cast<int64_t>(values.size())}, values));
  };
  numbers("zero", {0}), numbers("one", {1}), numbers("wide", {512});
  m.graph().mutable_output(0)->set_name("y");
  m.node("Shape", {m.graph().input(0).name()}, {"shape"});
  m.node("Slice", {"shape", "zero", "one"}, {"count"});
  m.node("Concat", {"count", "wide"}, {"large"}).with("axis", int64_t{0});
  std::string sum = "scores";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    m.node("ConstantOfShape", {"large"}, {"zeros" + n});
    m.node("ReduceMax", {"zeros" + n, "one"}, {"none" + n});
    m.node("Add", {sum, "none" + n}, {i == 39 ? "y" : "sum" + n});
    sum = "sum" + n;
  }
  return m;
}

// A graph that does not fit in the memory that a process may take is not one that the file cannot become: a job root
// made of that would reject an honest run.
TEST(ImportedMemory, AGraphThatItDoesNotSufficeForIsNoOther) {
  const Folder folder("imported_memory");
  write_model(folder / "m.onnx", large_for_many());
  const train::Job job =
      train::parse_job(text_of("[job]\nsteps = 2\n[model]\nonnx = \"", (folder / "m.onnx").string(),
                               "\"\n[data]\ndataset = \"digits\"\nbatch = 8\n[optimizer]\nlr = 0.05\n",
                               "[evaluate]\nsamples = 50\n"),
                       "job.toml", "", {})
          .value();
  ASSERT_TRUE(train_run(train_request(folder / "run", job, "ordered/1t")));
  AuditRequest request = audit_request(folder / "run");
  request.overrides = {model_path(folder / "m.onnx")};
  EXPECT_TRUE(audit_run(request)->verdict.accepted());
  // 13 samples fit, the 32 that are scored at once do not.
  const auto network = open_network(job, {.max_memory = 2 << 20});
  ASSERT_TRUE(network) << network.error().message;
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const auto session = open_session(job, engine);
  ASSERT_TRUE(session) << session.error().message;
  const data::DataShape shape = data::shape_of(*session->dataset);
  EXPECT_TRUE(train::build_eval_graph(job, shape, 13, **network));
  const auto large = train::build_eval_graph(job, shape, 32, **network);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, ErrorCode::kUnavailable) << large.error().message;
  EXPECT_NE(large.error().message.find("--max-memory"), std::string::npos) << large.error().message;
  const auto root =
      job_root_parts(*session->trainer, *session->commitment, session->initial_state, **network, engine.pool());
  ASSERT_FALSE(root) << "made of a graph that is not known";
  EXPECT_EQ(root.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace isobit::run
