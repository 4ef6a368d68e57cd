// A finished run of the fakes, and hands to damage and sign it, for the tests of the reader. For tests.
#pragma once
#include <gtest/gtest.h>

#include "isobit/bundle/reader.h"
#include "isobit/bundle/record_file.h"
#include "isobit/bundle/testing.h"

namespace isobit::bundle::testing {

inline const OpenOptions kPinned{key_of(kClient).public_key()};

class ReaderCase : public ::testing::TestWithParam<bool> {
 protected:
  ReaderCase() {
    const Status written = write_run(run_, plan_);
    ISOBIT_CHECK(written.has_value());
    files_ = files_of(run_);
  }

  Expected<BundleReader> open() const { return open_bundle(run_, kPinned, plan_); }
  ErrorCode code() const {
    const auto reader = open();
    EXPECT_FALSE(reader);
    return reader ? ErrorCode{} : reader.error().code;
  }
  // Signs the files as they are, as a cheating trainer would.
  void resign(uint8_t key = kTrainer) {
    const Files now = files_of(run_);
    Manifest manifest = *decode_manifest(as_bytes(files_.at("manifest.json")), "m");
    manifest.files.clear();
    for (const auto& [name, bytes] : now) {
      if (name.starts_with("manifest")) continue;
      manifest.files[name] = {bytes.size(), commit::sha256(as_bytes(bytes))};
    }
    write_manifest(manifest, key);
  }
  void sign_for(const std::string& name, FileEntry entry) {
    Manifest manifest = *decode_manifest(as_bytes(files_.at("manifest.json")), "m");
    manifest.files[name] = entry;
    write_manifest(manifest);
  }
  void write_manifest(const Manifest& manifest, uint8_t key = kTrainer) {
    const Bytes bytes = encode(manifest);
    put_file(run_ / "manifest.json", {bytes.begin(), bytes.end()});
    sign({bytes.begin(), bytes.end()}, key);
  }
  void sign(const std::string& manifest, uint8_t key = kTrainer) {
    const auto terms = fake_engagement().terms;
    const auto signature = encode(sign_manifest(as_bytes(manifest), terms.job_root, terms.run_id, key_of(key)));
    put_file(run_ / "manifest.sig", {signature.begin(), signature.end()});
  }

  Plan plan_ = plan_of(GetParam());
  TemporaryFolder scratch_;
  fs::path run_ = scratch_ / "run";
  Files files_;
};

}  // namespace isobit::bundle::testing
