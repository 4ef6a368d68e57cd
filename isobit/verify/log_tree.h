// The rounding log of one step as a tree, which the step's leaf commits to: leaves are chunks of the decoded entries,
// so the way a log was compressed does not enter, and one node's entries, or that it has none, can be shown alone. Byte
// layout: docs/formats/rounding-log.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/commit/merkle.h"
#include "isobit/log/segment.h"

namespace isobit::verify {

inline constexpr uint64_t kEntriesPerChunk = 4096;     // sparse
inline constexpr uint64_t kDecisionsPerChunk = 65536;  // ovt

// Entries [first, first + size) of one output. Only the last chunk of an output is not full; an output without entries
// has no chunk in a sparse log, and one of size 0 in an ovt log, where every output has its place.
struct LogChunk {
  uint32_t node = 0;
  uint32_t output = 0;
  uint64_t first = 0;
  uint64_t total = 0;                                                     // of the output
  std::variant<std::vector<log::SparseEntry>, std::vector<uint8_t>> log;  // as in SparseNode, OvtOutput

  log::Kind kind() const { return static_cast<log::Kind>(log.index()); }
  uint64_t size() const;
  bool operator==(const LogChunk&) const = default;
};

// In the order of the tree. REQUIRES of the segment what encode() does.
std::vector<LogChunk> log_chunks(const log::Segment& segment);

Bytes encode(const LogChunk& chunk);
// Accepts exactly what encode() writes of a chunk that some log has.
Expected<LogChunk> decode_log_chunk(ByteView data, const std::string& what);

// What a leaf commits to: step, kind and the tree of the chunks.
commit::Digest log_segment_root(const log::Segment& segment);
commit::Digest log_root(uint64_t step, log::Kind kind, const commit::SizedRoot& chunks);

// That a chunk is in the log of a step.
struct LogChunkProof {
  LogChunk chunk;
  commit::InclusionProof inclusion;
  bool operator==(const LogChunkProof&) const = default;
};

// That an output has no entries: the chunks on both sides of where they would stand. None at all where the log is
// empty.
struct LogAbsenceProof {
  std::optional<LogChunkProof> before, after;
  bool operator==(const LogAbsenceProof&) const = default;
};

// The chunks of a segment, ready to be opened.
class LogTree {
 public:
  explicit LogTree(const log::Segment& segment);
  commit::Digest root() const;
  const std::vector<LogChunk>& chunks() const { return chunks_; }
  // REQUIRES index < chunks().size().
  LogChunkProof prove(uint64_t index) const;
  // Nothing when the output has entries.
  std::optional<LogAbsenceProof> prove_absence(uint32_t node, uint32_t output) const;
  // What the log says of one element of a node's output 0, an entry or nothing (shown_entry). REQUIRES a sparse log.
  LogAbsenceProof prove_entry(uint32_t node, uint64_t position) const;

 private:
  uint64_t step_;
  log::Kind kind_;
  std::vector<LogChunk> chunks_;
  std::vector<commit::Digest> hashes_;
};

// kRejected with the reason unless the proof leads to `root`, the log of `step`, whose kind is that of the chunk.
// What is shown is one chunk in its place; that the whole tree is in order is what an audit checks.
Status verify_log_chunk(const LogChunkProof& proof, uint64_t step, const commit::Digest& root);
// kRejected unless the proof shows that `output` of `node` has no entries in the log of `step`.
Status verify_log_absence(const LogAbsenceProof& proof, uint32_t node, uint32_t output, uint64_t step, log::Kind kind,
                          const commit::Digest& root);

// What a sparse log says of one element of output 0 of `node`: its entry, or that there is none. `before` alone where
// the element's place lies within one chunk, between its first and its last entry; else the chunks on both sides, as of
// an absence. kRejected unless the proof leads to `root` and shows that place.
Expected<std::optional<log::SparseEntry>> shown_entry(const LogAbsenceProof& proof, uint32_t node, uint64_t position,
                                                      uint64_t step, const commit::Digest& root);

// Canonical bytes; the decoders take no others, and allocate nothing that the data do not hold.
Bytes encode(const LogChunkProof& proof);
Bytes encode(const LogAbsenceProof& proof);
Expected<LogChunkProof> decode_log_chunk_proof(ByteView data, const std::string& what);
Expected<LogAbsenceProof> decode_log_absence_proof(ByteView data, const std::string& what);

}  // namespace isobit::verify
