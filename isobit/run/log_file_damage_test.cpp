// The file of the rounding log changed after training, and the manifest written and signed again by the trainer, so
// that only the leaves can tell: a verdict, never a crash and never an acceptance.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "isobit/base/whole_for_test.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/log_file.h"
#include "isobit/bundle/manifest.h"
#include "isobit/bundle/record_file.h"
#include "isobit/run/testing.h"

namespace isobit::run {
namespace {

using testing::audit_request;
using testing::Folder;

constexpr size_t kNoLimit = size_t{1} << 26;

class LogFileDamage : public ::testing::Test {
 protected:
  // One run serves all tests: each of them writes the log, the manifest and its signature anew.
  static void SetUpTestSuite() {
    folder_.emplace("log_file_damage");
    train(*folder_ / "run", "11");
    const Bytes file = read("run", bundle::kLogFile);
    bundle::RecordCursor records(ByteView(file).subspan(header_), kNoLimit);
    while (const auto segment = records.next()) segments_.emplace_back(segment->begin(), segment->end());
  }
  static void TearDownTestSuite() {
    folder_.reset();
    segments_.clear();
  }

  static void train(const fs::path& out, const std::string& seed) {
    const train::Job job =
        testing::small_job({"job.arithmetic=logged-1", "job.steps=5", "checkpoint.every=0", "rounding.divergence=65536",
                            "model.width=8", "data.batch=24", "evaluate.samples=8", "job.seed=" + seed});
    EXPECT_TRUE(train_run(testing::train_request(out, job)));
  }
  static Bytes read(const std::string& run, std::string_view name) {
    return read_file(*folder_ / run / name, kNoLimit).value();
  }
  // Not through to the disk, for which the thousand audits below would mostly wait.
  static void write(const fs::path& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  static Bytes file_of(const std::vector<Bytes>& segments) {
    Bytes file = bundle::log_header();
    for (const Bytes& s : segments) {
      const Bytes record = bundle::encode_record(s);
      file.insert(file.end(), record.begin(), record.end());
    }
    return file;
  }

  // The audit of the run with this log, manifest and signature made anew.
  Expected<AuditSummary> audit_with(const Bytes& log) {
    const fs::path run = *folder_ / "run";
    write(run / bundle::kLogFile, log);
    bundle::Manifest manifest = bundle::decode_manifest(read("run", bundle::kManifestFile), "test").value();
    manifest.files.at(std::string(bundle::kLogFile)) = {log.size(), commit::sha256(log)};
    const Bytes bytes = bundle::encode(manifest);
    write(run / bundle::kManifestFile, bytes);
    write(run / bundle::kManifestSignatureFile,
          bundle::encode(bundle::sign_manifest(bytes, manifest.job_root, manifest.run_id, testing::key(2))));
    return audit_run(audit_request(run));
  }
  void rejected(const std::string& what, const Bytes& log, const std::string& says) {
    const auto audited = audit_with(log);
    ASSERT_TRUE(audited) << what << ": " << audited.error().message;
    EXPECT_FALSE(audited->verdict.accepted()) << what;
    EXPECT_NE(audited->verdict.reason.find(says), std::string::npos) << what << ": " << audited->verdict.reason;
  }

  static inline std::optional<Folder> folder_;
  static inline const size_t header_ = bundle::log_header().size();
  static inline std::vector<Bytes> segments_;
};

TEST_F(LogFileDamage, TheSameFileSignedAgainIsAccepted) {
  ASSERT_EQ(segments_.size(), 5u);
  const auto audited = audit_with(file_of(segments_));
  ASSERT_TRUE(audited) << audited.error().message;
  EXPECT_TRUE(audited->verdict.accepted()) << audited->verdict.reason;
}

TEST_F(LogFileDamage, RecordsMissingOrMoreOrInAnotherOrder) {
  std::vector<Bytes> changed = segments_;
  std::swap(changed[1], changed[3]);
  rejected("two swapped", file_of(changed), "step 2");
  changed = segments_;
  changed.erase(changed.begin() + 2);
  rejected("one missing", file_of(changed), "step");
  changed = segments_;
  changed.pop_back();
  rejected("the last missing", file_of(changed), "step");
  changed = segments_;
  changed.push_back(segments_.back());
  rejected("one more", file_of(changed), "segments");
  changed = segments_;
  changed[2].push_back(0);
  rejected("a byte more in one", file_of(changed), "step 3");
  changed = segments_;
  changed[3].clear();
  rejected("an empty one", file_of(changed), "step 4");
}

TEST_F(LogFileDamage, TheLogOfAnotherRun) {
  train(*folder_ / "other", "12");
  rejected("another seed", read("other", bundle::kLogFile), "step 1");
}

TEST_F(LogFileDamage, EveryByteOfARecordButItsChecksum) {
  const Bytes file = file_of(segments_);
  const size_t second = header_ + bundle::kRecordOverhead + segments_[0].size();
  const size_t end = second + bundle::kRecordOverhead + segments_[1].size();
  ASSERT_GT(end - second, 80u) << "more than a header: there are entries to damage";
  for (size_t at = second; at < end; ++at) {
    Bytes changed = file;
    changed[at] ^= 0x55;
    const size_t within = at - second;
    if (within >= bundle::kRecordOverhead && within % 4 != 0 && !whole_test()) continue;
    if (within >= sizeof(uint32_t) && within < bundle::kRecordOverhead) {
      // Of a finished run the signed digest of the file is compared; checksums are against accidents before that.
      const auto audited = audit_with(changed);
      ASSERT_TRUE(audited) << audited.error().message;
      EXPECT_TRUE(audited->verdict.accepted()) << within << ": " << audited->verdict.reason;
    } else {
      rejected(std::to_string(within), changed, "");
    }
  }
}

TEST_F(LogFileDamage, CutAnywhere) {
  const Bytes file = file_of(segments_);
  for (size_t kept = 0; kept < file.size(); kept += 1 + kept / 16) {
    const auto audited = audit_with(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(kept)));
    EXPECT_TRUE(!audited || !audited->verdict.accepted()) << kept;
    // Inside of its header it is no log at all; behind that a step is at fault.
    EXPECT_TRUE(audited || kept < header_) << kept << ": " << audited.error().message;
  }
}

TEST_F(LogFileDamage, AnUnknownVersionOfTheFile) {
  Bytes changed = file_of(segments_);
  changed[header_ - 4] = 99;
  const auto audited = audit_with(changed);
  EXPECT_TRUE(!audited || !audited->verdict.accepted());
}

}  // namespace
}  // namespace isobit::run
