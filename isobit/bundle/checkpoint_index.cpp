#include "isobit/bundle/checkpoint_index.h"

#include <algorithm>

#include "isobit/base/frame.h"

namespace isobit::bundle {
namespace {

constexpr std::string_view kCheckpointIndexTag = "isobit.checkpoint_index";
constexpr uint32_t kCheckpointIndexVersion = 1;
constexpr size_t kChecksumBytes = 8;
constexpr size_t kFieldBytes = 8 + 8 + 32 + 32;

Bytes header() {
  ByteWriter writer;
  write_frame(writer, kCheckpointIndexTag, kCheckpointIndexVersion);
  return writer.take();
}

}  // namespace

Bytes encode(const CheckpointIndex& index) {
  ByteWriter writer;
  writer.fixed(header());
  for (const auto& [step, record] : index) {
    ByteWriter fields;
    fields.u64(step);
    fields.u64(record.file.size);
    fields.fixed(record.file.sha256);
    fields.fixed(record.state_root);
    writer.fixed(fields.view());
    writer.fixed(ByteView(commit::sha256(fields.view())).first(kChecksumBytes));
  }
  return writer.take();
}

CheckpointIndex decode_checkpoint_index(ByteView data) {
  CheckpointIndex index;
  const Bytes expected = header();
  if (data.size() < expected.size() || !std::ranges::equal(data.first(expected.size()), expected)) return index;
  constexpr size_t kRecord = kFieldBytes + kChecksumBytes;
  for (data = data.subspan(expected.size()); data.size() >= kRecord; data = data.subspan(kRecord)) {
    const commit::Digest digest = commit::sha256(data.first(kFieldBytes));
    if (!std::ranges::equal(data.subspan(kFieldBytes, kChecksumBytes), ByteView(digest).first(kChecksumBytes)))
      continue;
    ByteReader reader(data.first(kFieldBytes), "checkpoint index");
    const uint64_t step = *reader.u64("step");
    CheckpointRecord record;
    record.file.size = *reader.u64("size");
    record.file.sha256 = *commit::read_digest(reader, "sha256");
    record.state_root = *commit::read_digest(reader, "state_root");
    index.try_emplace(step, record);
  }
  return index;
}

}  // namespace isobit::bundle
