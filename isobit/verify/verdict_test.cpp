#include "isobit/verify/verdict.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "isobit/base/frame.h"
#include "isobit/verify/testing.h"

namespace isobit::verify {
namespace {

using testing::digest_of;
using testing::key_of;

const EngagedNames kEngaged{digest_of("job"), {1, 2, 3}};
const FinishedNames kFinished{digest_of("transcript"), digest_of("state"), {14, digest_of("head")}};

Verdict accepted() {
  AuditVerdict audit;
  audit.outcome = Outcome::kAccepted;
  audit.complete = true;
  audit.steps_checked = 12;
  audit.reason = "accepted: all 12 steps agree";
  return make_verdict(key_of(1).public_key(), kEngaged, kFinished, audit, "ordered@portable/1t");
}

Verdict rejected_at_a_step() {
  AuditVerdict audit = rejected_verdict(Part::kState, "the state differs");
  audit.first_difference = FirstDifference{7, 6, 7, Part::kState, "aa", "bb", "Conv"};
  audit.steps_checked = 7;
  return make_verdict(key_of(1).public_key(), kEngaged, kFinished, audit, "ordered/1t");
}

// Of a sample of a logged run.
Verdict accepted_with_findings() {
  Verdict v = accepted();
  v.audit.complete = false;
  v.findings = {{FindingKind::kMissing, "Conv", 3, 0},
                {FindingKind::kBeyondBound, "Gemm", 10000, 0},
                {FindingKind::kCorrections, "", 70, 41}};
  v.sample = {Bytes(32, 9), 60, 5};
  return v;
}

Verdict rejected_at_once() {
  return make_verdict(key_of(1).public_key(), {}, {}, rejected_verdict(Part::kStructure, "no such client"), "ordered");
}

TEST(VerdictDocument, RoundTripsSignedAndUnsigned) {
  for (Verdict v : {accepted(), accepted_with_findings(), rejected_at_a_step(), rejected_at_once()}) {
    for (bool is_signed : {false, true}) {
      if (is_signed) sign(v, key_of(5));
      const Bytes bytes = encode(v);
      EXPECT_TRUE(has_tag(bytes, kVerdictTag));
      const auto back = decode_verdict(bytes, "verdict");
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, v);
      EXPECT_EQ(encode(*back), bytes);
      EXPECT_TRUE(verify_verdict(*back));
      EXPECT_EQ(back->signature.has_value(), is_signed);
    }
  }
  EXPECT_FALSE(has_tag(as_bytes("isobit.verdict"), kVerdictTag));
}

TEST(VerdictDocument, LayoutIsTheDocumentedOne) {
  Verdict v = accepted();
  sign(v, key_of(5));
  const Bytes bytes = encode(v);
  const size_t names = 32 + 1 + 48 + 1 + 32 + 32 + 8 + 32;
  ASSERT_EQ(bytes.size(), 8u + 14 + 4 + names + 1 + 1 + 8 + 1 + 8 + 28 + 8 + 19 + 8 + 1 + 1 + 32 + 64);
  const Verdict more = accepted_with_findings();
  const size_t findings = 3 * (1 + 8 + 8 + 8) + 4 + 4, sample = 8 + 32 + 8 + 8;
  EXPECT_EQ(encode(more).size(), bytes.size() - 96 + findings + sample);
  EXPECT_EQ(std::string(bytes.begin() + 8, bytes.begin() + 22), "isobit.verdict");
  EXPECT_EQ(bytes[26 + names], 0);  // accepted
  EXPECT_EQ(commit::hex_of(commit::sha256(bytes)), "f476f8c231246d27b242122972f910c084ce25c18ec0884ae42d6b2ce6fdebcc");
}

TEST(VerdictDocument, EveryFlippedBitOfASignedOneIsNoticed) {
  for (Verdict v : {accepted(), accepted_with_findings(), rejected_at_a_step()}) {
    sign(v, key_of(5));
    const Bytes good = encode(v);
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      const auto decoded = decode_verdict(bad, "verdict");
      ASSERT_FALSE(decoded && decoded->signature && verify_verdict(*decoded)) << "bit " << bit;
    }
    for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(decode_verdict(ByteView(good).first(n), "v"));
  }
}

TEST(VerdictDocument, AnAcceptanceNamesItsRun) {
  Verdict v = accepted();
  v.finished.reset();
  EXPECT_FALSE(decode_verdict(encode(v), "v"));
  v = accepted();
  v.engaged.reset();
  EXPECT_FALSE(decode_verdict(encode(v), "v"));
  v = rejected_at_a_step();
  v.audit.outcome = Outcome::kAccepted;
  EXPECT_FALSE(decode_verdict(encode(v), "v"));
}

