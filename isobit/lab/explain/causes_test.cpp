// Replays of a small network whose causes are known: the algorithm of its convolutions.
#include <ranges>
#include <set>

#include "isobit/base/text.h"
#include "isobit/lab/explain/recorded_model_for_test.h"
#include "isobit/onnx/model_for_test.h"

namespace isobit::lab::explain {
namespace {

std::vector<float> wavy(size_t n, float scale) {
  std::vector<float> values;
  for (size_t i = 0; i < n; ++i) values.push_back(scale * (0.1f + static_cast<float>((i * 7919) % 101) / 97.0f));
  return values;
}

class CausesTest : public testing::RecordedModel {
 protected:
  CausesTest() {
    onnx::ModelForTest made;
    made.input("x", {1, 3, 12, 12});
    made.initializer("w", onnx::floats({4, 3, 3, 3}, wavy(108, 0.3f)));
    made.initializer("v", onnx::floats({4, 4, 3, 3}, wavy(144, -0.2f)));
    made.node("Conv", {"x", "w"}, {"a"}).named("first");
    made.node("Relu", {"a"}, {"b"}).named("rectified");
    made.node("Conv", {"b", "v"}, {"c"}).named("second");
    made.node("Sigmoid", {"c"}, {"y"}).named("last");
    made.output("y");
    made.write(model());
    begin();
  }

