#include <gtest/gtest.h>
#include <sys/stat.h>

#include "isobit/bundle/reader_for_test.h"
#include "isobit/verify/auditor.h"

namespace isobit::bundle {
namespace {

using testing::Files;
using testing::files_of;
using testing::kPinned;
using testing::Plan;
using testing::put_file;
using testing::put_files;
class Reader : public testing::ReaderCase {};

INSTANTIATE_TEST_SUITE_P(WithoutAndWithLog, Reader, ::testing::Bool());

TEST_P(Reader, OpensAnHonestRun) {
  const auto reader = open();
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(reader->finished());
  EXPECT_TRUE(reader->require_finished());
  EXPECT_TRUE(reader->client_pinned());
  EXPECT_EQ(std::string(reader->job_toml().begin(), reader->job_toml().end()), testing::kJob);
  EXPECT_EQ(reader->transcript().transcript_root(), testing::transcript_of(plan_).transcript_root());
  EXPECT_EQ(reader->checkpoints(), (std::vector<uint64_t>{6, 7}));
  EXPECT_EQ(*testing::contents(reader->open_checkpoint(6)), testing::fake_checkpoint(6));
  EXPECT_FALSE(reader->open_checkpoint(3));
  EXPECT_EQ(reader->heads().size(), 3u);  // after steps 3 and 6, and the last
  EXPECT_EQ(reader->manifest()->facts.at("platform"), "ordered@test");
  EXPECT_EQ(files_.size(), GetParam() ? 9u : 8u);
  const auto unpinned = testing::open_bundle(run_, {}, plan_);
  ASSERT_TRUE(unpinned);
  EXPECT_FALSE(unpinned->client_pinned());
}

// bundle_flip_test goes through every bit and length.
TEST_P(Reader, FlippedBitsAndTruncationsAreNoticed) {
  for (const auto& [name, good] : files_) {
    std::string bytes = good;
    for (size_t bit = 0; bit < bytes.size() * 8; bit += 37) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      put_file(run_ / name, bytes);
      ASSERT_FALSE(open()) << name << " bit " << bit;
      bytes[bit / 8] = good[bit / 8];
    }
    for (size_t n = 0; n < good.size(); n += 13) {
      put_file(run_ / name, good.substr(0, n));
      ASSERT_FALSE(open()) << name << " cut to " << n;
    }
    put_file(run_ / name, good);
  }
  EXPECT_TRUE(open());
}

TEST_P(Reader, MissingAndAdditionalFiles) {
  for (const auto& [name, good] : files_) {
    fs::remove(run_ / name);
    const auto reader = open();
    if (name == "manifest.json") {
      // Without it the run is one that was not finished: it can be shown, not audited.
      ASSERT_TRUE(reader) << reader.error().message;
      EXPECT_EQ(reader->require_finished().error().code, ErrorCode::kUnreadable);
    } else {
      EXPECT_EQ(code(), ErrorCode::kRejected) << name;
    }
    put_file(run_ / name, good);
  }
  for (const char* name : {"notes", "checkpoints/step-5.safetensors", "checkpoints/x", "heads.tmp", "log/x"}) {
    put_file(run_ / name, "x");
    EXPECT_EQ(code(), ErrorCode::kRejected) << name;
    fs::remove(run_ / name);
  }
  if (!GetParam()) fs::remove(run_ / "log");
  put_file(run_ / "lock", "");
  EXPECT_TRUE(open()) << "a kill may leave the empty lock";
  put_file(run_ / "lock", "x");
  EXPECT_EQ(code(), ErrorCode::kRejected);
}

TEST_P(Reader, LinksAndOtherKindsAreRefused) {
  for (const auto& [name, good] : files_) {
    if (name == "manifest.json") continue;
    fs::rename(run_ / name, scratch_ / "elsewhere");
    fs::create_symlink(scratch_ / "elsewhere", run_ / name);
    EXPECT_EQ(code(), ErrorCode::kRejected) << name;
    fs::remove(run_ / name);
    ASSERT_EQ(::mkfifo((run_ / name).c_str(), 0600), 0);
    EXPECT_EQ(code(), ErrorCode::kRejected) << name;
    fs::remove(run_ / name);
    fs::rename(scratch_ / "elsewhere", run_ / name);
  }
  fs::create_directory(run_ / "more");
  EXPECT_EQ(code(), ErrorCode::kRejected);
  fs::remove(run_ / "more");
  fs::create_directory(run_ / "checkpoints" / "checkpoints");
  EXPECT_EQ(code(), ErrorCode::kRejected);
  fs::remove(run_ / "checkpoints" / "checkpoints");
  EXPECT_TRUE(open());
}

TEST_P(Reader, WhatIsNoBundleIsUnreadable) {
  EXPECT_EQ(testing::open_bundle(scratch_ / "absent", kPinned, plan_).error().code, ErrorCode::kUnreadable);
  put_file(scratch_ / "file", "x");
  EXPECT_EQ(testing::open_bundle(scratch_ / "file", kPinned, plan_).error().code, ErrorCode::kUnreadable);
  fs::create_directory(scratch_ / "empty");
  EXPECT_EQ(testing::open_bundle(scratch_ / "empty", kPinned, plan_).error().code, ErrorCode::kUnreadable);
  put_file(scratch_ / "other" / "readme", "x");
  EXPECT_EQ(testing::open_bundle(scratch_ / "other", kPinned, plan_).error().code, ErrorCode::kUnreadable);
}

TEST_P(Reader, NewerVersionIsUnreadable) {
  auto expect_newer = [&] {
    const auto reader = open();
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(reader.error().message.find("from a newer version: found 3, this isobit reads 1; update isobit"),
              std::string::npos)
        << reader.error().message;
  };
  std::string text = files_.at("manifest.json");
  text.replace(text.find("\"version\": 1"), 12, "\"version\": 3");
  put_file(run_ / "manifest.json", text);
  EXPECT_EQ(code(), ErrorCode::kRejected) << "who says so has not signed it";
  sign(text);
  expect_newer();
  put_files(run_, files_);
  for (const auto& [name, tag] : {std::pair{"manifest.sig", "isobit.manifest"}}) {
    std::string bytes = files_.at(name);
    bytes[bytes.find(tag) + std::string(tag).size()] = 3;
    put_file(run_ / name, bytes);
    expect_newer();
    put_file(run_ / name, files_.at(name));
  }
}

TEST_P(Reader, OtherClientsRunIsRejected) {
  const OpenOptions other{testing::key_of(5).public_key()};
  const auto reader = testing::open_bundle(run_, other, plan_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kRejected);
}

TEST_P(Reader, SignedAfreshUnderAnotherKeyIsRejected) {
  resign();
  EXPECT_TRUE(open()) << "the engaged key may sign again";
  resign(5);
  EXPECT_EQ(code(), ErrorCode::kRejected);
  // The whole run made anew by somebody with keys of their own: consistent, but not the pinned client's.
  put_files(run_, {});
  const auto engagement = testing::fake_engagement(6, 7);
  auto writer =
      BundleWriter::create(scratch_ / "forged", as_bytes(testing::kJob), engagement, plan_.rules, testing::key_of(7));
  ASSERT_TRUE(writer);
  ASSERT_TRUE(testing::drive(*writer, plan_));
  EXPECT_TRUE(testing::open_bundle(scratch_ / "forged", {}, plan_));
  EXPECT_EQ(testing::open_bundle(scratch_ / "forged", kPinned, plan_).error().code, ErrorCode::kRejected);
  // Its transcript and heads inside the genuine engagement.
  Files mixed = files_of(scratch_ / "forged");
  mixed["engagement"] = files_["engagement"];
  put_files(run_, mixed);
  resign();
  EXPECT_EQ(code(), ErrorCode::kRejected);
}

TEST_P(Reader, EngagedTrainerCannotSignNonsense) {
  auto rejected_with = [&](const std::string& name, const std::string& bytes) {
    put_file(run_ / name, bytes);
    resign();
    const bool is_rejected = code() == ErrorCode::kRejected;
    put_file(run_ / name, files_.at(name));
    return is_rejected;
  };
  // Every cut of transcript and heads, freshly signed for.
  for (const char* name : {"transcript", "heads", "engagement"}) {
    const std::string& good = files_.at(name);
    for (size_t n = 0; n < good.size(); n += 7) EXPECT_TRUE(rejected_with(name, good.substr(0, n))) << name << n;
    EXPECT_TRUE(rejected_with(name, good + good));
  }
  // Transcript of another run under the heads of this one.
  Plan cheating = plan_;
  cheating.cheat.wrong_loss_at = 5;
  const Bytes other = encode_transcript_file(testing::transcript_of(cheating));
  EXPECT_TRUE(rejected_with("transcript", {other.begin(), other.end()}));
  // No heads at all.
  const Bytes none = heads_header();
  EXPECT_TRUE(rejected_with("heads", {none.begin(), none.end()}));
  resign();
  EXPECT_TRUE(open());
}

TEST_P(Reader, HeadsThatForkAreRejected) {
  // A valid head of another history in the middle: both histories signed by the engaged key.
  Plan cheating = plan_;
  cheating.cheat.wrong_loss_at = 2;
  const auto other = testing::transcript_of(cheating);
  const auto mine = testing::transcript_of(plan_);
  const auto terms = testing::fake_engagement().terms;
  auto heads = [&](std::vector<commit::SizedRoot> trees) {
    Bytes bytes = heads_header();
    for (const auto& tree : trees) {
      const Bytes record =
          encode_record(verify::encode(verify::sign_head(tree, terms, testing::key_of(testing::kTrainer))));
      bytes.insert(bytes.end(), record.begin(), record.end());
    }
    put_file(run_ / "heads", {bytes.begin(), bytes.end()});
    resign();
    return open().has_value();
  };
  EXPECT_TRUE(heads({mine.sized_root(4), mine.sized_root(7), mine.sized_root()}));
  EXPECT_TRUE(
      heads({mine.sized_root(1), mine.sized_root(4), mine.sized_root(5), mine.sized_root(7), mine.sized_root()}));
  EXPECT_FALSE(heads({other.sized_root(4), mine.sized_root(7), mine.sized_root()}));
  EXPECT_FALSE(heads({mine.sized_root(4), mine.sized_root(7), other.sized_root()}));
  EXPECT_FALSE(heads({mine.sized_root(4), mine.sized_root(4), mine.sized_root(7), mine.sized_root()}));
  EXPECT_FALSE(heads({mine.sized_root(), mine.sized_root(4), mine.sized_root(7)}));
  EXPECT_FALSE(heads({mine.sized_root(4), mine.sized_root(7)})) << "the end is not covered";
  // States are committed after steps 3 and 6, and the engagement asks for a head at each.
  EXPECT_FALSE(heads({mine.sized_root(4), mine.sized_root()}));
  EXPECT_NE(open().error().message.find("no head after step 6"), std::string::npos) << open().error().message;
  EXPECT_FALSE(heads({mine.sized_root()}));
}

TEST_P(Reader, ManifestCannotReachOutside) {
  Manifest manifest = *decode_manifest(as_bytes(files_.at("manifest.json")), "m");
  for (const char* name : {"../secret", "/etc/passwd", "checkpoints/../heads", "", ".", "checkpoints/",
                           "checkpoints/step-01.safetensors", "log", "log/", "log/other", "checkpoints/segments"}) {
    Manifest bad = manifest;
    bad.files[name] = {1, {}};
    write_manifest(bad);
    EXPECT_EQ(code(), ErrorCode::kRejected) << name;
  }
  for (const char* name : {"job.toml", "engagement", "transcript", "heads"}) {
    Manifest bad = manifest;
    bad.files.erase(name);
    write_manifest(bad);
    EXPECT_EQ(code(), ErrorCode::kRejected) << name;
  }
  Manifest bad = manifest;
  bad.transcript_root[0] ^= 1;
  write_manifest(bad);
  EXPECT_EQ(code(), ErrorCode::kRejected);
  bad = manifest;
  bad.run_id[0] ^= 1;
  write_manifest(bad);
  EXPECT_EQ(code(), ErrorCode::kRejected);
  write_manifest(manifest);
  EXPECT_TRUE(open());
}

// What an engaged trainer could hand out although no audit ever compared it.
TEST_P(Reader, OnlyCommittedStatesAndAlwaysTheLast) {
  for (const char* step : {"8", "61", "5", "1", "18446744073709551615"}) {
    put_file(run_ / "checkpoints" / text_of("step-", step, ".safetensors"), "weights");
    resign();
    EXPECT_EQ(code(), ErrorCode::kRejected) << "step " << step;
    put_files(run_, files_);
  }
  for (const char* step : {"0", "3"}) {
    put_file(run_ / "checkpoints" / text_of("step-", step, ".safetensors"), "weights");
    resign();
    EXPECT_TRUE(open()) << "the state after step " << step << " is committed; whether this is it the tensors must tell";
    put_files(run_, files_);
  }
  fs::remove(run_ / "checkpoints" / "step-7.safetensors");
  resign();
  EXPECT_EQ(code(), ErrorCode::kRejected) << "the final state is missing";
  fs::remove_all(run_ / "checkpoints");
  resign();
  EXPECT_EQ(code(), ErrorCode::kRejected);
}

TEST_P(Reader, UnfinishedRunIsShownAndNotAudited) {
  const fs::path begun = scratch_ / "begun";
  {
    auto writer = testing::create(begun, plan_);
    ASSERT_TRUE(writer);
    ASSERT_TRUE(testing::drive(*writer, plan_, 6));
    const auto reader = testing::open_bundle(begun, kPinned, plan_);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_FALSE(reader->finished());
    EXPECT_EQ(reader->transcript().steps(), 5u);
    const Status status = reader->require_finished();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kUnreadable);
    EXPECT_NE(status.error().message.find("resume it first"), std::string::npos);
  }
  // A torn end is left out; leaves under a head must be there.
  const std::string good = files_of(begun).at("transcript");
  put_file(begun / "transcript", good.substr(0, good.size() - 5));
  EXPECT_EQ(testing::open_bundle(begun, kPinned, plan_)->transcript().steps(), 4u);
  put_file(begun / "transcript", good.substr(0, good.size() / 3));
  // Who resumes computes them again, so that is held against nobody.
  const auto lost = testing::open_bundle(begun, kPinned, plan_);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kUnreadable);
  EXPECT_NE(lost.error().message.find("a signed head covers"), std::string::npos) << lost.error().message;
  // In a leaf that is whole and another one there is nothing to wait for.
  const auto other = testing::transcript_of([&] {
    Plan cheating = plan_;
    cheating.cheat.wrong_loss_at = 2;
    return cheating;
  }());
  TranscriptFile leaves{other, 0, {}};
  const Bytes bytes = encode_transcript_file(first_leaves(leaves, 6).transcript);
  put_file(begun / "transcript", {bytes.begin(), bytes.end()});
  EXPECT_EQ(testing::open_bundle(begun, kPinned, plan_).error().code, ErrorCode::kRejected);
}

