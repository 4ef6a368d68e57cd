// Rounding logs that are damaged though the trainer has signed them: leaf, heads and manifest agree with the damage.
#include <cstring>

#include "isobit/adversary/cheat_for_test.h"
#include "isobit/base/whole_for_test.h"
#include "isobit/log/compression_internal.h"
#include "isobit/log/payload_internal.h"

namespace isobit::adversary {
namespace {

using namespace testing;

// A trainer who commits to whatever `damage` makes of the segment: leaf, heads and manifest agree with it.
class SignedDamage : public CheatTest {
 protected:
  void rejected(const std::string& what, const std::function<void(Bytes&)>& damage, const char* log = "sparse") {
    rejected_of(text_of(log, ": ", what), logged_job({text_of("rounding.log=", log)}), damage);
  }
  void rejected_of(const std::string& what, const train::Job& job, const std::function<void(Bytes&)>& damage) {
    run::TrainRequest r = request(job);
    const auto change = [&](uint64_t step, Bytes& segment) -> Status {
      if (step == kAt) damage(segment);
      return {};
    };
    falsify_log(r, {.forge = {}, .change = change});
    const run::AuditSummary s = audit_of(r);
    expect_rejected(s, verify::Part::kLog, what);
    EXPECT_NE(s.verdict.reason.find("step 3"), std::string::npos) << what << ": " << s.verdict.reason;
  }
  // The step's own log, changed and written again as a segment in order.
  void rejected_log(const std::string& what, const std::function<void(log::SparseLog&)>& damage) {
    run::TrainRequest r = request(near_tie_job());
    const auto schema = schema_of(r.job);
    rejected_of(what, r.job, [&](Bytes& segment) {
      auto decoded = log::decode_segment(segment, static_cast<uint64_t>(kAt), log::Kind::kSparse, schema, "test");
      ASSERT_TRUE(decoded) << decoded.error().message;
      damage(std::get<log::SparseLog>(decoded->log));
      segment = log::internal::encode_stored(*decoded);
    });
  }
  static std::vector<log::LoggedOutput> schema_of(const train::Job& job) {
    platform::Engine engine(platform::parse_platform("ordered/1t").value());
    const run::Session session = run::open_session(job, engine).value();
    return runtime::logged_outputs(session.trainer->step_graph().graph, log::Kind::kSparse);
  }
};

TEST_F(SignedDamage, CutShortOrLonger) {
  for (size_t kept : {0, 25, 40, 41})
    rejected_of(text_of(kept, " bytes"), near_tie_job(), [=](Bytes& s) { s.resize(kept); });
  for (const char* log : {"sparse", "ovt"}) {
    rejected(
        "40 bytes", [](Bytes& s) { s.resize(40); }, log);
    rejected(
        "without its last byte", [](Bytes& s) { s.pop_back(); }, log);
    rejected(
        "with a byte more", [](Bytes& s) { s.push_back(0); }, log);
  }
}

TEST_F(SignedDamage, AnyFieldOfTheHeader) {
  for (size_t at = 0; at < 40; ++at) {
    if (at % 3 != 0 && !whole_test()) continue;
    rejected(text_of("byte ", at), [=](Bytes& s) { s[at] ^= 1; });
    if (at >= 26)
      rejected(
          text_of("byte ", at), [=](Bytes& s) { s[at] ^= 1; }, "ovt");
  }
}

TEST_F(SignedDamage, AStepsLogUnderAnotherStepsName) {
  Bytes before;
  run::TrainRequest r = request(near_tie_job());
  const auto change = [&](uint64_t step, Bytes& segment) -> Status {
    if (step == kAt) {
      const Bytes own = segment;
      segment = before;
      std::memcpy(segment.data() + 31, own.data() + 31, 8);  // the step
    }
    before = segment;
    return {};
  };
  falsify_log(r, {.forge = {}, .change = change});
  expect_rejected(audit_of(r), verify::Part::kLog, "relabelled");
}

TEST_F(SignedDamage, EntriesOutOfOrderOrRange) {
  rejected_log("node beyond the graph", [](log::SparseLog& log) { log.nodes.back().node += 100000; });
  rejected_log("node that takes none", [](log::SparseLog& log) { log.nodes.front().node = 0; });
  rejected_log("position beyond the output",
               [](log::SparseLog& log) { log.nodes.front().entries.back().position = uint64_t{1} << 40; });
  rejected_log("nodes of another order", [](log::SparseLog& log) {
    ASSERT_GE(log.nodes.size(), 2u);
    std::swap(log.nodes.front().entries, log.nodes.back().entries);
  });
}

// What is missing is evaluated: it costs the auditor time, and whoever trained honestly is believed.
TEST_F(SignedDamage, NoEntriesAtAllAreFoundMissing) {
  run::TrainRequest r = request(near_tie_job());
  const auto schema = schema_of(r.job);
  const auto change = [&](uint64_t step, Bytes& segment) -> Status {
    if (step != static_cast<uint64_t>(kAt)) return {};
    auto decoded = log::decode_segment(segment, step, log::Kind::kSparse, schema, "test");
    EXPECT_TRUE(decoded) << decoded.error().message;
    EXPECT_FALSE(std::get<log::SparseLog>(decoded->log).nodes.empty());
    decoded->log = log::SparseLog{};
    segment = log::internal::encode_stored(*decoded);
    return {};
  };
  falsify_log(r, {.forge = {}, .change = change});
  const run::AuditSummary s = audit_of(r);
  if (s.verdict.accepted()) {
    EXPECT_GT(total(s.log_counts).missing, 0u);
  } else {  // where the trainer's own result was on the other side than the exact value
    EXPECT_NE(s.verdict.reason.find("calls no value illegal"), std::string::npos) << s.verdict.reason;
  }
}

TEST_F(SignedDamage, AFrameThatUnpacksToFarMoreThanThereIsRoomFor) {
  rejected("zstd bomb", [](Bytes& s) {
    Bytes zeros(size_t{64} << 20, 0);
    const Bytes frame = log::internal::zstd_compressed(zeros);
    s.resize(39);
    s.push_back(1);
    s.insert(s.end(), frame.begin(), frame.end());
  });
}

}  // namespace
}  // namespace isobit::adversary