  // "ordered@portable/1t", or "ordered@portable/1t:ordered-1" of an arithmetic other than float32.
  records::RunRecord& record(const std::string& text) {
    const size_t colon = text.find(':');
    const platform::Platform p = platform::parse_platform(text.substr(0, colon)).value();
    record_in(colon == text.npos ? "float32" : text.substr(colon + 1), text, p, backends::native());
    return runs_.back();
  }
  // Why nothing is looked for where what was measured is said to be another subject.
  Error refusal() {
    for (auto& run : runs_) run.subject = subject_;
    const deviation::TensorSource tensors = source();
    explanation_ = explain(subject_, runs_, nodes_, tensors).value();
    const auto refused = find_causes(explanation_, tensors, request_);
    EXPECT_FALSE(refused.has_value());
    return refused.has_value() ? Error{} : refused.error();
  }
  const Replay& replay_of(const std::string& name) const {
    const auto places = std::views::iota(size_t{0}, causes_.replays.forks.size());
    return causes_.replays.forks[*std::ranges::find_if(places, [&](size_t r) { return value_of(r) == name; })];
  }
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

// What somebody says of a platform of this machine, wherever it stands, keeps nobody from looking at the others.
TEST_F(CausesTest, AFalseRecordIsNamedAndLeftOut) {
  for (const bool first : {true, false}) {
    begin();
    record("ordered@portable/1t");
    record("ordered@portable/1t+winograd4");
    records::RunRecord forged = runs_.back();
    forged.platform.change([](auto& p) { p.name = "ordered@reference/1t"; });
    for (records::ValueRecord& v : forged.values) v.hash = records::hash_of(as_bytes("false " + v.name));
    runs_.insert(first ? runs_.begin() : runs_.end(), forged);
    // As of a lab without tensors: what parts are fed is computed by the reference.
    tensors_.clear();
    look();
    EXPECT_EQ(causes_.replays.problem, "");
    ASSERT_TRUE(causes_.replays.reference);
    EXPECT_EQ(explanation_.comparison.platforms[causes_.replays.reference->place].label, "ordered@portable/1t");
    const Replay& a = replay_of("a");
    EXPECT_EQ(a.not_again, std::vector<size_t>{first ? 0u : 2u});
    EXPECT_EQ(a.platforms.size(), 2u);
    EXPECT_EQ(a.origin(), Origin::kIntroduced);
    EXPECT_FALSE(causes_.earlier);
    EXPECT_NE(said().find("what was recorded of ordered@reference/1t"), std::string::npos) << said();
    EXPECT_NE(said().find("does not come out again here"), std::string::npos) << said();
    EXPECT_EQ(said().find("cannot run by itself"), std::string::npos) << said();
  }
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

// What differs in library and arithmetic, or in arithmetic alone, is not said to differ in the library alone.
TEST_F(CausesTest, AnArithmeticIsAThingInWhichPlatformsDiffer) {
  record("ordered@portable/1t+winograd4");
  record("ordered@portable/1t:correct-1");
  record("ordered@portable/1t");
  look();
  std::set<std::pair<Change, bool>> tried;
  for (const Trial& t : causes_.trials) tried.emplace(t.change, t.is_like);
  EXPECT_TRUE(tried.contains({Change::kArithmetic, true})) << said();
  EXPECT_NE(said().find("ordered@portable/1t:correct-1 and ordered@portable/1t (arithmetic: correct-1, float32)"),
            std::string::npos)
      << said();
  EXPECT_EQ(said().find("ordered@portable/1t+winograd4 and ordered@portable/1t:correct-1 (convolution algorithm"),
            std::string::npos)
      << said();
  const auto asked = std::ranges::find(causes_.trees, 1u, &KernelTree::platform);
  ASSERT_NE(asked, causes_.trees.end());
  EXPECT_EQ(asked->problem, "kernels are asked in float32, and not under correct-1");
}

// That orders differ where bits do is one thing, that they make all of the difference another.
TEST_F(CausesTest, OrdersAccountForADifferenceOnlyWhereTheyMakeAllOfIt) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+direct");
  look();
  ASSERT_EQ(causes_.diagnoses.front().replay, *causes_.first);
  ASSERT_TRUE(causes_.diagnoses.front().diagnosis.confirmed) << said();
  const std::string accounts =
      "That accounts for the difference between ordered@portable/1t and ordered@portable/1t+direct in every element "
      "that "
      "was compared.\n";
  EXPECT_NE(said().find("those of different bits add in different ways"), std::string::npos) << said();
  EXPECT_NE(said().find(accounts), std::string::npos) << said();
  causes_.diagnoses.front().diagnosis.confirmed = false;
  EXPECT_EQ(said().find("That accounts"), std::string::npos) << said();
  EXPECT_NE(said().find("It is not shown that this accounts for the whole difference between ordered@portable/1t and "
                        "ordered@portable/1t+direct.\n"),
            std::string::npos)
      << said();
  causes_.diagnoses.front().diagnosis.together = true;
  EXPECT_NE(said().find(accounts), std::string::npos) << said();
  // Nor where a kernel, asked for another element, adds otherwise there.
  causes_.again.push_back({causes_.asked, causes_.trees});
  ASSERT_TRUE(causes_.again.back().is_settled());
  EXPECT_EQ(said().find("That accounts"), std::string::npos) << said();
}

// Exact products, and what is added on top, rounded once: nothing of it is rounded before.
TEST_F(CausesTest, ASumThatIsRoundedOnceIsConfirmed) {
  const auto confirmed = [&] {
    begin();
    record("ordered@portable/1t");
    record("ordered@portable/1t:correct-1");
    look();
    ASSERT_EQ(causes_.diagnoses.size(), 1u) << said();
    const Diagnosis& d = causes_.diagnoses[0].diagnosis;
    EXPECT_EQ(d.kind, Kind::kSummationOrder);
    EXPECT_TRUE(d.confirmed) << said();
    EXPECT_NE(d.words.find("rounds the sum once, at its end"), std::string::npos) << d.words;
  };
  onnx::ModelForTest product;
  product.input("x", {8, 300});
  product.initializer("w", onnx::floats({300, 6}, wavy(1800, 0.7f)));
  product.node("MatMul", {"x", "w"}, {"y"});
  product.output("y");
  product.write(model());
  confirmed();
  onnx::ModelForTest convolution;
  convolution.input("x", {1, 3, 12, 12});
  convolution.initializer("w", onnx::floats({4, 3, 3, 3}, wavy(108, 0.3f)));
  convolution.initializer("b", onnx::floats({4}, wavy(4, 0.9f)));
  convolution.node("Conv", {"x", "w", "b"}, {"y"});
  convolution.output("y");
  convolution.write(model());
  confirmed();
}

TEST_F(CausesTest, InputsThatNobodyKeptAreComputedAgain) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4");
  tensors_.clear();
  look();
  EXPECT_EQ(causes_.replays.problem, "");
  EXPECT_EQ(replay_of("c").origin(), Origin::kIntroduced);
}

// What the labs hold does not depend on the inputs that are named here; the first convolution reads those.
TEST_F(CausesTest, OtherInputsThanThoseMeasuredAreFedToNothing) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4");
  request_.replay.inference.seed = 2;
  look();
  EXPECT_EQ(causes_.replays.problem, "");
  EXPECT_NE(replay_of("a").problem.find("not those that were measured"), std::string::npos);
  EXPECT_EQ(replay_of("a").origin(), Origin::kUnknown);
  EXPECT_EQ(replay_of("c").origin(), Origin::kIntroduced);
  EXPECT_NE(said().find("Only what the labs hold the inputs of was replayed"), std::string::npos) << said();
}

TEST_F(CausesTest, OtherInputsAreSeenWhereLabsHoldNothing) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4");
  tensors_.clear();
  request_.replay.inference.seed = 2;
  look();
  for (const Replay& r : causes_.replays.forks)
    EXPECT_NE(r.problem.find("not those that were measured"), std::string::npos);
  EXPECT_FALSE(causes_.first.has_value());
}