// Makes the segments that the fake runs here have.
class Replayer : public verify::testing::FakeReplayer {
 public:
  using FakeReplayer::FakeReplayer;
  Expected<verify::StepOutcome> advance() override {
    ISOBIT_TRY(verify::StepOutcome outcome, FakeReplayer::advance());
    if (outcome.log_segment) outcome.log_segment = commit::sha256(testing::fake_segment(outcome.step));
    return outcome;
  }
};

Status begin_run(const fs::path& run, const Plan& plan, uint64_t leaves = UINT64_MAX) {
  ISOBIT_TRY(BundleWriter writer, testing::create(run, plan));
  return testing::drive(writer, plan, leaves);
}

// Opened behind every leaf and read on behind every later one: as if it were opened there.
TEST_P(Reader, ReadingOnIsOpeningLater) {
  plan_.rules.steps = 12;
  const RunLimits limits = testing::limits_of(plan_);
  const fs::path now = run_.string() + ".now";
  const auto grow_to = [&](const fs::path& run, uint64_t leaves) {
    const Status grown = fs::exists(run) ? testing::resume_run(run, plan_, leaves) : begin_run(run, plan_, leaves);
    ASSERT_TRUE(grown) << grown.error().message;
  };
  int read_on = 0;
  for (uint64_t from = 1; from <= 13; ++from) {
    fs::remove_all(now);
    grow_to(now, from);
    auto reader = testing::open_bundle(now, kPinned, plan_);
    ASSERT_TRUE(reader) << reader.error().message;
    for (uint64_t leaves = from; leaves <= 13; leaves += 1 + leaves % 3) {
      SCOPED_TRACE(text_of(from, " leaves, then ", leaves));
      grow_to(now, leaves);
      const auto front = BundleFront::open(now, kPinned);
      const size_t heads = reader->heads().size();
      const auto grown = reader->read_on(*front, limits);
      ASSERT_TRUE(grown) << grown.error().message;
      EXPECT_EQ(*grown, heads > 0);
      if (!*grown) continue;
      const auto again = testing::open_bundle(now, kPinned, plan_);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(reader->heads(), again->heads());
      EXPECT_EQ(reader->checkpoints(), again->checkpoints());
      const uint64_t covered = reader->heads().back().tree.size;
      EXPECT_EQ(reader->transcript().sized_root(covered), again->transcript().sized_root(covered));
      for (uint64_t t = 1; GetParam() && t < covered; ++t) {
        EXPECT_EQ(*reader->read_log_segment(t), testing::fake_segment(t)) << t;
      }
      read_on += reader->heads().size() > heads ? 1 : 0;
    }
  }
  EXPECT_GT(read_on, 10);
}

