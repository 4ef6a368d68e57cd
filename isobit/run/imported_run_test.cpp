// Jobs whose network is that of an ONNX file: the same bits as the builder of the same network, audited on other
// platforms, and what an auditor with other files finds.
#include <gtest/gtest.h>

#include <algorithm>

#include "isobit/formats/safetensors.h"
#include "isobit/run/job_digest.h"
#include "isobit/run/network.h"
#include "isobit/run/onnx_for_test.h"
#include "isobit/run/price.h"
#include "isobit/run/run_weights.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::exported;
using testing::Folder;
using testing::model_path;
using testing::small_mlp;
using testing::train_request;
using testing::write_model;

// Digits, six steps; `model` says what [model] has.
train::Job job_of(const std::string& model, const std::vector<std::string>& overrides = {}) {
  return train::parse_job(
             text_of("[job]\nseed = 3\nsteps = 6\n[model]\n", model,
                     "\n[data]\ndataset = \"digits\"\nbatch = 8\n[optimizer]\nlr = 0.05\nmomentum = 0.9\n",
                     "weight_decay = 1e-3\nclip_norm = 1\n[checkpoint]\nevery = 2\n[evaluate]\nsamples = ", "50\n"),
             "job.toml", "", overrides)
      .value();
}
train::Job job_of_file(const fs::path& file, const std::vector<std::string>& overrides = {}) {
  return job_of(text_of("onnx = \"", file.string(), "\""), overrides);
}

TrainSummary trained(const fs::path& out, const train::Job& job, const std::string& platform = "ordered") {
  const auto done = train_run(train_request(out, job, platform));
  EXPECT_TRUE(done) << done.error().message;
  return done ? *done : TrainSummary{};
}

std::string refusal(const train::Job& job) {
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const auto session = open_session(job, engine);
  return session ? "accepted" : session.error().message;
}

TEST(ImportedRun, HasTheBitsOfTheBuilderOfTheSameNetwork) {
  const Folder folder("imported_same");
  for (const std::string builder : {"builder = \"digits-cnn\"", "builder = \"resnet\"\nwidth = 4"}) {
    for (const std::string arithmetic : {"ordered-1", "correct-1"}) {
      const std::vector<std::string> set = {"job.arithmetic=" + arithmetic};
      const train::Job built = job_of(builder, set);
      write_model(folder / "m.onnx", exported(built));
      const std::string name = text_of(builder.size(), arithmetic);
      const TrainSummary own = trained(folder / ("own" + name), built);
      const TrainSummary imported = trained(folder / ("imported" + name), job_of_file(folder / "m.onnx", set));
      EXPECT_EQ(imported.final_state_root, own.final_state_root) << builder << " " << arithmetic;
      EXPECT_EQ(imported.final_loss, own.final_loss);
      EXPECT_EQ(imported.evaluation.tree, own.evaluation.tree);
      EXPECT_NE(imported.job_root, own.job_root) << "another job all the same";
    }
  }
}

TEST(ImportedRun, IsAuditedOnAnotherPlatformAndFromItsCheckpoints) {
  const Folder folder("imported_audit");
  write_model(folder / "m.onnx", exported(job_of("builder = \"resnet\"\nwidth = 4")));
  const train::Job job = job_of_file(folder / "m.onnx");
  trained(folder / "run", job);
  for (const char* way : testing::kWays) {
    AuditRequest request = audit_request(folder / "run", way, 2);
    request.overrides = {model_path(folder / "m.onnx")};
    const auto audited = audit_run(request);
    ASSERT_TRUE(audited) << audited.error().message;
    EXPECT_TRUE(audited->verdict.accepted()) << way << ": " << audited->verdict.reason;
  }
  AuditRequest request = audit_request(folder / "run");
  request.job = job;  // the auditor's own copy of the job names the file
  EXPECT_TRUE(audit_run(request)->verdict.accepted());
  // A run says of no machine where its network lies.
  const Bytes toml = read_file(folder / "run" / "job.toml", 1 << 20).value();
  EXPECT_EQ(std::string(toml.begin(), toml.end()).find(".onnx"), std::string::npos);
  const auto nameless = audit_run(audit_request(folder / "run"));
  ASSERT_FALSE(nameless);
  EXPECT_NE(nameless.error().message.find("model.onnx: is missing"), std::string::npos) << nameless.error().message;
}

