// A false value planted in every node of a step, one at a time, of other networks than the smallest (dispute_test.cpp):
// each is found in its node, under every arithmetic.
#include <fstream>
#include <random>

#include "isobit/adversary/dispute_for_test.h"
#include "isobit/run/onnx_for_test.h"

namespace isobit::adversary {
namespace {

using namespace testing;

class DisputedNetworks : public DisputeTest {
 protected:
  void expect_each_found(const train::Job& job, size_t at_least, const std::set<std::string>& unchanged) {
    const Planted planted = plant_in_every_node(job);
    EXPECT_GE(planted.found, at_least);
    EXPECT_EQ(planted.unchanged, unchanged);
  }
};

constexpr std::array<const char*, 3> kArithmetics = {"ordered-1", "correct-1", "logged-1"};

TEST_F(DisputedNetworks, Residual) {
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const train::Job job = small_job({"job.arithmetic=" + arithmetic, "job.steps=3", "evaluate.samples=8"});
    expect_each_found(job, 100, {"Flatten", "Reshape"});
  }
}

TEST_F(DisputedNetworks, Gpt) {
  const fs::path text = folder_ / "text";
  std::ofstream(text) << std::string(4000, 'a') << "the quick brown fox jumps over the lazy dog";
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const train::Job job =
        train::parse_job(
            text_of("[job]\nname = \"gpt\"\nseed = 3\nsteps = 3\n[model]\nbuilder = \"gpt\"\nlayers = 1\nheads = 2\n",
                    "channels = 16\ndropout = 0.1\n[data]\ndataset = \"text\"\ncontext = 8\nbatch = 4\npath = \"",
                    text.string(),
                    "\"\n[optimizer]\nname = \"adamw\"\nlr = 0.01\nclip_norm = 0.5\n[evaluate]\nsamples = 4\n"),
            "gpt", "", {"job.arithmetic=" + arithmetic})
            .value();
    expect_each_found(job, 80, {"Reshape"});
  }
}

TEST_F(DisputedNetworks, ImportedAndPartlyFrozen) {
  run::testing::write_model(folder_ / "m.onnx", run::testing::small_mlp());
  for (const std::string arithmetic : kArithmetics) {
    SCOPED_TRACE(arithmetic);
    const train::Job job =
        train::parse_job(
            text_of("[job]\nname = \"mlp\"\nseed = 3\nsteps = 3\n[model]\nonnx = \"", (folder_ / "m.onnx").string(),
                    "\"\nfreeze = [\"a.bias\"]\n[data]\ndataset = \"digits\"\nbatch = 8\n[optimizer]\n",
                    "lr = 0.05\n[evaluate]\nsamples = 8\n"),
            "mlp", "", {"job.arithmetic=" + arithmetic})
            .value();
    expect_each_found(job, 13, {"Flatten"});
  }
}

// Whoever cheats is found wrong, trainer or challenger, at the step, and whoever does not never is.
TEST_F(DisputedNetworks, EveryKindOfCheatUnderEveryArithmeticBothWays) {
  std::mt19937 random(40);
  std::map<std::string, std::map<std::string, int>> totals;  // by who cheats
  for (const std::string arithmetic : kArithmetics) {
    // Near-ties in every step, for what is false in a log.
    std::vector<std::string> set = {"job.arithmetic=" + arithmetic, "job.steps=6", "data.batch=24"};
    if (arithmetic == "logged-1") set.emplace_back("rounding.divergence=65536");
    const train::Job job = digits_job(set);
    const Made honest = make("honest_" + arithmetic, job);
    for (const Cheat& cheat : cheats()) {
      const bool of_log = cheat.name == "log-move" || cheat.name == "log-foreign";
      if (cheat.of_a_log() && !(of_log && arithmetic == "logged-1")) continue;
      const bool at_the_end = cheat.name == "overwrite", of_evaluation = cheat.name == "inflate";
      const int64_t at = at_the_end ? 6 : 2 + static_cast<int64_t>(random() % 5);
      SCOPED_TRACE(text_of(arithmetic, " ", cheat.name, "@", at));
      const Made false_run = make(text_of(arithmetic, "_", cheat.name), job, cheat.name, at);
      const Verdict v = settle(false_run, honest).verdict;
      EXPECT_EQ(v.outcome, Outcome::kTrainerWrong) << v.reason;
      const uint64_t step = cheat.name == "prefix" ? 1 : static_cast<uint64_t>(at);
      EXPECT_EQ(v.sample.has_value(), of_evaluation) << v.reason;
      if (v.level != Level::kRun && !of_evaluation) {
        EXPECT_EQ(v.step, step) << v.reason;
      }
      EXPECT_EQ(v.level == Level::kRun, at_the_end || cheat.name == "initial") << v.reason;
      ++totals["trainer"][name_of(v.level)];
      // Whose log differs in nothing that may not stand has nothing to accuse: that is seen as it answers.
      if (cheat.name == "log-foreign") continue;
      const Verdict turned = settle(honest, false_run).verdict;
      EXPECT_EQ(turned.outcome, Outcome::kChallengerWrong) << turned.reason;
      ++totals["challenger"][name_of(turned.level)];
      fs::remove_all(false_run.path);
    }
  }
  for (const auto& [who, levels] : totals) {
    std::string text = who + " cheats, found by: ";
    for (const auto& [level, n] : levels) text += text_of(level, " ", n, "; ");
    std::printf("%s\n", text.c_str());
  }
}

}  // namespace
}  // namespace isobit::adversary