TEST_F(CausesTest, OtherWeightsBesideTheModelAreRefused) {
  record("ordered@portable/1t");
  subject_.settings = "weights in 'w.bin' of SHA-256 00";
  const Error refused = refusal();
  EXPECT_EQ(refused.code, ErrorCode::kUsage);
  EXPECT_NE(refused.message.find("w.bin"), std::string::npos);
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
  EXPECT_EQ(refusal().code, ErrorCode::kUsage);
}

TEST_F(CausesTest, EmulatedProcessorsAreNotReplayed) {
  record("ordered@portable/1t");
  record("ordered@portable/1t:ordered-1").platform.change([](auto& p) {
    p.name = "ordered@portable/1t:ordered-1~haswell";
  });
  runs_.back().values[0].hash.low ^= 1;
  look();
  EXPECT_NE(causes_.replays.problem.find("fewer than two"), std::string::npos);
}

TEST_F(CausesTest, PlatformsOfElsewhereAreNotReplayed) {
  record("ordered@portable/1t");
  runs_.push_back(runs_.back());
  runs_.back().platform.change([](auto& p) { p.name = "somebody's own/1t"; });
  runs_.back().values[0].hash.low ^= 1;
  look();
  EXPECT_NE(causes_.replays.problem.find("fewer than two"), std::string::npos);
}

TEST_F(CausesTest, WhatReplaysFindInheritedOthersMayIntroduce) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4");
  runs_.push_back(runs_.front());
  runs_.back().platform.change([](auto& p) {
    p.name = "theirs/1t";
    p.engine = "theirs";
  });
  runs_.back().values[1].hash.low ^= 1;
  look();
  EXPECT_EQ(replay_of("b").origin(), Origin::kInherited);
  EXPECT_EQ(explanation_.forks[replay_of("b").fork].origin, Origin::kIntroduced);
  EXPECT_NE(said().find("inherited (at 1 of them the records show others to introduce one)."), std::string::npos)
      << said();
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

TEST_F(CausesTest, OneKernelOfEachEngineIsAskedBeforeFurtherOnesAndWhoIsLeftOutIsSaid) {
  record("ordered@portable/1t");
  record("ordered@portable/1t+winograd4");
  const records::RunRecord run = runs_.back();
  for (const char* setting : {"a", "b"}) {
    for (int engine = 0; engine < 8; ++engine) {
      runs_.push_back(run);
      runs_.back().platform.change([&](auto& p) {
        p.engine = text_of("theirs", engine);
        p.name = text_of("theirs", engine, "@", setting, "/1t");
      });
    }
  }
  std::ranges::sort(runs_, {}, [](const records::RunRecord& r) { return r.platform->name; });  // settings side by side
  look();
  ASSERT_EQ(causes_.trees.size(), kMaxTrees);
  std::set<std::string> engines;
  for (size_t i = 2; i < 10; ++i) {
    engines.insert(explanation_.comparison.platforms[causes_.trees[i].platform].record.engine);
  }
  EXPECT_EQ(engines.size(), 8u);
  EXPECT_EQ(causes_.not_asked.size(), 2u);
  EXPECT_NE(said().find("Not asked, since no more than 16 kernels are: theirs6@b/1t and theirs7@b/1t.\n"),
            std::string::npos)
      << said();
}

TEST_F(CausesTest, APartHoldsWhatItsValueFollowsFrom) {
  const onnx::Model loaded = onnx::load_model(model()).value();
  const onnx::TypeDef type{onnx::TypeDef::Kind::kTensor, 1, true, {{1, ""}, {4, ""}, {10, ""}, {10, ""}}};
  const Part one = cut(loaded, {"c"}, {{"b", type}, {"c", type}}).value();
  EXPECT_EQ(one.nodes, std::vector<std::string>{"second"});
  EXPECT_EQ(one.values, std::vector<std::string>{"b"});
  EXPECT_TRUE(one.given.empty());
  EXPECT_EQ(one.model.graph.initializers.size(), 1u);
  const Part all = cut(loaded, {"c"}, {}).value();
  EXPECT_EQ(all.nodes, (std::vector<std::string>{"first", "rectified", "second"}));
  EXPECT_EQ(all.given, std::vector<std::string>{"x"});
  EXPECT_NE(cut(loaded, {"nobody's"}, {}).error().message.find("no node makes 'nobody's'"), std::string::npos);
  EXPECT_NE(cut(loaded, {"y"}, {}, 3).error().message.find("more than 3 nodes"), std::string::npos);
}

}  // namespace
}  // namespace isobit::lab::explain