// Version 1 had no findings: its bytes are no verdict of this version, and this version's are none of that.
TEST(VerdictDocument, OtherVersionsAreRefused) {
  const Bytes good = encode(accepted());
  for (const uint8_t version : {0, 1, 3}) {
    Bytes other = good;
    ASSERT_EQ(other[22], 2);  // after the tag of 14 characters
    other[22] = version;
    EXPECT_FALSE(decode_verdict(other, "v")) << int{version};
  }
}

TEST(VerdictDocument, AcceptsTheRunItNamesAndNoOther) {
  EXPECT_TRUE(check_accepts(accepted(), kEngaged, kFinished));
  EXPECT_TRUE(check_accepts(accepted_with_findings(), kEngaged, kFinished));
  EXPECT_FALSE(check_accepts(rejected_at_a_step(), kEngaged, kFinished));
  EXPECT_FALSE(check_accepts(rejected_at_once(), kEngaged, kFinished));
  Verdict inconclusive = rejected_at_a_step();
  inconclusive.audit.outcome = Outcome::kInconclusive;
  EXPECT_FALSE(check_accepts(inconclusive, kEngaged, kFinished));
  for (const auto& change : std::vector<std::function<void(EngagedNames&, FinishedNames&)>>{
           [](auto& e, auto&) { e.job_root[0] ^= 1; }, [](auto& e, auto&) { e.run_id[0] ^= 1; },
           [](auto&, auto& f) { f.transcript_root[0] ^= 1; }, [](auto&, auto& f) { f.final_state_root[0] ^= 1; },
           [](auto&, auto& f) { f.last_head.root[0] ^= 1; }, [](auto&, auto& f) { ++f.last_head.size; }}) {
    EngagedNames engaged = kEngaged;
    FinishedNames finished = kFinished;
    change(engaged, finished);
    EXPECT_FALSE(check_accepts(accepted(), engaged, finished));
  }
}

TEST(VerdictDocument, ThoseThatSayOtherThingsAreOtherDocuments) {
  const Verdict v = accepted_with_findings();
  for (const auto& change : std::vector<std::function<void(Verdict&)>>{
           [](Verdict& w) { w.findings.clear(); }, [](Verdict& w) { w.findings[1].count = 1; },
           [](Verdict& w) { w.sample->seed[0] ^= 1; }, [](Verdict& w) { w.sample->drawn = 6; }}) {
    Verdict w = v;
    sign(w, key_of(5));
    change(w);
    EXPECT_FALSE(w == v);
    EXPECT_FALSE(verify_verdict(w)) << "the signature speaks for them";
  }
}

TEST(VerdictDocument, FindingsAndSamplesThatCannotBeAreRefused) {
  for (const auto& change : std::vector<std::function<void(Verdict&)>>{
           [](Verdict& w) { w.findings[0].count = 0; },
           [](Verdict& w) { w.findings[0].kind = static_cast<FindingKind>(4); },
           [](Verdict& w) { w.findings.resize(kMaxVerdictFindings + 1, w.findings[0]); },
           [](Verdict& w) { w.sample->seed.resize(kMinSeedBytes - 1); },
           [](Verdict& w) { w.sample->seed.resize(kMaxSeedBytes + 1); },
           [](Verdict& w) { w.sample->drawn = w.sample->intervals; },
           [](Verdict& w) { w.finished.reset(), w.audit.outcome = Outcome::kInconclusive; }}) {
    Verdict w = accepted_with_findings();
    ASSERT_TRUE(decode_verdict(encode(w), "v"));
    change(w);
    EXPECT_FALSE(decode_verdict(encode(w), "v"));
  }
}

TEST(VerdictDocument, LongTextsLoseTheirEnd) {
  AuditVerdict audit = rejected_verdict(Part::kJob, std::string(kMaxVerdictText - 1, 'x') + "\xc3\xa4 and more");
  const Verdict v = make_verdict(key_of(1).public_key(), {}, {}, audit, "ordered");
  EXPECT_EQ(v.audit.reason, std::string(kMaxVerdictText - 1, 'x')) << "not half a character";
  EXPECT_TRUE(decode_verdict(encode(v), "v"));
  Verdict longer = v;
  longer.audit.reason += "xx";
  EXPECT_FALSE(decode_verdict(encode(longer), "v"));
}

}  // namespace
}  // namespace isobit::verify