TEST(ImportedRun, AnAuditorWithAnotherFileRejects) {
  const Folder folder("imported_other");
  write_model(folder / "m.onnx", small_mlp());
  trained(folder / "run", job_of_file(folder / "m.onnx"));
  write_model(folder / "weights.onnx", small_mlp(0.5f));
  onnx::ModelForTest graph = small_mlp();
  graph.graph().mutable_node(2)->set_op_type("Tanh");
  write_model(folder / "graph.onnx", graph);
  for (const char* other : {"weights.onnx", "graph.onnx"}) {
    AuditRequest request = audit_request(folder / "run");
    request.overrides = {model_path(folder / other)};
    const auto audited = audit_run(request);
    ASSERT_TRUE(audited) << audited.error().message;
    ASSERT_TRUE(audited->verdict.first_difference) << other;
    EXPECT_EQ(audited->verdict.first_difference->part, verify::Part::kJob) << other;
    EXPECT_FALSE(audited->verdict.accepted());
    EXPECT_NE(audited->verdict.reason.find("the network or its weights"), std::string::npos);
  }
}

// scores, but for one number of samples their opposite: another network in the graph of that batch alone.
onnx::ModelForTest opposite_for(int64_t samples) {
  onnx::ModelForTest m = small_mlp();
  const auto number = [&](const std::string& name, int64_t value) {
    m.initializer(name, Tensor::of<int64_t>(Shape{1}, std::vector<int64_t>{value}));
  };
  number("zero", 0), number("one", 1), number("that", samples);
  m.graph().mutable_output(0)->set_name("y");
  const std::string input = m.graph().input(0).name();
  m.node("Shape", {input}, {"shape"});
  m.node("Slice", {"shape", "zero", "one"}, {"count"});
  m.node("Equal", {"count", "that"}, {"is_that"});
  m.node("Squeeze", {"is_that", "zero"}, {"condition"});
  onnx::schema::GraphProto branch[2];
  for (int i = 0; i < 2; ++i) {
    const std::string out = i == 0 ? "opposite" : "straight";
    onnx::add_node(branch[i], i == 0 ? "Neg" : "Identity", {"scores"}, {out});
    branch[i].add_output()->set_name(out);
  }
  m.node("If", {"condition"}, {"y"}).with("then_branch", branch[0]).with("else_branch", branch[1]);
  return m;
}

TEST(ImportedRun, AFileThatIsAnotherNetworkForSomeBatchIsAnotherJob) {
  const Folder folder("imported_batches");
  write_model(folder / "m.onnx", opposite_for(1000));
  const train::Job job = job_of_file(folder / "m.onnx");
  trained(folder / "run", job);
  // 50 samples are scored in batches of 32 and 18; exports are made from a graph for 13.
  for (const int64_t samples : {13, 18, 32}) {
    write_model(folder / "other.onnx", opposite_for(samples));
    AuditRequest request = audit_request(folder / "run");
    request.overrides = {model_path(folder / "other.onnx")};
    const auto audited = audit_run(request);
    ASSERT_TRUE(audited) << audited.error().message;
    ASSERT_TRUE(audited->verdict.first_difference) << samples;
    EXPECT_EQ(audited->verdict.first_difference->part, verify::Part::kJob) << samples;
  }
  AuditRequest request = audit_request(folder / "run");
  request.overrides = {model_path(folder / "m.onnx")};
  EXPECT_TRUE(audit_run(request)->verdict.accepted());
}

