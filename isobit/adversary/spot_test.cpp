// Spot checks: what an honest trainer shows is right, whatever is drawn; what is false is found once it is drawn; what
// nobody can believe convicts nobody.
#include <fstream>
#include <map>
#include <random>

#include "isobit/adversary/dispute_for_test.h"
#include "isobit/base/whole_for_test.h"
#include "isobit/run/onnx_for_test.h"
#include "isobit/run/spot_run.h"

namespace isobit::adversary {
namespace {

using namespace testing;
using dispute::SpotCheck;
using dispute::SpotFinding;

constexpr std::array<const char*, 3> kArithmetics = {"ordered-1", "correct-1", "logged-1"};

class SpotChecks : public DisputeTest {
 protected:
  static Bytes seed(uint8_t fill) { return Bytes(32, fill); }

  std::unique_ptr<SpotCheck> check_of(const Made& made, uint64_t draws, std::optional<uint64_t> step,
                                      uint8_t fill = 1) {
    const auto known = run::spot_known(side(made, kTrainerSeed).open);
    EXPECT_TRUE(known) << known.error().message;
    return std::make_unique<SpotCheck>(known->subject, seed(fill), draws, step, known->transcript);
  }
  // Of answers that all count.
  std::unique_ptr<SpotCheck> checked(const Made& made, uint64_t draws, std::optional<uint64_t> step, uint8_t fill = 1,
                                     dispute::SpotTrainer::ForgeStates forge = nullptr) {
    run::DisputeSide of_trainer = side(made, kTrainerSeed);
    of_trainer.forge_states = std::move(forge);
    auto check = check_of(made, draws, step, fill);
    const auto trainer = run::SpotSide::open(of_trainer);
    EXPECT_TRUE(trainer) << trainer.error().message;
    const Status done = run::run_spot_check(*check, [&](const Bytes& q) { return (*trainer)->answer(q); });
    EXPECT_TRUE(done) << done.error().message;
    return check;
  }

  static std::set<std::string> operators_of(const train::Job& job) {
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    const graph::Graph graph = run::open_session(job, engine).value().trainer->step_graph().graph;
    std::set<std::string> operators;
    for (const graph::Node& node : graph.nodes()) operators.insert(node.op);
    return operators;
  }

  // Draws until every operator of the step is among them, as all nearly always are the first time: what is drawn
  // follows from the run's id, too, which is new each time.
  void expect_right(const train::Job& job, uint64_t draws) {
    const Made honest = make("honest", job);
    const std::set<std::string> all = operators_of(job);
    std::set<std::string> seen;
    for (uint8_t fill = 1; fill < 6 && seen != all; ++fill) {
      const auto check = checked(honest, draws, 2, fill);
      EXPECT_FALSE(check->finding()) << check->finding()->op << ": " << check->finding()->reason;
      EXPECT_EQ(check->checked().size(), draws);
      for (const SpotCheck::Checked& c : check->checked()) {
        EXPECT_LT(c.bytes, uint64_t{1} << 20) << c.op;
        if (!c.op.empty()) seen.insert(c.op);
      }
    }
    EXPECT_EQ(seen, all);
    fs::remove_all(honest.path);
  }

  int false_runs_ = 0;
  // Another value in every element of what one operator makes, at step 2: 900 draws among 35 nodes miss it once in
  // 10^11 times.
  Made planted(const train::Job& job, const std::string& op) {
    run::TrainRequest request = train_request(folder_ / text_of("false_", op, "_", ++false_runs_), job);
    request.conduct.step = with_outputs(
        2,
        [op](const graph::Graph& graph, size_t index, runtime::KernelCall& call) {
          if (graph.nodes()[index].op != op) return;
          for (Tensor& out : call.outputs) {
            if (!out.defined()) continue;
            out.dtype() == DType::kFloat32 ? replace_values<float>(out) : replace_values<double>(out);
          }
        },
        run::take_step);
    EXPECT_TRUE(run::train_run(request));
    return {request.out, request.conduct, job};
  }
};

TEST_F(SpotChecks, AnHonestImageNetworkIsRight) {
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    expect_right(digits_job({"job.arithmetic=" + arithmetic, "data.batch=40"}), 400);
    expect_right(small_job({"job.arithmetic=" + arithmetic, "job.steps=3", "evaluate.samples=8"}), 900);
  }
}

TEST_F(SpotChecks, AnHonestGptIsRight) {
  const fs::path text = folder_ / "text";
  std::ofstream(text) << std::string(4000, 'a') << "the quick brown fox jumps over the lazy dog";
  for (const std::string arithmetic : kArithmetics) {
    if (arithmetic != "logged-1" && !whole_test()) continue;
    SCOPED_TRACE(arithmetic);
    expect_right(
        train::parse_job(
            text_of("[job]\nname = \"gpt\"\nseed = 3\nsteps = 3\n[model]\nbuilder = \"gpt\"\nlayers = 1\nheads = 2\n",
                    "channels = 16\ndropout = 0.1\n[data]\ndataset = \"text\"\ncontext = 8\nbatch = 4\npath = \"",
                    text.string(),
                    "\"\n[optimizer]\nname = \"adamw\"\nlr = 0.01\nclip_norm = 0.5\n[evaluate]\nsamples = 4\n"),
            "gpt", "", {"job.arithmetic=" + arithmetic})
            .value(),
        1500);
  }
}

TEST_F(SpotChecks, AnHonestImportedNetworkWithAFrozenParameterIsRight) {
  run::testing::write_model(folder_ / "m.onnx", run::testing::small_mlp());
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    expect_right(
        train::parse_job(
            text_of("[job]\nname = \"mlp\"\nseed = 3\nsteps = 3\n[model]\nonnx = \"", (folder_ / "m.onnx").string(),
                    "\"\nfreeze = [\"a.bias\"]\n[data]\ndataset = \"digits\"\nbatch = 8\n[optimizer]\n",
                    "lr = 0.05\n[evaluate]\nsamples = 8\n"),
            "mlp", "", {"job.arithmetic=" + arithmetic})
            .value(),
        200);
  }
}

