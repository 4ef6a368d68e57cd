#include "isobit/verify/log_tree.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::verify {
namespace {

using Place = std::pair<uint32_t, uint32_t>;

constexpr std::string_view kLogTreeTag = "isobit.log-segment";
constexpr uint32_t kLogTreeVersion = 2;

Place place_of(const LogChunk& chunk) { return {chunk.node, chunk.output}; }

template <class Entries>
void cut(const Entries& entries, uint32_t node, uint32_t output, uint64_t per_chunk, std::vector<LogChunk>& out) {
  uint64_t first = 0;
  do {
    const uint64_t size = std::min<uint64_t>(per_chunk, entries.size() - first);
    const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(first);
    out.push_back({node, output, first, entries.size(), Entries(begin, begin + static_cast<std::ptrdiff_t>(size))});
    first += size;
  } while (first < entries.size());
}

std::string label(uint32_t node, uint32_t output) { return text_of("output ", output, " of node ", node); }

tl::unexpected<Error> no_proof(std::string_view problem) { return rejected(text_of("log proof: ", problem)); }

// Where an entry of a sparse log stands.
using EntryKey = std::pair<uint32_t, uint64_t>;
EntryKey first_key(const LogChunk& chunk) {
  return {chunk.node, std::get<std::vector<log::SparseEntry>>(chunk.log).front().position};
}
EntryKey last_key(const LogChunk& chunk) {
  return {chunk.node, std::get<std::vector<log::SparseEntry>>(chunk.log).back().position};
}
bool holds(const LogChunk& chunk, const EntryKey& key) { return first_key(chunk) <= key && key <= last_key(chunk); }

Expected<commit::Digest> root_of(const LogChunkProof& proof, uint64_t step) {
  ISOBIT_TRY(const commit::Digest tree,
             commit::inclusion_root(proof.inclusion, commit::leaf_hash(encode(proof.chunk))));
  return log_root(step, proof.chunk.kind(), {proof.inclusion.size, tree});
}

}  // namespace

uint64_t LogChunk::size() const {
  return std::visit([](const auto& entries) { return static_cast<uint64_t>(entries.size()); }, log);
}

std::vector<LogChunk> log_chunks(const log::Segment& segment) {
  std::vector<LogChunk> out;
  if (const auto* sparse = std::get_if<log::SparseLog>(&segment.log)) {
    for (const auto& node : sparse->nodes) cut(node.entries, node.node, 0, kEntriesPerChunk, out);
  } else {
    for (const auto& output : std::get<log::OvtLog>(segment.log).outputs) {
      cut(output.decisions, output.node, output.output, kDecisionsPerChunk, out);
    }
  }
  return out;
}

commit::Digest log_root(uint64_t step, log::Kind kind, const commit::SizedRoot& chunks) {
  ByteWriter writer;
  writer.u64(step);
  writer.u8(static_cast<uint8_t>(kind));
  writer.u64(chunks.size);
  writer.fixed(chunks.root);
  return commit::tagged_hash(kLogTreeTag, kLogTreeVersion, writer.view());
}

commit::Digest log_segment_root(const log::Segment& segment) { return LogTree(segment).root(); }

LogTree::LogTree(const log::Segment& segment)
    : step_(segment.step), kind_(segment.kind()), chunks_(log_chunks(segment)) {
  for (const LogChunk& chunk : chunks_) hashes_.push_back(commit::leaf_hash(encode(chunk)));
}

commit::Digest LogTree::root() const { return log_root(step_, kind_, {hashes_.size(), commit::merkle_root(hashes_)}); }

LogChunkProof LogTree::prove(uint64_t index) const { return {chunks_[index], commit::prove_inclusion(hashes_, index)}; }

std::optional<LogAbsenceProof> LogTree::prove_absence(uint32_t node, uint32_t output) const {
  const Place place{node, output};
  const auto after = std::ranges::lower_bound(chunks_, place, {}, place_of);
  if (after != chunks_.end() && place_of(*after) == place) return std::nullopt;
  const auto index = static_cast<uint64_t>(after - chunks_.begin());
  LogAbsenceProof proof;
  if (index > 0) proof.before = prove(index - 1);
  if (index < chunks_.size()) proof.after = prove(index);
  return proof;
}

