// A false value planted in every node of a step, one at a time, of other networks than the smallest (dispute_test.cpp):
// each is found in its node, under every arithmetic.
#include <fstream>

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

}  // namespace
}  // namespace isobit::adversary