TEST_F(SpotChecks, TheStepIsDrawnWhereNoneIsNamed) {
  const Made honest = make("honest", small_job({"commit.every=4", "job.steps=11"}));
  std::set<uint64_t> steps;
  for (uint8_t fill = 0; fill < 12; ++fill) {
    const auto check = checked(honest, 3, std::nullopt, fill);
    EXPECT_FALSE(check->finding());
    steps.insert(check->step());
  }
  EXPECT_GT(steps.size(), size_t{4});
  EXPECT_LE(*steps.rbegin(), uint64_t{11});
  for (const uint64_t step : {1, 4, 5, 11}) EXPECT_EQ(checked(honest, 3, step)->step(), step);
}

TEST_F(SpotChecks, WhatIsFalseIsFoundOnceItIsDrawn) {
  size_t number = 0;  // each operator under one arithmetic, in turn; the whole test under all
  for (const std::string arithmetic : kArithmetics) {
    const train::Job job = digits_job({"job.arithmetic=" + arithmetic, "data.batch=40"});
    for (const std::string op : {"Conv", "Relu", "isobit.ConvGradWeights", "isobit.CrossEntropy", "isobit.Sgd"}) {
      if (number++ % 3 != 0 && !whole_test()) continue;
      SCOPED_TRACE(text_of(arithmetic, " ", op));
      const Made false_run = planted(job, op);
      const auto check = checked(false_run, 900, 2);
      ASSERT_TRUE(check->finding());
      const SpotFinding& found = *check->finding();
      EXPECT_EQ(found.level, Level::kElement) << found.reason;
      EXPECT_EQ(found.step, uint64_t{2});
      EXPECT_EQ(found.op, op) << found.reason;
      ASSERT_TRUE(found.element && found.right);
      EXPECT_NE(found.claimed, *found.right);
      // The steps before and after it are as the job says.
      EXPECT_FALSE(checked(false_run, 60, 1)->finding());
      EXPECT_FALSE(checked(false_run, 60, 3)->finding());
    }
  }
}

TEST_F(SpotChecks, CheatsAreFoundWhereTheyAre) {
  struct Where {
    Level level;
    std::set<std::string> operators;
  };
  // A false sample is read by the first layer and its gradient, a false label by the loss and its own.
  const std::set<std::string> readers = {"Conv", "isobit.ConvGradWeights", "isobit.CrossEntropy",
                                         "isobit.CrossEntropyGrad"};
  const std::map<std::string, Where> cheats = {{"sample", {Level::kElement, readers}},
                                               {"rate", {Level::kElement, {"isobit.Sgd"}}},
                                               {"order", {Level::kStep, {""}}},
                                               {"skip", {Level::kElement, {"isobit.Sgd", "isobit.RunningUpdate"}}}};
  const train::Job job = small_job({"job.steps=3"});
  for (const auto& [cheat, where] : cheats) {
    SCOPED_TRACE(cheat);
    Made false_run = make("false_" + cheat, job, cheat, 2);
    const auto check = checked(false_run, 1500, 2);
    ASSERT_TRUE(check->finding());
    EXPECT_EQ(check->finding()->level, where.level) << check->finding()->reason;
    EXPECT_TRUE(where.operators.contains(check->finding()->op)) << check->finding()->op;
    // Who then answers as the job says has values that do not lead to what it signed.
    if (cheat == "order") continue;
    false_run.conduct.reset();
    const auto honest_answers = checked(false_run, 1, 2);
    ASSERT_TRUE(honest_answers->finding());
    EXPECT_EQ(honest_answers->finding()->level, Level::kTrace) << honest_answers->finding()->reason;
  }
}