TEST(ImportedRun, WeightsAreCompletedOnlyFromTheFileThatWasEngagedFor) {
  const Folder folder("imported_complete");
  write_model(folder / "m.onnx", small_mlp());
  train::Job job = job_of_file(folder / "m.onnx", {"model.freeze=[\"a.*\"]"});
  trained(folder / "run", job);
  write_model(folder / "weights.onnx", small_mlp(0.5f));  // only what is frozen could tell them apart
  onnx::ModelForTest graph = small_mlp();
  graph.graph().mutable_node(2)->set_op_type("Tanh");
  write_model(folder / "graph.onnx", graph);
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const auto ready = [&](const char* file) {
    OpenRequest request;
    request.run = folder / "run";
    request.overrides = {model_path(folder / file)};
    Weights weights = read_run_weights(request, std::nullopt, engine.pool()).value();
    return make_ready(weights, *data::declared_shape(job.data), engine, {});
  };
  EXPECT_TRUE(ready("m.onnx"));
  for (const char* other : {"weights.onnx", "graph.onnx"}) {
    const Status refused = ready(other);
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().code, ErrorCode::kRejected) << other;
    EXPECT_NE(refused.error().message.find("the network or its weights"), std::string::npos) << refused.error().message;
  }
}

TEST(ImportedRun, IsResumedWithTheFileThatTheRegisterHas) {
  const Folder folder("imported_resume");
  write_model(folder / "m.onnx", small_mlp());
  const train::Job job = job_of_file(folder / "m.onnx");
  const TrainSummary whole = trained(folder / "whole", job);
  TrainRequest request = train_request(folder / "run", job);
  request.home = folder / "home";
  std::atomic<bool> stop = false;
  request.stop = &stop;
  request.progress = [&](const TrainProgress& p) { stop = p.step == 3; };
  ASSERT_FALSE(train_run(request)->finished);
  TrainRequest resumed;
  resumed.out = folder / "run";
  resumed.home = folder / "home";
  resumed.platform = request.platform;
  resumed.trainer = request.trainer;
  const auto done = resume_run(resumed);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->final_state_root, whole.final_state_root);
  EXPECT_EQ(done->first_step, 3);
}

TEST(ImportedRun, WeightsOfAFileTakeThePlaceOfThoseOfTheNetwork) {
  const Folder folder("imported_weights");
  write_model(folder / "m.onnx", small_mlp());
  write_model(folder / "half.onnx", small_mlp(0.5f));
  const auto network = open_network(job_of_file(folder / "half.onnx"), {}).value();
  std::vector<NamedTensor> weights = network->given_values().value();
  const auto write = [&](const std::string& name, const std::vector<NamedTensor>& tensors) {
    EXPECT_TRUE(formats::write_safetensors(folder / name, {tensors, {}}));
    return text_of("model.weights=\"", (folder / name).string(), "\"");
  };
  std::vector<NamedTensor> counted = weights;
  counted.push_back({"bn.num_batches_tracked", Tensor::scalar(int64_t{3})});
  const std::string set = write("w.safetensors", counted);
  const TrainSummary half = trained(folder / "half", job_of_file(folder / "half.onnx"));
  const TrainSummary loaded = trained(folder / "loaded", job_of_file(folder / "m.onnx", {set}));
  EXPECT_EQ(loaded.final_state_root, half.final_state_root);
  EXPECT_EQ(loaded.job_root, half.job_root) << "it does not matter where the values were";
  const TrainSummary own = trained(folder / "own", job_of_file(folder / "m.onnx"));
  EXPECT_NE(own.job_root, loaded.job_root);

  // Everything that is wrong is said at once.
  std::vector<NamedTensor> wrong = weights;
  wrong[0].name = "a.wieght";
  wrong[1].tensor = Tensor::zeros(DType::kFloat32, {17});
  const std::string problem = refusal(job_of_file(folder / "m.onnx", {write("wrong", wrong)}));
  for (const char* part : {"missing: 'a.weight'", "unknown to the network: 'a.wieght'",
                           "'a.bias' is float32 [17], expected float32 [16]"}) {
    EXPECT_NE(problem.find(part), std::string::npos) << problem;
  }
  weights[0].tensor = weights[0].tensor.clone();
  weights[0].tensor.data<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(refusal(job_of_file(folder / "m.onnx", {write("nan", weights)})).find("has a NaN"), std::string::npos);
}

