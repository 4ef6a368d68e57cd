#include <gtest/gtest.h>

#include "isobit/bundle/layout.h"
#include "isobit/bundle/manifest.h"
#include "isobit/bundle/record_file.h"
#include "isobit/verify/testing.h"

namespace isobit::bundle {
namespace {

using verify::testing::digest_of;
using verify::testing::fake_transcript;
using verify::testing::key_of;

const verify::TranscriptRules kRules{7, 3, DType::kFloat32, false};

TEST(Layout, CheckpointNamesAreUnique) {
  EXPECT_EQ(checkpoint_name(120), "step-120.safetensors");
  EXPECT_EQ(checkpoint_step("step-120.safetensors"), 120u);
  EXPECT_EQ(checkpoint_step("step-0.safetensors"), 0u);
  EXPECT_EQ(checkpoint_step("step-18446744073709551615.safetensors"), UINT64_MAX);
  for (const char* bad : {"step-01.safetensors", "step-.safetensors", "step--1.safetensors", "step-+1.safetensors",
                          "step-18446744073709551616.safetensors", "step-1.safetensors.tmp", "Step-1.safetensors",
                          "step-1x.safetensors", "", "step-1"}) {
    EXPECT_FALSE(checkpoint_step(bad)) << bad;
  }
  EXPECT_TRUE(is_bundle_file("heads"));
  EXPECT_TRUE(is_bundle_file("checkpoints/step-3.safetensors"));
  EXPECT_FALSE(is_bundle_file("checkpoints"));
  EXPECT_FALSE(is_bundle_file("checkpoints/../job.toml"));
  EXPECT_FALSE(is_bundle_file("manifest.json"));
}

RecordCursor gone_through(ByteView data, size_t max_size) {
  RecordCursor records(data, max_size);
  while (records.next()) {
  }
  return records;
}

TEST(Records, StopAtTheFirstBadOne) {
  Bytes data;
  for (const char* text : {"one", "", "three"}) {
    const Bytes record = encode_record(as_bytes(text));
    data.insert(data.end(), record.begin(), record.end());
  }
  const auto whole = gone_through(data, 100);
  ASSERT_EQ(whole.count(), 3u);
  EXPECT_EQ(whole.good_bytes(), data.size());
  EXPECT_TRUE(whole.torn().empty());
  const size_t ends[] = {0, 15, 27, 44};
  for (size_t n = 0; n < data.size(); ++n) {
    const auto cut = gone_through(ByteView(data).first(n), 100);
    const size_t expected = n < 15 ? 0 : n < 27 ? 1 : 2;
    EXPECT_EQ(cut.count(), expected);
    EXPECT_EQ(cut.good_bytes(), ends[expected]);
    EXPECT_EQ(cut.torn().empty(), n == ends[expected]);
  }
  for (size_t bit = 0; bit < data.size() * 8; ++bit) {
    Bytes bad = data;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    const auto records = gone_through(bad, 100);
    EXPECT_EQ(records.count(), bit / 8 < 15 ? 0u : bit / 8 < 27 ? 1u : 2u);
    EXPECT_FALSE(records.torn().empty());
  }
  EXPECT_EQ(gone_through(data, 4).count(), 2u) << "the limit holds";
}

TEST(TranscriptFile, RoundTrips) {
  const Bytes bytes = encode_transcript_file(fake_transcript(kRules));
  const auto file = decode_transcript_file(bytes, "transcript");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->transcript.transcript_root(), fake_transcript(kRules).transcript_root());
  EXPECT_EQ(file->good_bytes, bytes.size());
  EXPECT_TRUE(file->torn.empty());
  EXPECT_EQ(encode_transcript_file(file->transcript), bytes);
}

TEST(TranscriptFile, HeaderIsChecked) {
  const Bytes good = encode_transcript_file(fake_transcript(kRules));
  const size_t header = transcript_header(kRules).size();
  for (size_t bit = 0; bit < header * 8; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(decode_transcript_file(bad, "transcript")) << bit;
  }
  for (size_t n = 0; n < header; ++n) EXPECT_FALSE(decode_transcript_file(ByteView(good).first(n), "transcript"));
  Bytes newer = good;
  newer[30] = 3;
  EXPECT_NE(decode_transcript_file(newer, "t").error().message.find("newer version: found 3"), std::string::npos);
}

TEST(TranscriptFile, HugeRulesAllocateNothing) {
  verify::TranscriptRules rules = kRules;
  rules.steps = verify::kMaxSteps;
  EXPECT_TRUE(decode_transcript_file(transcript_header(rules), "transcript"));
  rules.steps = verify::kMaxSteps + 1;
  EXPECT_EQ(decode_transcript_file(transcript_header(rules), "transcript").error().code, ErrorCode::kUnreadable);
  rules.steps = UINT64_MAX;
  EXPECT_FALSE(decode_transcript_file(transcript_header(rules), "transcript"));
}

TEST(TranscriptFile, WrongOrderIsRejected) {
  Bytes data = transcript_header(kRules);
  const auto leaves = verify::testing::fake_leaves(kRules);
  for (size_t i : {0, 2}) {
    const Bytes record = encode_record(verify::encode(leaves[i]));
    data.insert(data.end(), record.begin(), record.end());
  }
  const auto file = decode_transcript_file(data, "transcript");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kRejected);
}