TEST_F(SpotChecks, WhoLiesInTheStatesOfASumIsFoundInTheChunkThatIsDrawn) {
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const Made honest = make("honest_" + arithmetic, digits_job({"job.arithmetic=" + arithmetic, "data.batch=40"}));
    std::set<uint64_t> chunks;
    for (uint8_t fill = 1; fill < 40 && !chunks.contains(0); ++fill) {
      const auto check = checked(honest, 200, 2, fill, [](std::vector<judge::State>& states) {
        for (judge::State& s : states) s[1] ^= 1;
      });
      ASSERT_TRUE(check->finding());
      EXPECT_NE(check->finding()->op, "");
      if (check->finding()->chunk) chunks.insert(*check->finding()->chunk);
    }
    // From a false state nothing false follows: the first chunk, and the element, are what is found.
    EXPECT_TRUE(chunks.contains(0));
  }
}

// What is drawn, by the formula and by drawing.
TEST(SpotDraws, MissAsOftenAsTheySay) {
  std::vector<train::TraceEntry> schema;
  const auto add = [&](int64_t node, std::vector<int64_t> dims) {
    train::TraceEntry e;
    e.kind = node < 0 ? train::TraceEntry::Kind::kBatch : train::TraceEntry::Kind::kOutput;
    e.node = node;
    e.dims = std::move(dims);
    schema.push_back(e);
  };
  add(-1, {10});
  add(-1, {3});
  for (int64_t node = 0; node < 6; ++node) add(node, {20, node + 1});
  add(6, {100});
  add(6, {50});
  add(7, {0});
  const auto units = dispute::spot_units(schema);
  ASSERT_EQ(units.size(), size_t{9});
  EXPECT_EQ(units[8], (std::vector<uint64_t>{8, 9}));
  const std::set<uint64_t> bad_entries = {4, 8, 9};  // of the units 4 and 8: the first tenth of each
  constexpr int kAudits = 4000, kDraws = 30;
  int missed = 0;
  for (int audit = 0; audit < kAudits; ++audit) {
    Bytes seed(16, static_cast<uint8_t>(audit));
    seed[1] = static_cast<uint8_t>(audit >> 8);
    dispute::SpotDraw draw(seed);
    bool hit = false;
    for (int i = 0; i < kDraws; ++i) {
      const dispute::SpotPlace place = draw.place(units, schema, {});
      const int64_t elements = Shape(schema[place.entry].dims).elements();
      ASSERT_TRUE(place.element >= 0 && place.element < elements);
      hit |= bad_entries.contains(place.entry) && place.element < elements / 10;
    }
    missed += hit ? 0 : 1;
  }
  const double said = dispute::spot_miss_probability(units.size(), 2, kDraws, 0.1);
  EXPECT_NEAR(static_cast<double>(missed) / kAudits, said, 4 * std::sqrt(said * (1 - said) / kAudits));
  EXPECT_DOUBLE_EQ(dispute::spot_miss_probability(9, 1, 10, 0), 1);
  EXPECT_DOUBLE_EQ(dispute::spot_miss_probability(1, 1, 1, 1, 0.25), 0.75);
}

// Any change to an answer is noticed; none leads to a finding against an honest trainer.
TEST_F(SpotChecks, ChangedAnswersDoNotCount) {
  const Made honest = make("honest", digits_job({"data.batch=40"}));
  const auto trainer = run::SpotSide::open(side(honest, kTrainerSeed)).value();
  const auto check = check_of(honest, 60, 2);
  std::mt19937 random(1);
  while (!check->done()) {
    const Bytes question = check->question();
    const Bytes message = trainer->answer(question).value();
    for (int i = 0; i < 10; ++i) {
      Bytes changed = message;
      const size_t bit = random() % (changed.size() * 8);
      changed[bit / 8] = static_cast<uint8_t>(changed[bit / 8] ^ (1 << bit % 8));
      EXPECT_FALSE(check->receive(changed).counts);
      EXPECT_FALSE(check->receive(ByteView(message).first(random() % message.size())).counts);
      EXPECT_EQ(check->question(), question);
    }
    // Changed by the trainer itself, who signs it: it counts only where it still shows what is true.
    const auto original = dispute::decode_message(message, "test").value();
    for (int i = 0; i < 10; ++i) {
      Bytes body = original.body;
      const size_t bit = random() % (body.size() * 8);
      body[bit / 8] = static_cast<uint8_t>(body[bit / 8] ^ (1 << bit % 8));
      const auto terms = side(honest, kTrainerSeed);
      const auto again = dispute::sign_message(original.turn, original.history, body,
                                               run::open_front(terms.open).value().front.engagement().terms,
                                               run::testing::key(kTrainerSeed));
      EXPECT_FALSE(check->receive(encode(again)).counts) << "bit " << bit << " of turn " << original.turn;
      EXPECT_EQ(check->question(), question);
    }
    ASSERT_TRUE(check->receive(message).counts);
    EXPECT_FALSE(check->done() ? false : check->receive(message).counts);  // said twice
  }
  EXPECT_FALSE(check->finding());
}

