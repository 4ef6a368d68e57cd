// Disputes about runs that keep a rounding log: an entry that no sum allows convicts the trainer, at its step, operator
// and element; what a log merely lacks convicts nobody.
#include "isobit/adversary/dispute_log_for_test.h"

namespace isobit::adversary {
namespace {

using namespace testing;

class LogDisputes : public LogDisputeTest {};

TEST_F(LogDisputes, AnIllegalEntryConvictsAtItsElement) {
  for (const std::vector<std::string>& set :
       std::vector<std::vector<std::string>>{{"commit.every=5"}, {"rounding.bits=27"}}) {
    const train::Job job = logged_job(set);
    const std::string& name = set[0];
    const Made honest = make("honest_" + name, job), moved = make("moved_" + name, job, "log-move", kAt);
    SCOPED_TRACE(name);
    expect_at(settle(moved, honest).verdict, Level::kElement);
    // Who claims such a value against an honest trainer is wrong by it, there.
    const Verdict turned = settle(honest, moved).verdict;
    EXPECT_EQ(turned.outcome, Outcome::kChallengerWrong) << turned.reason;
    EXPECT_EQ(turned.step, static_cast<uint64_t>(kAt));
    EXPECT_TRUE(is_product(turned.op)) << turned.op;
  }
}

// Its values are honest ones: only the logs differ, and the challenger names an entry that may not stand.
TEST_F(LogDisputes, TheLogOfAnotherRunConvictsAtAnEntry) {
  for (const char* set : {"commit.every=1", "commit.every=5"}) {
    const train::Job job = near_tie_job({set});
    const Made honest = make(text_of("honest_", set), job);
    const Made foreign = make(text_of("foreign_", set), job, "log-foreign", kAt);
    const Verdict verdict = settle(foreign, honest).verdict;
    expect_at(verdict, Level::kLog);
    EXPECT_NE(verdict.reason.find("no sum of its terms allows"), std::string::npos) << verdict.reason;
    // Who has no dishonest trainer before it, and names a log of its own, has nothing to name.
    const auto turned = dispute(honest, foreign);
    ASSERT_FALSE(turned);
    EXPECT_NE(turned.error().message.find("every entry of the log may stand"), std::string::npos)
        << turned.error().message;
  }
}

// Its entry says one value, and the step goes on with another.
TEST_F(LogDisputes, AValueThatItsOwnEntryContradictsConvicts) {
  const train::Job job = near_tie_job();
  const Made honest = make("honest", job);
  const Made contradicts = forged("contradicts", job, [](runtime::KernelCall&, std::vector<log::SparseEntry>& entries) {
    using Kind = log::SparseEntry::Kind;
    const auto found = std::ranges::find_if(entries, [](const auto& e) { return e.kind != Kind::kValue; });
    if (found == entries.end()) return false;
    found->kind = found->kind == Kind::kOdd ? Kind::kEven : Kind::kOdd;
    return true;
  });
  const Verdict v = settle(contradicts, honest).verdict;
  EXPECT_EQ(v.outcome, Outcome::kTrainerWrong) << v.reason;
  EXPECT_EQ(v.step, static_cast<uint64_t>(kAt));
  EXPECT_TRUE(is_product(v.op)) << v.op;
}

// A legal move, against somebody who did not follow the log: nobody is wrong. Who follows it has nothing to dispute.
TEST_F(LogDisputes, ALegalEntryDecidesAndConvictsNobody) {
  const train::Job job = near_tie_job();
  Made honest = make("honest", job);
  const Made nudged = make("nudged", job, "log-nudge", kAt);
  const auto followed = dispute(nudged, honest);
  ASSERT_FALSE(followed);
  EXPECT_NE(followed.error().message.find("what its own log leads to, as far as it goes: there is nothing to dispute"),
            std::string::npos)
      << followed.error().message;
  honest.conduct = run::Conduct();  // computes, and looks at no log
  const Verdict v = settle(nudged, honest).verdict;
  EXPECT_EQ(v.outcome, Outcome::kNobodyWrong) << v.reason;
  EXPECT_EQ(v.finding, "");
  ASSERT_TRUE(v.element);
  EXPECT_EQ(v.element->right, v.element->trainer);
}

TEST_F(LogDisputes, AMoveBeyondTheJobsBoundIsAFinding) {
  const train::Job job = near_tie_job({"rounding.divergence=16"});
  Made honest = make("honest", job);
  honest.conduct = run::Conduct();
  const Verdict v = settle(make("beyond", job, "log-beyond", kAt), honest).verdict;
  EXPECT_EQ(v.outcome, Outcome::kNobodyWrong) << v.reason;
  EXPECT_EQ(v.finding, "beyond_bound");
}

TEST_F(LogDisputes, DecisionsOfThePublishedLogAreNotDisputed) {
  const train::Job job = logged_job({"rounding.log=ovt"});
  const Made honest = make("honest", job);
  const auto result = dispute(make("false", job, "rate", kAt), honest);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("rounding.log"), std::string::npos) << result.error().message;
}

}  // namespace
}  // namespace isobit::adversary
