// What the tests of disputes share: runs of one job, some of them dishonest, and the disputes between them.
#pragma once

#include <set>

#include "isobit/adversary/cheat.h"
#include "isobit/adversary/cheat_for_test.h"
#include "isobit/adversary/decorators.h"
#include "isobit/run/dispute_run.h"

namespace isobit::adversary::testing {

using dispute::Level;
using dispute::Outcome;
using dispute::Verdict;

// Other values in every output of one node, at step 2: all of them, so that something of it reaches the state.
template <class Float>
void replace_values(Tensor& out) {
  for (Float& x : out.span<Float>()) x = static_cast<float>(1 - x);
}

inline run::StepFunction planted_at(size_t node) {
  return with_outputs(
      2,
      [=](const graph::Graph&, size_t index, runtime::KernelCall& call) {
        for (Tensor& out : call.outputs) {
          if (index != node || !out.defined()) continue;
          if (out.dtype() == DType::kFloat32) {
            replace_values<float>(out);
          } else if (out.dtype() == DType::kFloat64) {
            replace_values<double>(out);
          } else {  // indices and truths, still in their range
            auto* bytes = static_cast<uint8_t*>(out.raw());
            for (size_t i = 0; i < out.bytes(); i += size_of(out.dtype()))
              bytes[i] = static_cast<uint8_t>(bytes[i] ^ 1);
          }
        }
      },
      run::take_step);
}

class DisputeTest : public ::testing::Test {
 protected:
  // A run of the job, and how it was computed.
  struct Made {
    fs::path path;
    std::optional<run::Conduct> conduct;
    train::Job job;  // says where its files lie
  };

  Made make(const std::string& name, const train::Job& job, const std::string& cheat = "", int64_t step = 0) {
    run::TrainRequest request = train_request(folder_ / name, job);
    if (!cheat.empty()) {
      const Status applied = apply_cheat(cheat, step, request);
      EXPECT_TRUE(applied) << applied.error().message;
    }
    const auto trained = run::train_run(request);
    EXPECT_TRUE(trained) << trained.error().message;
    return {request.out, cheat.empty() ? std::nullopt : std::optional(request.conduct), job};
  }

  static run::DisputeSide side(const Made& made, uint8_t key) {
    run::DisputeSide side;
    side.open.run = made.path;
    side.open.client = audit_request(made.path).client;
    side.open.job = made.job;
    side.platform = platform::parse_platform("ordered/1t").value();
    side.key = run::testing::key(key);
    side.conduct = made.conduct;
    return side;
  }

  // The trainer's runs are signed by the key that train_request has; the challenger has one of its own.
  run::DisputeResult settle(const Made& trainer, const Made& challenger) {
    run::DisputeRequest request{side(trainer, kTrainerSeed), side(challenger, 77), {}, {}};
    const auto result = run::dispute_runs(request);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : run::DisputeResult{};
  }

  Folder folder_{"disputes"};
  static constexpr uint8_t kTrainerSeed = 2;

  // Of what nodes a false value was found, at that node, and of which there is none to be found.
  struct Planted {
    size_t found = 0;
    std::set<std::string> unchanged;
  };
  Planted plant_in_every_node(const train::Job& job, const std::function<bool(size_t)>& chosen = nullptr) {
    const Made honest = make("honest", job);
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    const graph::Graph graph = run::open_session(job, engine).value().trainer->step_graph().graph;
    Planted planted;
    for (size_t node = 0; node < graph.nodes().size(); ++node) {
      if (chosen && !chosen(node)) continue;
      SCOPED_TRACE(text_of("node ", node, " ", graph.nodes()[node].op));
      run::TrainRequest request = train_request(folder_ / text_of("planted_", node), job);
      request.conduct.step = planted_at(node);
      const auto trained = run::train_run(request);
      EXPECT_TRUE(trained) << trained.error().message;
      const Made false_run{request.out, request.conduct, job};
      run::DisputeRequest both{side(false_run, kTrainerSeed), side(honest, 77), {}, {}};
      const auto result = run::dispute_runs(both);
      fs::remove_all(request.out);
      if (!result) {  // nothing was changed: a view, or a value that nobody reads
        EXPECT_NE(result.error().message.find("nothing to dispute"), std::string::npos) << result.error().message;
        planted.unchanged.insert(graph.nodes()[node].op);
        continue;
      }
      EXPECT_EQ(result->verdict.outcome, Outcome::kTrainerWrong) << result->verdict.reason;
      EXPECT_EQ(result->verdict.step, uint64_t{2});
      EXPECT_EQ(result->verdict.node, uint64_t{node}) << result->verdict.reason;
      EXPECT_EQ(result->verdict.op, graph.nodes()[node].op);
      EXPECT_TRUE(result->verdict.element) << result->verdict.reason;
      EXPECT_LT(result->counts.bytes - result->counts.list_bytes, uint64_t{1} << 20);
      ++planted.found;
    }
    fs::remove_all(honest.path);
    return planted;
  }
};

inline train::Job digits_job(const std::vector<std::string>& overrides) {
  constexpr char kJob[] =
      "[job]\nname = \"digits\"\nseed = 3\nsteps = 3\n[model]\nbuilder = \"digits-cnn\"\n[data]\ndataset = \"digits\"\n"
      "batch = 8\n[optimizer]\nlr = 0.05\nmomentum = 0.9\n[evaluate]\nsamples = 8\n";
  return train::parse_job(kJob, "digits", "", overrides).value();
}

}  // namespace isobit::adversary::testing