TEST(ImportedRun, BuildersBeginWithTheWeightsOfAFileToo) {
  const Folder folder("built_weights");
  const train::Job job = job_of("builder = \"digits-cnn\"");
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  Session session = open_session(job, engine).value();
  ASSERT_TRUE(session.trainer->advance());
  const auto after = inference_tensors(session.trainer->state());
  ASSERT_TRUE(formats::write_safetensors(folder / "w", {after, {}}));
  const train::Job next =
      job_of("builder = \"digits-cnn\"", {text_of("model.weights=\"", (folder / "w").string(), "\"")});
  EXPECT_EQ(job_digest(next), job_digest(job)) << "a path is no part of a job";
  const Session begun = open_session(next, engine).value();
  EXPECT_NE(begun.root, session.root);
  for (const NamedTensor& t : inference_tensors(begun.trainer->state())) {
    const auto same = std::ranges::find(after, t.name, &NamedTensor::name);
    ASSERT_NE(same, after.end());
    EXPECT_TRUE(identical(t.tensor, same->tensor)) << t.name;
  }
}

TEST(ImportedRun, WhatIsFrozenIsNoPartOfTheStateAndBindsTheJob) {
  const Folder folder("imported_frozen");
  write_model(folder / "m.onnx", small_mlp());
  const train::Job job = job_of_file(folder / "m.onnx", {"model.freeze=[\"a.*\"]"});
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const Session session = open_session(job, engine).value();
  std::vector<std::string> names;
  for (const NamedTensor& t : session.trainer->state()) names.push_back(t.name);
  EXPECT_EQ(names, (std::vector<std::string>{"c.weight", "c.weight/momentum", "c.bias", "c.bias/momentum"}));
  ASSERT_EQ(session.trainer->frozen().size(), 2u);
  const TrainSummary done = trained(folder / "run", job);
  EXPECT_EQ(done.job_root, session.root);
  AuditRequest request = audit_request(folder / "run");
  request.overrides = {model_path(folder / "m.onnx")};
  EXPECT_TRUE(audit_run(request)->verdict.accepted());
  // Another frozen value is another job.
  onnx::ModelForTest other = small_mlp();
  Tensor bias(DType::kFloat32, {16});
  std::fill_n(bias.data<float>(), 16, 0.25f);
  onnx::schema::TensorProto proto;
  onnx::set_tensor(proto, "a.bias", bias);
  *other.graph().mutable_initializer(1) = proto;
  write_model(folder / "other.onnx", other);
  const Session another = open_session(job_of_file(folder / "other.onnx", {"model.freeze=[\"a.*\"]"}), engine).value();
  EXPECT_EQ(another.initial_state, session.initial_state);
  EXPECT_NE(another.root, session.root);
  EXPECT_NE(refusal(job_of_file(folder / "m.onnx", {"model.freeze=[\"a.wieght\"]"})).find("did you mean 'a.weight'"),
            std::string::npos);
  EXPECT_NE(refusal(job_of_file(folder / "m.onnx", {"model.freeze=[\"*\"]"})).find("nothing is left to train"),
            std::string::npos);
}

