// Small runs on disk for the tests of bundles.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "isobit/bundle/layout.h"
#include "isobit/bundle/log_file.h"
#include "isobit/bundle/reader.h"
#include "isobit/bundle/writer.h"
#include "isobit/verify/testing.h"

namespace isobit::bundle::testing {

using verify::testing::fake_engagement;
using verify::testing::fake_leaves;
using verify::testing::kClient;
using verify::testing::key_of;
using verify::testing::kTrainer;

inline const std::string kJob = "[job]\nname = \"fake\"\n";

// A fresh folder that goes with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    // In memory if there is such a file system: these tests sync to the disk thousands of times.
    const fs::path memory = "/dev/shm";
    const bool usable = ::access(memory.c_str(), W_OK | X_OK) == 0;
    std::string pattern = ((usable ? memory : fs::temp_directory_path()) / "isobit-bundle-XXXXXX").string();
    ISOBIT_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_;
};

struct Plan {
  verify::TranscriptRules rules{7, 3, DType::kFloat32, false};
  uint64_t checkpoint_every = 2;
  uint64_t keep = 2;
  verify::testing::Cheat cheat;
};

inline Bytes fake_checkpoint(uint64_t step) {
  const std::string text = text_of("weights after step ", step);
  return Bytes(text.begin(), text.end());
}

inline Status write_checkpoint(BundleWriter& writer, uint64_t step, const Bytes& bytes, uint64_t keep) {
  // In two pieces, the first of them of no special size.
  const ByteView all(bytes), pieces[] = {all.first(bytes.size() / 3), all.subspan(bytes.size() / 3)};
  return writer.write_checkpoint(step, pieces, commit::sha256(bytes), keep);
}

// All of it, unless it is not what it should be.
inline Expected<Bytes> contents(Expected<CheckpointFile> file) {
  if (!file) return tl::unexpected<Error>(file.error());
  Bytes bytes(static_cast<size_t>(file->size()));
  ISOBIT_RETURN_IF_ERROR(file->read(0, bytes));
  ISOBIT_RETURN_IF_ERROR(file->finish());
  return bytes;
}
inline Expected<Bytes> contents(Expected<StoredCheckpoint> stored) {
  if (!stored) return tl::unexpected<Error>(stored.error());
  return contents(Expected<CheckpointFile>(std::move(stored->file)));
}

inline commit::Digest fake_state_root(uint64_t step) { return commit::sha256(fake_checkpoint(step)); }

inline Plan plan_of(bool logged) {
  Plan plan;
  plan.rules.logged = logged;
  return plan;
}

// Of many sizes, 0 included. A bundle does not decode segments, so any bytes will do.
inline Bytes fake_segment(uint64_t step) {
  Bytes segment((step * 89 + 85) % 352);
  for (size_t i = 0; i < segment.size(); ++i) segment[i] = static_cast<uint8_t>(step * 31 + i * i);
  return segment;
}

inline std::vector<verify::Leaf> leaves_of(const Plan& plan) {
  auto leaves = fake_leaves(plan.rules, plan.cheat);
  for (uint64_t t = 1; plan.rules.logged && t <= plan.rules.steps; ++t) {
    std::get<verify::StepLeaf>(leaves[t]).log_segment = commit::sha256(fake_segment(t));
  }
  return leaves;
}

inline verify::Transcript transcript_of(const Plan& plan) {
  verify::Transcript transcript(plan.rules);
  for (const auto& leaf : leaves_of(plan)) ISOBIT_CHECK(transcript.append(leaf).has_value());
  return transcript;
}

inline Status append(BundleWriter& writer, const Plan& plan, const verify::Leaf& leaf) {
  const auto* step = std::get_if<verify::StepLeaf>(&leaf);
  if (!plan.rules.logged || step == nullptr) return writer.append(leaf);
  // What is stored must be at hand when the step is computed again.
  if (step->step <= writer.transcript().steps()) {
    ISOBIT_TRY(const Bytes stored, writer.read_log_segment(step->step));
    ISOBIT_CHECK(stored == fake_segment(step->step));
  }
  return writer.append(*step, fake_segment(step->step));
}

