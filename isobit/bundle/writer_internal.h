// The parts of a run that is being written, shared by the files of the writer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isobit/bundle/checkpoint_index.h"
#include "isobit/bundle/disk.h"
#include "isobit/bundle/layout.h"
#include "isobit/bundle/log_file.h"
#include "isobit/bundle/manifest.h"
#include "isobit/bundle/writer.h"

namespace isobit::bundle {

struct BundleWriter::Impl {
  fs::path folder;
  commit::SecretKey trainer;
  Bytes job_toml;
  verify::Engagement engagement;
  verify::Transcript stored;
  uint64_t head_size = 0;  // leaves that the newest head in the file covers
  // Of every head that was ever found signed: size -> root. Leaves that were lost and are computed again must lead
  // there.
  std::map<uint64_t, commit::Digest> promised;
  std::vector<uint64_t> checkpoints;  // newest first
  CheckpointIndex index;
  AppendFile transcript_file;
  AppendFile heads_file;
  Descriptor lock;
  std::optional<LogFileWriter> log;  // present iff the job is logged
  uint64_t position = 0;
  bool finished = false;
  bool made_folder = false;  // by create()

  fs::path checkpoint_path(uint64_t step) const { return folder / kCheckpointFolder / checkpoint_name(step); }
  Status writable() const;
  Status store(const verify::Leaf& leaf, const ByteView* log_segment);
  Status check_segment(const verify::Leaf& leaf, const ByteView* log_segment) const;
  // kRejected when a head covers exactly the stored leaves and this one, and has another root than they have.
  Status check_promise(const verify::Leaf& leaf) const;
  // Signs what was lost of the heads up to position.
  Status restore_heads();
  Status append_head(const commit::SizedRoot& tree);
  // A leaf on the disk whose segment is not there would be of no use.
  Status sync_leaves();
  Status drop_checkpoint(uint64_t step);

  // Of finish(). Everything on the disk against what is in memory or was noted when it was written.
  Status drop_uncommitted_checkpoints();
  Expected<Manifest> manifest(const std::map<std::string, std::string>& facts) const;
  Expected<FileEntry> check_file(const std::string& name) const;
  Status check_heads_file() const;
  Expected<FileEntry> check_log_file() const;
  std::vector<std::string> owed_files() const;
};

}  // namespace isobit::bundle
