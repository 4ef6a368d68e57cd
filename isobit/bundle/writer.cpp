#include "isobit/bundle/writer.h"

#include <algorithm>

#include "isobit/base/durable_file.h"
#include "isobit/base/text.h"
#include "isobit/bundle/record_file.h"
#include "isobit/bundle/writer_internal.h"

namespace isobit::bundle {

BundleWriter::BundleWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BundleWriter::BundleWriter(BundleWriter&&) noexcept = default;
BundleWriter& BundleWriter::operator=(BundleWriter&&) noexcept = default;
BundleWriter::~BundleWriter() = default;

const Bytes& BundleWriter::job_toml() const { return impl_->job_toml; }
const verify::Engagement& BundleWriter::engagement() const { return impl_->engagement; }
const verify::Transcript& BundleWriter::transcript() const { return impl_->stored; }
const std::vector<uint64_t>& BundleWriter::checkpoints() const { return impl_->checkpoints; }
uint64_t BundleWriter::position() const { return impl_->position; }

Expected<StoredCheckpoint> BundleWriter::open_checkpoint(uint64_t step) const {
  const fs::path path = impl_->checkpoint_path(step);
  const auto record = impl_->index.find(step);
  if (record == impl_->index.end()) {
    ISOBIT_TRY(CheckpointFile file,
               CheckpointFile::open(path, kMaxCheckpointBytes, [](const FileEntry&) { return Status(); }));
    return StoredCheckpoint{std::move(file), std::nullopt};
  }
  const auto check = [path, written = record->second.file](const FileEntry& found) -> Status {
    if (found == written) return {};
    return rejected(text_of(path.string(), ": is not what was written there; the disk has changed it"));
  };
  ISOBIT_TRY(CheckpointFile file, CheckpointFile::open(path, record->second.file.size, check));
  return StoredCheckpoint{std::move(file), record->second.state_root};
}

Status BundleWriter::drop_checkpoint(uint64_t step) {
  ISOBIT_RETURN_IF_ERROR(impl_->writable());
  return impl_->drop_checkpoint(step);
}

Status BundleWriter::continue_from(uint64_t step) {
  const verify::Transcript& stored = impl_->stored;
  if (stored.size() == 0 || step > stored.steps()) {
    return usage_error(text_of(impl_->folder.string(), ": cannot continue from step ", step, ": ", stored.size(),
                               " leaves are stored"));
  }
  impl_->position = step + 1;
  // The checkpoint may have come through where heads before it did not.
  return impl_->restore_heads();
}

Expected<Bytes> BundleWriter::read_log_segment(uint64_t step) const {
  const std::string what = (impl_->folder / kLogFile).string();
  if (!impl_->log) return usage_error(text_of(what, ": this run has no log; its job is not logged"));
  return impl_->log->log().read(impl_->stored, step, what);
}

Status BundleWriter::append(const verify::Leaf& leaf) { return impl_->store(leaf, nullptr); }

Status BundleWriter::append(const verify::StepLeaf& leaf, ByteView log_segment) {
  return impl_->store(leaf, &log_segment);
}

Status BundleWriter::Impl::check_segment(const verify::Leaf& leaf, const ByteView* log_segment) const {
  const auto* step = std::get_if<verify::StepLeaf>(&leaf);
  const bool expected = stored.rules().logged && step != nullptr;
  if (expected != (log_segment != nullptr)) {
    return usage_error(text_of(folder.string(), ": ", verify::describe(leaf), " came with", expected ? "out its" : " a",
                               " log segment"));
  }
  return {};
}

Status BundleWriter::Impl::store(const verify::Leaf& leaf, const ByteView* log_segment) {
  ISOBIT_RETURN_IF_ERROR(writable());
  ISOBIT_RETURN_IF_ERROR(stored.fits(leaf, position));
  ISOBIT_RETURN_IF_ERROR(check_segment(leaf, log_segment));
  const auto* initial = std::get_if<verify::InitialLeaf>(&leaf);
  if (initial != nullptr && initial->job_root != engagement.terms.job_root) {
    return rejected(text_of(folder.string(), ": field 'job_root': the run has ", commit::hex_of(initial->job_root),
                            ", the engagement ", commit::hex_of(engagement.terms.job_root)));
  }
  if (position < stored.size()) {
    if (leaf != stored.leaf(position)) {
      return rejected(text_of(folder.string(), ": this machine did not reproduce its own run: ", verify::describe(leaf),
                              " differs from the stored one; check the memory, the data and "
                              "the build, or start the run anew in another folder"));
    }
    ++position;
    return {};
  }
  ISOBIT_RETURN_IF_ERROR(check_promise(leaf));
  if (log_segment != nullptr) ISOBIT_RETURN_IF_ERROR(log->append(position, *log_segment));
  ISOBIT_RETURN_IF_ERROR(transcript_file.append(encode_record(verify::encode(leaf))));
  ISOBIT_RETURN_IF_ERROR(stored.append(leaf));
  ++position;
  return {};
}

Status BundleWriter::Impl::check_promise(const verify::Leaf& leaf) const {
  const auto promise = promised.find(stored.size() + 1);
  if (promise == promised.end()) return {};
  std::vector<commit::Digest> hashes(stored.leaf_hashes().begin(), stored.leaf_hashes().end());
  hashes.push_back(commit::leaf_hash(verify::encode(leaf)));
  if (commit::merkle_root(hashes) == promise->second) return {};
  return rejected(text_of(folder.string(), ": this machine did not reproduce its own run: with ",
                          verify::describe(leaf), " the transcript is not what the signed head of ", hashes.size(),
                          " leaves says; leaves or log were damaged and cannot be computed again here"));
}

Status BundleWriter::Impl::writable() const {
  if (finished) return usage_error(text_of(folder.string(), ": the run is finished, nothing can be added"));
  return {};
}

Status BundleWriter::Impl::sync_leaves() {
  if (log) ISOBIT_RETURN_IF_ERROR(log->sync());
  return transcript_file.sync();
}

Status BundleWriter::Impl::drop_checkpoint(uint64_t step) {
  ISOBIT_RETURN_IF_ERROR(remove_file(checkpoint_path(step)));
  std::erase(checkpoints, step);
  index.erase(step);
  return {};
}

Status BundleWriter::Impl::append_head(const commit::SizedRoot& tree) {
  const verify::SignedHead head = verify::sign_head(tree, engagement.terms, trainer);
  ISOBIT_RETURN_IF_ERROR(heads_file.append(encode_record(verify::encode(head))));
  ISOBIT_RETURN_IF_ERROR(heads_file.sync());
  head_size = tree.size;
  return {};
}

Status BundleWriter::Impl::restore_heads() {
  if (position <= head_size) return {};
  ISOBIT_RETURN_IF_ERROR(sync_leaves());
  commit::MerkleTree tree;
  for (const commit::Digest& hash : stored.leaf_hashes().first(position)) {
    tree.append(hash);
    const uint64_t size = tree.size();
    const bool due = verify::head_is_due(stored.rules(), engagement.terms.head_every, size - 1);
    if (size > head_size && (due || promised.contains(size))) {
      ISOBIT_RETURN_IF_ERROR(append_head(tree.sized_root()));
    }
  }
  return {};
}

Status BundleWriter::sign_head() {
  Impl& run = *impl_;
  ISOBIT_RETURN_IF_ERROR(run.writable());
  if (run.position <= run.head_size) return {};
  // In this order: a head on the disk never speaks of leaves that a power failure can take away.
  ISOBIT_RETURN_IF_ERROR(run.sync_leaves());
  return run.append_head(run.stored.sized_root(run.position));
}

Status BundleWriter::write_checkpoint(uint64_t step, std::span<const ByteView> safetensors,
                                      const commit::Digest& state_root, uint64_t keep) {
  Impl& run = *impl_;
  ISOBIT_RETURN_IF_ERROR(run.writable());
  ISOBIT_CHECK(step < run.position && step <= run.stored.steps());
  ISOBIT_RETURN_IF_ERROR(run.sync_leaves());
  // The record first: a checkpoint that is there and has none would be one that nothing vouches for.
  CheckpointIndex index = run.index;
  index[step] = {entry_of(safetensors), state_root};
  ISOBIT_RETURN_IF_ERROR(write_file_durably(run.folder / kCheckpointIndexFile, encode(index)));
  run.index = std::move(index);
  ISOBIT_TRY(DurableFile file, DurableFile::create(run.checkpoint_path(step)));
  for (const ByteView piece : safetensors) ISOBIT_RETURN_IF_ERROR(file.append(piece));
  ISOBIT_RETURN_IF_ERROR(file.commit());
  auto& steps = run.checkpoints;
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
    steps.insert(std::upper_bound(steps.begin(), steps.end(), step, std::greater<>()), step);
  }
  keep = keep == 0 ? kMaxCheckpoints : std::min(keep, kMaxCheckpoints);
  while (steps.size() > keep) ISOBIT_RETURN_IF_ERROR(run.drop_checkpoint(steps.back()));
  return {};
}

}  // namespace isobit::bundle
