// Replays of a small network whose causes are known: the algorithm of its convolutions.
#include "isobit/lab/explain/causes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "isobit/onnx/model_for_test.h"

namespace isobit::lab::explain {
namespace {

std::vector<float> wavy(size_t n, float scale) {
  std::vector<float> values;
  for (size_t i = 0; i < n; ++i) values.push_back(scale * (0.1f + static_cast<float>((i * 7919) % 101) / 97.0f));
  return values;
}

class CausesTest : public ::testing::Test {
 protected:
  CausesTest() : folder_(fs::temp_directory_path() / ("isobit_causes_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    request_.replay.inference.model = folder_ / "m.onnx";
    onnx::ModelForTest model;
    model.input("x", {1, 3, 12, 12});
    model.initializer("w", onnx::floats({4, 3, 3, 3}, wavy(108, 0.3f)));
    model.initializer("v", onnx::floats({4, 4, 3, 3}, wavy(144, -0.2f)));
    model.node("Conv", {"x", "w"}, {"a"}).named("first");
    model.node("Relu", {"a"}, {"b"}).named("rectified");
    model.node("Conv", {"b", "v"}, {"c"}).named("second");
    model.node("Sigmoid", {"c"}, {"y"}).named("last");
    model.output("y");
    model.write(request_.replay.inference.model);
    nodes_ = {{"Conv", "first", {"x", "w"}, {"a"}},
              {"Relu", "rectified", {"a"}, {"b"}},
              {"Conv", "second", {"b", "v"}, {"c"}},
              {"Sigmoid", "last", {"c"}, {"y"}}};
    subject_ = {records::SubjectKind::kInference, "m.onnx",
                commit::sha256(read_file(request_.replay.inference.model, 1 << 20).value()), commit::Digest{7}, ""};
  }
  ~CausesTest() override { fs::remove_all(folder_); }

  // What a platform of this machine makes of the model.
  records::RunRecord& record(const std::string& text) {
    const platform::Platform p = platform::parse_platform(text).value();
    const onnx::Model model = onnx::load_model(request_.replay.inference.model).value();
    const Feeds values =
        values_in_child(request_.replay.inference, model, {"a", "b", "c", "y"}, p, "float32", 1 << 20).value();
    records::RunRecord run;
    run.subject = subject_;
    run.platform = {text, p.library, {{"arithmetic", "float32"}}, {}, 0};
    run.tapped = true;
    for (const auto& node : nodes_) {
      const Tensor& tensor = values.at(node.outputs[0]);
      run.values.push_back(
          {node.outputs[0], node.op, "float32", tensor.shape().dims(), hash_of(tensor), "", node.outputs[0] == "y", 0});
      const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
      tensors_[hash_of(tensor)] = Bytes(bytes, bytes + tensor.bytes());
    }
    runs_.push_back(std::move(run));
    return runs_.back();
  }
  deviation::TensorSource source() {
    return [this](const records::Hash128& hash) -> Expected<std::optional<Bytes>> {
      const auto found = tensors_.find(hash);
      return found == tensors_.end() ? std::optional<Bytes>() : found->second;
    };
  }
  void look() {
    const deviation::TensorSource tensors = source();
    explanation_ = explain(subject_, runs_, nodes_, tensors).value();
    causes_ = find_causes(explanation_, tensors, request_).value();
  }
  const Replay& replay_of(const std::string& name) const {
    const auto found = std::ranges::find_if(causes_.replays.forks, [&](const Replay& r) {
      return explanation_.trace.values[explanation_.forks[r.fork].value].name == name;
    });
    return *found;
  }
  std::string said() const {
    std::string all;
    for (const std::string& sentence : in_words(explanation_, causes_)) all += sentence + "\n";
    return all;
  }

  const fs::path folder_;
  CausesRequest request_;
  std::vector<records::GraphNode> nodes_;
  records::Subject subject_;
  std::vector<records::RunRecord> runs_;
  std::map<records::Hash128, Bytes> tensors_;
  Explanation explanation_;
  Causes causes_;
};

TEST_F(CausesTest, ConvolutionsThatIntroduceAreToldFromWhatInherits) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4");
  look();
  ASSERT_EQ(explanation_.forks.size(), 4u);
  EXPECT_EQ(replay_of("a").origin(), Origin::kIntroduced);
  EXPECT_EQ(replay_of("b").origin(), Origin::kInherited);
  EXPECT_EQ(replay_of("c").origin(), Origin::kIntroduced);  // the records alone could not say so: its inputs differ
  EXPECT_EQ(explanation_.forks[2].origin, Origin::kInherited);
  EXPECT_EQ(replay_of("y").origin(), Origin::kInherited);
  EXPECT_EQ(replay_of("a").nodes, std::vector<std::string>{"first"});
  EXPECT_EQ(replay_of("a").same_inputs, 2u);
  EXPECT_EQ(replay_of("c").same_inputs, 1u);
  ASSERT_EQ(causes_.trials.size(), 1u);
  for (const Trial& t : causes_.trials) {
    EXPECT_EQ(t.change, Change::kAlgorithm);
    EXPECT_TRUE(t.is_like && t.agrees && !t.unchanged);
  }
  EXPECT_NE(said().find("differ in one thing alone, and in their bits: ordered@portable/1t and "
                        "ordered@portable/1t+winograd4 (convolution algorithm: its own, winograd4)"),
            std::string::npos)
      << said();
}

TEST_F(CausesTest, OneChangeOfSeveralIsTriedAndConfirmed) {
  record("ordered@portable/1t");
  record("ordered@portable/2t+winograd4");
  look();
  // Threads and algorithm, each from either side; only the algorithm makes the two agree.
  ASSERT_EQ(causes_.trials.size(), 4u);
  for (const Trial& t : causes_.trials) {
    EXPECT_FALSE(t.is_like);
    EXPECT_EQ(t.agrees, t.change == Change::kAlgorithm) << t.platform << " " << t.problem;
    EXPECT_EQ(t.unchanged, t.change == Change::kThreads) << t.platform;
    EXPECT_EQ(t.problem, "");
  }
  EXPECT_NE(
      said().find("With winograd4 in place of its own as its convolution algorithm and nothing else changed, "
                  "ordered@portable/1t makes the bits of ordered@portable/2t+winograd4 (tried at this operator as "
                  "ordered@portable/1t+winograd4)"),
      std::string::npos)
      << said();
}

TEST_F(CausesTest, InputsThatNobodyKeptAreComputedAgain) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4");
  tensors_.clear();
  look();
  EXPECT_EQ(causes_.replays.problem, "");
  EXPECT_EQ(replay_of("c").origin(), Origin::kIntroduced);
}

TEST_F(CausesTest, AnotherSeedIsSeenAndNothingIsClaimed) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4");
  tensors_.clear();
  request_.replay.inference.seed = 2;
  look();
  EXPECT_NE(causes_.replays.problem.find("another input or seed"), std::string::npos) << causes_.replays.problem;
  EXPECT_FALSE(causes_.first.has_value());
}