LogAbsenceProof LogTree::prove_entry(uint32_t node, uint64_t position) const {
  const EntryKey key{node, position};
  // The first chunk that ends at the place or behind it.
  const auto at = std::ranges::lower_bound(chunks_, key, {}, last_key);
  const auto index = static_cast<uint64_t>(at - chunks_.begin());
  LogAbsenceProof proof;
  if (at != chunks_.end() && holds(*at, key)) {
    proof.before = prove(index);
    return proof;
  }
  if (index > 0) proof.before = prove(index - 1);
  if (at != chunks_.end()) proof.after = prove(index);
  return proof;
}

Status verify_log_chunk(const LogChunkProof& proof, uint64_t step, const commit::Digest& root) {
  ISOBIT_TRY(const commit::Digest found, root_of(proof, step));
  if (found != root) return no_proof(text_of("the chunk does not lead to the log of step ", step));
  return {};
}

namespace {

// That both chunks are of the log.
Status check_chunks(const LogAbsenceProof& proof, uint64_t step, log::Kind kind, const commit::Digest& root) {
  for (const auto* side : {&proof.before, &proof.after}) {
    if (!*side) continue;
    if ((*side)->chunk.kind() != kind) return no_proof("a chunk is of the other kind of log");
    ISOBIT_RETURN_IF_ERROR(verify_log_chunk(**side, step, root));
  }
  return {};
}

// That nothing stands between them.
Status check_neighbours(const LogAbsenceProof& proof, uint64_t step, log::Kind kind, const commit::Digest& root) {
  const uint64_t at = proof.before ? proof.before->inclusion.index + 1 : 0;
  const uint64_t size = proof.before ? proof.before->inclusion.size : proof.after ? proof.after->inclusion.size : 0;
  if (proof.after ? proof.after->inclusion.index != at : at != size) {
    return no_proof("the two chunks are not neighbours");
  }
  if (size == 0 && log_root(step, kind, {0, commit::merkle_root({})}) != root) {
    return no_proof(text_of("the log of step ", step, " is not empty"));
  }
  return {};
}

}  // namespace

Expected<std::optional<log::SparseEntry>> shown_entry(const LogAbsenceProof& proof, uint32_t node, uint64_t position,
                                                      uint64_t step, const commit::Digest& root) {
  ISOBIT_RETURN_IF_ERROR(check_chunks(proof, step, log::Kind::kSparse, root));
  if (proof.before && !proof.after && holds(proof.before->chunk, {node, position})) {
    const auto& entries = std::get<std::vector<log::SparseEntry>>(proof.before->chunk.log);
    const auto found = std::ranges::lower_bound(entries, position, {}, &log::SparseEntry::position);
    return found->position == position ? std::optional(*found) : std::nullopt;
  }
  const EntryKey key{node, position};
  const bool in_place =
      (!proof.before || last_key(proof.before->chunk) < key) && (!proof.after || key < first_key(proof.after->chunk));
  if (!in_place) return no_proof(text_of("the chunks do not lie around element ", position, " of node ", node));
  ISOBIT_RETURN_IF_ERROR(check_neighbours(proof, step, log::Kind::kSparse, root));
  return std::optional<log::SparseEntry>();
}

Status verify_log_absence(const LogAbsenceProof& proof, uint32_t node, uint32_t output, uint64_t step, log::Kind kind,
                          const commit::Digest& root) {
  const Place place{node, output};
  ISOBIT_RETURN_IF_ERROR(check_chunks(proof, step, kind, root));
  if (proof.before && !(place_of(proof.before->chunk) < place)) {
    return no_proof(text_of("the chunk before ", label(node, output), " does not stand before it"));
  }
  if (proof.after && !(place < place_of(proof.after->chunk))) {
    return no_proof(text_of("the chunk after ", label(node, output), " does not stand after it"));
  }
  return check_neighbours(proof, step, kind, root);
}

}  // namespace isobit::verify