// What is not the same files with more at their ends is not taken over, and what was read stays.
TEST_P(Reader, ReadingOnTakesNothingElse) {
  plan_.rules.steps = 12;
  const RunLimits limits = testing::limits_of(plan_);
  const fs::path now = run_.string() + ".now";
  ASSERT_TRUE(begin_run(now, plan_, 5));
  auto reader = testing::open_bundle(now, kPinned, plan_);
  ASSERT_TRUE(reader);
  const auto root = reader->transcript().sized_root(4);
  ASSERT_TRUE(testing::resume_run(now, plan_, 10));  // the last leaf is one that a head covers
  const Files grown = files_of(now);
  const std::vector<verify::SignedHead> heads = testing::open_bundle(now, kPinned, plan_)->heads();
  ASSERT_EQ(heads.size(), 3u);
  const auto read_on = [&] {
    const auto front = BundleFront::open(now, kPinned);
    const auto taken = front ? reader->read_on(*front, limits) : Expected<bool>(false);
    // Those that are whole.
    EXPECT_TRUE(std::equal(reader->heads().begin(), reader->heads().end(), heads.begin()));
    EXPECT_EQ(reader->transcript().sized_root(4), root);
    return taken && *taken;
  };
  for (const char* name : {"transcript", "heads", "log/segments"}) {
    if (!grown.contains(name)) continue;
    const std::string& good = grown.at(name);
    for (size_t n = 0; n < good.size(); n += 5) {
      put_file(now / name, good.substr(0, n));
      const auto before = *reader;
      read_on();
      *reader = before;
    }
    put_file(now / name, good);
  }
  // Bits of what is new, each of which breaks a checksum, a root or a signature.
  for (const char* name : {"transcript", "heads"}) {
    std::string bytes = grown.at(name);
    for (size_t at = bytes.size() - 100; at < bytes.size(); ++at) {
      bytes[at] = static_cast<char>(bytes[at] ^ 2);
      put_file(now / name, bytes);
      const auto before = *reader;
      if (read_on()) {
        EXPECT_LT(reader->heads().size(), 3u) << name << " byte " << at;
      }
      *reader = before;
      bytes[at] = static_cast<char>(bytes[at] ^ 2);
    }
    put_file(now / name, bytes);
  }
  // Another history of the same run, as its trainer might sign it.
  const Files files = files_of(now);
  Plan other = plan_;
  other.cheat.wrong_loss_at = 2;
  fs::remove_all(now);
  ASSERT_TRUE(begin_run(now, other, 11));
  EXPECT_FALSE(read_on());
  fs::remove_all(now);
  ASSERT_TRUE(begin_run(now, plan_));
  EXPECT_FALSE(read_on()) << "it has ended";
  put_files(now, files);
  EXPECT_TRUE(read_on());
  EXPECT_EQ(reader->heads().size(), 3u);
}

TEST_P(Reader, BundleAndAuditTogether) {
  const auto reader = open();
  ASSERT_TRUE(reader);
  Replayer replayer(plan_.rules);
  verify::AuditOptions options;
  options.rules = plan_.rules;
  options.job_root = verify::testing::fake_job_root();
  const auto verdict = verify::audit(reader->transcript(), replayer, options);
  ASSERT_TRUE(verdict);
  EXPECT_TRUE(verdict->accepted());
  Plan cheating = plan_;
  cheating.cheat.wrong_state_at = 6;
  ASSERT_TRUE(testing::write_run(scratch_ / "cheat", cheating));
  const auto cheat = testing::open_bundle(scratch_ / "cheat", kPinned, plan_);
  ASSERT_TRUE(cheat) << "what is wrong in it only a replay can tell";
  Replayer again(plan_.rules);
  EXPECT_FALSE(verify::audit(cheat->transcript(), again, options)->accepted());
}

}  // namespace
}  // namespace isobit::bundle