// What a training command does with a writer, from its position on. stop_before: leave off before that leaf.
inline Status drive(BundleWriter& writer, const Plan& plan, uint64_t stop_before = UINT64_MAX) {
  const auto leaves = leaves_of(plan);
  for (uint64_t i = writer.position(); i < leaves.size() && i < stop_before; ++i) {
    ISOBIT_RETURN_IF_ERROR(append(writer, plan, leaves[i]));
    const bool is_step = i >= 1 && i <= plan.rules.steps;
    if (is_step && plan.rules.has_state(i)) ISOBIT_RETURN_IF_ERROR(writer.sign_head());
    if (is_step && i % plan.checkpoint_every == 0) {
      ISOBIT_RETURN_IF_ERROR(write_checkpoint(writer, i, fake_checkpoint(i), plan.keep));
    }
  }
  if (stop_before < leaves.size()) return {};
  const uint64_t last = plan.rules.steps;
  ISOBIT_RETURN_IF_ERROR(write_checkpoint(writer, last, fake_checkpoint(last), plan.keep));
  const std::vector<uint64_t> steps = writer.checkpoints();
  for (uint64_t step : steps) {
    if (step != last && !contents(writer.open_checkpoint(step))) ISOBIT_RETURN_IF_ERROR(writer.drop_checkpoint(step));
  }
  return writer.finish({{"platform", "ordered@test"}, {"seconds", "1.5"}});
}

// What the job of the fake runs implies.
inline RunLimits limits_of(const Plan& plan) { return {plan.rules, 64, plan.rules.logged ? uint64_t{352} : 0}; }

inline Expected<BundleReader> open_bundle(const fs::path& folder, const OpenOptions& options, const Plan& plan) {
  ISOBIT_TRY(BundleFront front, BundleFront::open(folder, options));
  return BundleReader::open(std::move(front), limits_of(plan));
}

inline Expected<BundleWriter> create(const fs::path& folder, const Plan& plan) {
  return BundleWriter::create(folder, as_bytes(kJob), fake_engagement(), plan.rules, key_of(kTrainer));
}

inline Status write_run(const fs::path& folder, const Plan& plan) {
  ISOBIT_TRY(BundleWriter writer, create(folder, plan));
  return drive(writer, plan);
}

// Takes the run up from its newest checkpoint, as a training command does.
inline Status resume_run(const fs::path& folder, const Plan& plan, uint64_t stop_before = UINT64_MAX) {
  ISOBIT_TRY(BundleWriter writer, BundleWriter::resume(folder, key_of(kTrainer)));
  const std::vector<uint64_t> steps = writer.checkpoints();
  for (uint64_t step : steps) {
    auto stored = writer.open_checkpoint(step);
    const auto root = stored ? stored->state_root : std::nullopt;
    const auto bytes = contents(std::move(stored));
    if (!bytes || !root) {  // damaged, or nothing vouches for it
      ISOBIT_RETURN_IF_ERROR(writer.drop_checkpoint(step));
      continue;
    }
    ISOBIT_CHECK(*bytes == fake_checkpoint(step) && root == fake_state_root(step));
    ISOBIT_RETURN_IF_ERROR(writer.continue_from(step));
    // The kill may have come between this checkpoint and the removal of the oldest one.
    ISOBIT_RETURN_IF_ERROR(write_checkpoint(writer, step, *bytes, plan.keep));
    break;
  }
  return drive(writer, plan, stop_before);
}

using Files = std::map<std::string, std::string>;

inline Files files_of(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    files[fs::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return files;
}

inline void put_file(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline void put_files(const fs::path& folder, const Files& files) {
  fs::remove_all(folder);
  fs::create_directories(folder / kCheckpointFolder);
  for (const auto& [name, bytes] : files) put_file(folder / name, bytes);
}

}  // namespace isobit::bundle::testing