TEST(ImportedRun, FrozenBatchNormKeepsItsStatistics) {
  const Folder folder("imported_norm");
  write_model(folder / "m.onnx", exported(job_of("builder = \"resnet\"\nwidth = 4")));
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  const auto updated = [&](const std::vector<std::string>& set) {
    const Session session = open_session(job_of_file(folder / "m.onnx", set), engine).value();
    int buffers = 0;
    for (const train::StateSlot& slot : session.trainer->step_graph().slots)
      buffers += slot.name.ends_with("running_mean");
    return buffers;
  };
  const int all = updated({});
  EXPECT_GT(all, 3);
  EXPECT_EQ(updated({"model.batch_norm=frozen"}), 0);
  EXPECT_EQ(updated({"model.freeze=[\"bn0.*\"]"}), all - 1);
  EXPECT_EQ(updated({"model.freeze=[\"bn0.weight\", \"bn0.bias\"]"}), all) << "these are no statistics";
}

TEST(ImportedRun, IsPricedAndHeldToALimitOfMemory) {
  const Folder folder("imported_price");
  write_model(folder / "m.onnx", small_mlp());
  const train::Job job = job_of_file(folder / "m.onnx", {"model.freeze=[\"a.bias\"]"});
  double clock = 0;
  const auto price = price_job(job, platform::parse_platform("ordered/1t").value(), {}, [&] { return clock += 0.001; });
  ASSERT_TRUE(price) << price.error().message;
  EXPECT_EQ(price->parameters, 64 * 16 + 16 * 10 + 10);
  EXPECT_EQ(price->size.frozen_parameters, 16);
  EXPECT_TRUE(price->disputable);
  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  // Less than the file has, and less than the run takes.
  for (const auto& [bytes, says] :
       {std::pair<uint64_t, const char*>{1 << 10, "is 5.1 KB, more than the 512 B"}, {16 << 10, "--max-memory"}}) {
    const auto refused = open_session(job, engine, {bytes});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(says), std::string::npos) << refused.error().message;
  }
}

// y = s a or s b, by the sign of the sum of s: weights of its own in each branch.
TEST(ImportedRun, BranchesTrainTheirOwnWeights) {
  const Folder folder("imported_branches");
  onnx::ModelForTest m = small_mlp();
  m.graph().mutable_output(0)->set_name("y");
  m.node("ReduceSum", {"scores"}, {"sum"}).with("keepdims", 0);
  m.initializer("none", Tensor::scalar(0.0f));
  m.node("Greater", {"sum", "none"}, {"positive"});
  onnx::schema::GraphProto branch[2];
  for (int i = 0; i < 2; ++i) {
    const std::string own = i == 0 ? "more" : "less";
    Tensor weight(DType::kFloat32, {10});
    std::fill_n(weight.data<float>(), 10, 0.5f);
    onnx::set_tensor(*branch[i].add_initializer(), own, weight);
    onnx::add_node(branch[i], "Mul", {"scores", own}, {own + ".y"});
    branch[i].add_output()->set_name(own + ".y");
  }
  m.node("If", {"positive"}, {"y"}).with("then_branch", branch[0]).with("else_branch", branch[1]);
  write_model(folder / "m.onnx", m);
  const train::Job job = job_of_file(folder / "m.onnx");
  const TrainSummary done = trained(folder / "run", job);
  EXPECT_EQ(done.step, 6);
  AuditRequest request = audit_request(folder / "run");
  request.overrides = {model_path(folder / "m.onnx")};
  EXPECT_TRUE(audit_run(request)->verdict.accepted());

  platform::Engine engine(platform::parse_platform("ordered/1t").value());
  Session session = open_session(job, engine).value();
  ASSERT_TRUE(session.trainer->advance());
  int moved = 0;
  for (const NamedTensor& t : session.trainer->state()) {
    if (t.name != "more" && t.name != "less") continue;
    moved += std::ranges::any_of(t.tensor.span<float>(), [](float x) { return x < 0.49f || x > 0.5f; });
  }
  EXPECT_EQ(moved, 1) << "the branch that was taken learns, and weights of one axis do not decay";
  EXPECT_FALSE(price_job(job, platform::parse_platform("ordered/1t").value(), {}, [] { return 0.0; })->disputable);
}