Manifest sample() {
  Manifest m;
  m.job_root = digest_of("job");
  m.run_id.fill(7);
  m.transcript_root = digest_of("transcript");
  m.files["heads"] = {12, digest_of("heads")};
  m.files["checkpoints/step-3.safetensors"] = {UINT64_MAX, digest_of("c")};
  m.facts["platform"] = "ordered@avx2/2t";
  m.facts["note \"quoted\""] = "line\nfeed, \xc3\xa9";
  return m;
}

std::string text_of_manifest(const Manifest& m) {
  const Bytes bytes = encode(m);
  return std::string(bytes.begin(), bytes.end());
}

TEST(Manifest, NestingIsBoundedBeforeParsing) {
  for (size_t depth : {4, 1000, 1 << 20}) {
    EXPECT_EQ(decode_manifest(as_bytes(std::string(depth, '[')), "m").error().code, ErrorCode::kUnreadable);
    std::string text;
    for (size_t i = 0; i < depth && text.size() + 6 < 1 << 20; ++i) text += "{\"a\":";
    EXPECT_EQ(decode_manifest(as_bytes(text), "m").error().code, ErrorCode::kUnreadable);
    EXPECT_TRUE(check_manifest_version(as_bytes(text), "m"));
  }
  EXPECT_FALSE(decode_manifest(as_bytes(std::string((1 << 20) + 1, ' ')), "m"));
  // Brackets inside texts are no nesting.
  Manifest manifest;
  manifest.facts = {{"brackets", "[[[[[[{{{{{\"[[[[["}, {"quote", "\\\"[[[["}};
  EXPECT_EQ(*decode_manifest(encode(manifest), "m"), manifest);
}

TEST(Manifest, RoundTrips) {
  for (const Manifest& m : {sample(), Manifest{}}) {
    const auto back = decode_manifest(encode(m), "manifest.json");
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, m);
  }
}

TEST(Manifest, OnlyOneTextIsAccepted) {
  const std::string good = text_of_manifest(sample());
  auto edit = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    ISOBIT_CHECK(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  for (const std::string& bad : {
           edit("{\n", "{\n  \"extra\": 1,\n"),
           edit("  \"format\"", "   \"format\""),
           edit("\"size\": 12", "\"size\": 12.0"),
           edit("\"size\": 12", "\"size\": -12"),
           edit("\"size\": 12", "\"size\": \"12\""),
           edit("\"platform\": \"ordered@avx2/2t\"", "\"platform\": \"x\",\n    \"platform\": \"ordered@avx2/2t\""),
           edit("\"version\": 1", "\"version\": 0"),
           edit("\"run_id\": \"07", "\"run_id\": \"0707"),
           good + "\n",
           good.substr(0, good.size() - 1),
           std::string("[]"),
           std::string(),
           std::string(100000, '['),
       }) {
    const auto back = decode_manifest(as_bytes(bad), "manifest.json");
    ASSERT_FALSE(back) << bad;
    EXPECT_EQ(back.error().code, ErrorCode::kUnreadable);
  }
}

TEST(Manifest, NewerVersionSaysSo) {
  std::string text = text_of_manifest(sample());
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 3");
  const auto back = decode_manifest(as_bytes(text), "manifest.json");
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().message,
            "manifest.json: bundle from a newer version: found 3, this isobit reads 1; "
            "update isobit");
}

TEST(Manifest, SignatureCoversEveryByte) {
  const Bytes bytes = encode(sample());
  const Manifest m = sample();
  const ManifestSignature signature = sign_manifest(bytes, m.job_root, m.run_id, key_of(2));
  const auto back = decode_manifest_signature(encode(signature), "manifest.sig");
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, signature);
  EXPECT_TRUE(verify_manifest_signature(signature, bytes, m.job_root, m.run_id, "s"));
  for (size_t i = 0; i < bytes.size(); ++i) {
    Bytes bad = bytes;
    bad[i] ^= 1;
    EXPECT_FALSE(verify_manifest_signature(signature, bad, m.job_root, m.run_id, "s"));
  }
  ManifestSignature other = signature;
  other.key = key_of(3).public_key();
  EXPECT_FALSE(verify_manifest_signature(other, bytes, m.job_root, m.run_id, "s"));
  EXPECT_FALSE(verify_manifest_signature(signature, bytes, digest_of("x"), m.run_id, "s"));
}

}  // namespace
}  // namespace isobit::bundle