TEST_F(CausesTest, RecordsThatDoNotComeOutAgainAreSaid) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4").values[0].hash.low ^= 1;  // no run ever made this
  look();
  EXPECT_FALSE(replay_of("a").reproduced);
  EXPECT_EQ(replay_of("a").origin(), Origin::kUnknown);
  EXPECT_NE(said().find("nothing is said, since the recorded bits did not come out again"), std::string::npos)
      << said();
}

TEST_F(CausesTest, AnotherModelIsRefused) {
  record("ordered@portable/1t");
  subject_.model_sha256 = commit::Digest{9};
  for (auto& run : runs_) run.subject = subject_;
  const deviation::TensorSource tensors = source();
  explanation_ = explain(subject_, runs_, nodes_, tensors).value();
  const auto refused = find_causes(explanation_, tensors, request_);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
}

TEST_F(CausesTest, PlatformsOfElsewhereAreNotReplayed) {
  record("ordered@portable/1t");
  runs_.push_back(runs_.back());
  runs_.back().platform.name = "somebody's own/1t";
  runs_.back().values[0].hash.low ^= 1;
  look();
  EXPECT_NE(causes_.replays.problem.find("fewer than two"), std::string::npos);
}

TEST_F(CausesTest, KernelsAreAskedForTheOrderOfTheirSums) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4");
  look();
  ASSERT_TRUE(causes_.asked.sum.has_value()) << causes_.asked.problem;
  EXPECT_EQ(causes_.asked.sum->k, 27);
  EXPECT_TRUE(causes_.asked.words.starts_with("this convolution, 27 terms at channel ")) << causes_.asked.words;
  EXPECT_TRUE(causes_.asked.words.ends_with("recorded 2 different results")) << causes_.asked.words;
  ASSERT_EQ(causes_.trees.size(), 2u);
  EXPECT_FALSE(causes_.trees[0].digest.empty()) << causes_.trees[0].problem;
  EXPECT_NE(causes_.trees[0].svg.find("<svg"), std::string::npos);
}

TEST_F(CausesTest, APartHoldsWhatItsValueFollowsFrom) {
  const onnx::Model model = onnx::load_model(request_.replay.inference.model).value();
  const onnx::TypeDef type{onnx::TypeDef::Kind::kTensor, 1, true, {{1, ""}, {4, ""}, {10, ""}, {10, ""}}};
  const Part one = cut(model, {"c"}, {{"b", type}, {"c", type}}).value();
  EXPECT_EQ(one.nodes, std::vector<std::string>{"second"});
  EXPECT_EQ(one.values, std::vector<std::string>{"b"});
  EXPECT_TRUE(one.given.empty());
  EXPECT_EQ(one.model.graph.initializers.size(), 1u);
  const Part all = cut(model, {"c"}, {}).value();
  EXPECT_EQ(all.nodes, (std::vector<std::string>{"first", "rectified", "second"}));
  EXPECT_EQ(all.given, std::vector<std::string>{"x"});
  EXPECT_NE(cut(model, {"nobody's"}, {}).error().message.find("no node makes 'nobody's'"), std::string::npos);
  EXPECT_NE(cut(model, {"y"}, {}, 3).error().message.find("more than 3 nodes"), std::string::npos);
}

}  // namespace
}  // namespace isobit::lab::explain