// Who asks computes nothing and has samples and weights shown: of one draw, and no others.
TEST_F(SpotChecks, NobodyHasMoreShownThanOneDraw) {
  const Made honest = make("honest", digits_job({}));
  const auto trainer = run::SpotSide::open(side(honest, kTrainerSeed)).value();
  const auto check = check_of(honest, 20, 2);
  const auto refused = [&](const std::function<void(dispute::SpotQuestion&)>& change) {
    dispute::SpotQuestion q = dispute::decode_spot_question(check->question(), "test").value();
    change(q);
    return !trainer->answer(encode(q));
  };
  using dispute::SpotStage;
  EXPECT_TRUE(refused([](auto& q) { q.stage = SpotStage::kValues; }));
  for (int turn = 0; !check->done(); ++turn) {
    EXPECT_TRUE(refused([](auto& q) { ++q.turn; }));
    EXPECT_TRUE(refused([](auto& q) { q.history[0] ^= 1; }));
    EXPECT_TRUE(turn <= 0 || refused([](auto& q) { q.stage = SpotStage::kSteps; }));
    EXPECT_TRUE(turn <= 1 || refused([](auto& q) { q.stage = SpotStage::kValues; }));
    EXPECT_TRUE(turn <= 2 || refused([](auto& q) { q.at = q.at == 0 ? 1 : q.at - 1; }));
    EXPECT_TRUE(turn <= 2 || refused([](auto& q) { q.at = 20; })) << "more than were drawn";
    // What was drawn is listed once, so that no question is longer for the number of them.
    const auto asked = dispute::decode_spot_question(check->question(), "test").value();
    EXPECT_EQ(asked.places.size(), turn == 2 ? 20U : 0U);
    EXPECT_LT(check->question().size(), turn == 2 ? 500U : 120U);
    const Bytes question = check->question();
    const auto answer = trainer->answer(question);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_FALSE(trainer->answer(question)) << "asked twice";
    EXPECT_TRUE(check->receive(*answer).counts);
  }
  EXPECT_FALSE(check->finding());
}

TEST_F(SpotChecks, NobodyElseAnswers) {
  const Made honest = make("honest", digits_job({}));
  EXPECT_FALSE(run::SpotSide::open(side(honest, 77)));
  const auto trainer = run::SpotSide::open(side(honest, kTrainerSeed)).value();
  const auto check = check_of(honest, 3, 2);
  auto message = dispute::decode_message(trainer->answer(check->question()).value(), "test").value();
  const auto terms = run::open_front(side(honest, kTrainerSeed).open).value().front.engagement().terms;
  EXPECT_FALSE(check
                   ->receive(encode(dispute::sign_message(message.turn, message.history, message.body, terms,
                                                          run::testing::key(77))))
                   .counts);
  // The trainer's own, of another transcript than the one that the auditor has of the run.
  SpotCheck of_another(run::spot_known(side(honest, kTrainerSeed).open).value().subject, seed(1), 3, 2,
                       commit::Digest{7});
  EXPECT_FALSE(of_another.receive(encode(message)).counts);
  EXPECT_TRUE(check->receive(encode(message)).counts);
  // What nobody with this job asks.
  dispute::SpotQuestion q = dispute::decode_spot_question(check->question(), "test").value();
  q.step = 4;
  EXPECT_FALSE(trainer->answer(encode(q)));
  q.step = 2;
  q.stage = dispute::SpotStage::kElement;
  for (const dispute::SpotPlace& place : {dispute::SpotPlace{100000, 0}, {0, 0}, {30, -1}, {30, int64_t{1} << 40}}) {
    q.places = {place};
    EXPECT_FALSE(trainer->answer(encode(q)));
  }
}

}  // namespace
}  // namespace isobit::adversary
