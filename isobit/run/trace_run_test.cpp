// Traces of steps of runs: the same on every platform, the states of the run at both ends, and values shown alone.
#include "isobit/run/trace_run.h"

#include <gtest/gtest.h>

#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::Folder;
using testing::small_job;
using testing::train_request;
using Kind = train::TraceEntry::Kind;

Expected<TracedStep> traced(const fs::path& run, uint64_t step, const std::string& platform = "ordered/1t",
                            const std::string& value = "") {
  TraceRequest request;
  request.open.run = run;
  request.platform = platform::parse_platform(platform).value();
  request.step = step;
  request.choose = [&](const std::vector<train::TraceEntry>& schema) -> Expected<std::optional<uint64_t>> {
    for (size_t i = 0; i < schema.size(); ++i) {
      if (schema[i].name == value) return std::optional<uint64_t>(i);
    }
    return std::optional<uint64_t>();
  };
  return trace_step(request);
}

// The pieces of state in a trace: before the step, or what replaces them.
commit::Digest state_in(const verify::StepTrace& trace, uint64_t step, bool after) {
  std::map<std::string, commit::Digest> pieces;
  for (size_t i = 0; i < trace.schema().size(); ++i) {
    const train::TraceEntry& e = trace.schema()[i];
    const bool is_state = e.kind == Kind::kState;
    if (is_state || (after && e.kind == Kind::kOutput && pieces.contains(e.name))) {
      pieces[e.name] = trace.roots()[i].digest();
    }
  }
  std::vector<commit::StateEntry> entries;
  for (const auto& [name, root] : pieces) entries.push_back({name, root});
  return commit::state_root(entries, step).value().digest();
}

class TraceRun : public ::testing::Test {
 protected:
  fs::path trained(const std::string& name, const std::vector<std::string>& overrides,
                   const std::string& platform = "ordered/1t") {
    const auto done = train_run(train_request(folder_ / name, small_job(overrides), platform));
    EXPECT_TRUE(done) << done.error().message;
    return folder_ / name;
  }
  const Folder folder_{"trace"};
};

TEST_F(TraceRun, HasTheStatesOfTheRunAtItsEnds) {
  for (const char* arithmetic : {"ordered-1", "correct-1", "logged-1"}) {
    SCOPED_TRACE(arithmetic);
    const fs::path run = trained(arithmetic, {text_of("job.arithmetic=", arithmetic)});
    const auto third = traced(run, 3), fourth = traced(run, 4);
    ASSERT_TRUE(third) << third.error().message;
    ASSERT_TRUE(fourth) << fourth.error().message;
    EXPECT_TRUE(third->settled);
    EXPECT_EQ(state_in(third->trace, 3, true), state_in(fourth->trace, 3, false));
    const bundle::BundleReader reader = open_run({.run = run, .client = {}, .overrides = {}}).value().reader;
    // A float64 state is committed as what it is rounded to.
    if (third->trace.schema()[0].dtype == DType::kFloat32) {
      EXPECT_EQ(state_in(third->trace, 3, true), reader.transcript().committed_state(3));
      EXPECT_EQ(state_in(third->trace, 2, false), reader.transcript().committed_state(2));
    }
    EXPECT_NE(third->trace.root().digest(), fourth->trace.root().digest());
  }
}

TEST_F(TraceRun, IsTheSameOnEveryPlatform) {
  const fs::path run = trained("platforms", {});
  const commit::Digest root = traced(run, 5)->trace.root().digest();
  for (const char* platform : {"ordered@reference/1t", "ordered@portable/3t", "ordered/2t"}) {
    EXPECT_EQ(traced(run, 5, platform)->trace.root().digest(), root) << platform;
  }
  EXPECT_EQ(traced(run, 9)->from, 8u) << "the nearest checkpoint";
}

TEST_F(TraceRun, FrozenParametersAreNoPartOfIt) {
  const fs::path run = trained("frozen", {"model.freeze=[\"conv0*\"]"});
  const auto step = traced(run, 2);
  ASSERT_TRUE(step) << step.error().message;
  EXPECT_EQ(state_in(step->trace, 2, true),
            open_run({.run = run, .client = {}, .overrides = {}})->reader.transcript().committed_state(2));
}

TEST_F(TraceRun, OneTileOfAValueIsShown) {
  const fs::path run = trained("shown", {});
  const auto step = traced(run, 2, "ordered/1t", "fc.weight");
  ASSERT_TRUE(step) << step.error().message;
  ASSERT_TRUE(step->chosen.has_value());
  ThreadPool pool(1);
  const verify::ValueOpening opening = open_value(*step, {0}, pool);
  const Bytes bytes = encode(opening);
  const auto decoded = verify::decode_value_opening(bytes, "opening");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, opening);
  const auto roots = decoded->roots();
  ASSERT_TRUE(roots) << roots.error().message;
  EXPECT_EQ(roots->trace, step->trace.root().digest());
  EXPECT_EQ(roots->schema, step->schema);
  const ByteView shown = verify::elements_of(opening.opened[0]);
  EXPECT_EQ(std::memcmp(shown.data(), step->value.raw(), 4), 0) << "the first element";
  // No byte can be another one and lead to the same two roots.
  for (size_t at = 0; at < bytes.size(); ++at) {
    Bytes other = bytes;
    other[at] ^= 1 + static_cast<uint8_t>(at % 255);
    const auto changed = verify::decode_value_opening(other, "opening");
    const auto found =
        changed ? changed->roots() : Expected<verify::ValueOpening::Roots>(tl::unexpected(changed.error()));
    EXPECT_FALSE(found && found->trace == roots->trace && found->schema == roots->schema) << at;
  }
}

TEST_F(TraceRun, WhatIsNotOfTheRunIsRefused) {
  const fs::path run = trained("refused", {});
  EXPECT_EQ(traced(run, 0).error().code, ErrorCode::kUsage);
  EXPECT_EQ(traced(run, 13).error().code, ErrorCode::kUsage);
}

// What a run claims that no step makes is not shown.
TEST_F(TraceRun, AWrongStepHasNoTrace) {
  const fs::path run = folder_ / "wrong";
  TrainRequest request = train_request(run, small_job());
  request.conduct.step = [](train::Trainer& trainer, runtime::RunOptions options) -> Expected<train::StepResult> {
    ISOBIT_TRY(train::StepInputs inputs, trainer.inputs());
    if (trainer.step() == 5) inputs.lr *= 2;
    return trainer.advance(std::move(inputs), options);
  };
  ASSERT_TRUE(train_run(request));
  EXPECT_TRUE(traced(run, 5)) << "before the wrong step";
  const auto wrong = traced(run, 6);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kRejected);
  EXPECT_NE(wrong.error().message.find("step 6: this machine computes another state"), std::string::npos)
      << wrong.error().message;
}

}  // namespace
}  // namespace isobit::run