TEST(ImportedRun, WhatDoesNotFitIsSaid) {
  const Folder folder("imported_misfit");
  onnx::ModelForTest fixed = small_mlp();
  fixed.graph().mutable_input(0)->clear_type();
  onnx::set_dims(*fixed.graph().mutable_input(0)->mutable_type(), onnx::kFloat, {4, 1, 8, 8});
  write_model(folder / "fixed.onnx", fixed);
  EXPECT_NE(refusal(job_of_file(folder / "fixed.onnx")).find("set data.batch = 4"), std::string::npos);
  EXPECT_EQ(refusal(job_of_file(folder / "fixed.onnx", {"data.batch=4"})), "accepted");

  onnx::ModelForTest wide = small_mlp();
  wide.graph().mutable_input(0)->clear_type();
  onnx::set_dims(*wide.graph().mutable_input(0)->mutable_type(), onnx::kFloat, {-1, 3, 8, 8});
  write_model(folder / "wide.onnx", wide);
  EXPECT_NE(refusal(job_of_file(folder / "wide.onnx")).find("float32 [?, 3, 8, 8]; the data have 'input'"),
            std::string::npos);

  // Of a loop whose trips follow from data there is no gradient.
  onnx::ModelForTest stuck = small_mlp();
  onnx::schema::GraphProto body;
  for (const char* name : {"trip", "goes", "before"}) body.add_input()->set_name(name);
  onnx::add_node(body, "Relu", {"before"}, {"after"});
  onnx::add_node(body, "ReduceSum", {"after"}, {"sum"}).with("keepdims", 0);
  onnx::add_node(body, "Less", {"sum", "unit"}, {"goes_on"});
  for (const char* name : {"goes_on", "after"}) body.add_output()->set_name(name);
  stuck.initializer("unit", Tensor::scalar(1.0f));
  Tensor goes(DType::kBool, {});
  *static_cast<uint8_t*>(goes.raw()) = 1;
  stuck.initializer("begins", goes);
  auto& relu = *stuck.graph().mutable_node(2);
  relu.Clear();
  relu.set_name("until");
  relu.set_op_type("Loop");
  for (const char* name : {"", "begins", "hidden"}) relu.add_input(name);
  relu.add_output("active");
  onnx::NodeForTest(relu).with("body", body);
  write_model(folder / "stuck.onnx", stuck);
  const std::string missing = refusal(job_of_file(folder / "stuck.onnx"));
  EXPECT_NE(missing.find("node 'until' (Loop): how many trips it makes follows from data"), std::string::npos)
      << missing;

  write_model(folder / "m.onnx", small_mlp());
  EXPECT_NE(
      refusal(job_of_file(folder / "m.onnx", {"model.outputs=[\"logits\"]"})).find("no output 'logits', but 'scores'"),
      std::string::npos);
  EXPECT_NE(refusal(job_of_file(folder / "absent.onnx")).find("absent.onnx"), std::string::npos);
  EXPECT_NE(refusal(job_of_file(folder / "m.onnx", {"model.loss=mse"})).find("the target of dataset 'digits' is class"),
            std::string::npos);
}

// A fixed batch is scored by overlapping batches, each sample once.
TEST(ImportedRun, AFixedBatchIsScoredAsAnOpenOne) {
  const Folder folder("imported_fixed");
  write_model(folder / "open.onnx", small_mlp());
  onnx::ModelForTest fixed = small_mlp();
  fixed.graph().mutable_input(0)->clear_type();
  onnx::set_dims(*fixed.graph().mutable_input(0)->mutable_type(), onnx::kFloat, {8, 1, 8, 8});
  write_model(folder / "fixed.onnx", fixed);
  const TrainSummary open = trained(folder / "open", job_of_file(folder / "open.onnx"));
  const TrainSummary same = trained(folder / "fixed", job_of_file(folder / "fixed.onnx"));
  EXPECT_EQ(same.final_state_root, open.final_state_root);
  EXPECT_EQ(same.evaluation.tree, open.evaluation.tree) << "50 samples by eights";
}

}  // namespace
}  // namespace isobit::run
