#include "isobit/base/text.h"
#include "isobit/commit/merkle.h"
#include "isobit/commit/merkle_internal.h"

namespace isobit::commit {
namespace {

// Each encoding starts with its tag and version, so that one kind is never read as another.
constexpr std::string_view kInclusionTag = "isobit.inclusion-proof", kConsistencyTag = "isobit.consistency-proof",
                           kSeveralTag = "isobit.multi-proof";
constexpr uint32_t kMerkleCodecVersion = 1;

ByteWriter start(std::string_view tag) {
  ByteWriter out;
  out.text(tag);
  out.u32(kMerkleCodecVersion);
  return out;
}

Status read_start(ByteReader& in, std::string_view tag) {
  ISOBIT_TRY(const std::string found, in.text("tag", 64));
  if (found != tag) return in.fail("tag", text_of("found another kind of object, expected ", tag));
  ISOBIT_TRY(const uint32_t version, in.u32("version"));
  if (version != kMerkleCodecVersion) {
    return in.fail("version",
                   text_of("found ", version, ", expected ", kMerkleCodecVersion, "; a newer isobit may read it"));
  }
  return {};
}

// The rest must be exactly `count` digests; checked before anything is allocated.
Expected<std::vector<Digest>> read_rest(ByteReader& in, const char* field, uint64_t count) {
  if (in.remaining() / sizeof(Digest) != count || in.remaining() % sizeof(Digest) != 0) {
    return in.fail(field, text_of("found ", in.remaining(), " bytes, expected ", count, " digests of 32 bytes"));
  }
  std::vector<Digest> out(static_cast<size_t>(count));
  for (Digest& digest : out) {
    ISOBIT_TRY(digest, read_digest(in, field));
  }
  return out;
}

}  // namespace

Bytes encode(const InclusionProof& proof) {
  ByteWriter out = start(kInclusionTag);
  out.u64(proof.index);
  out.u64(proof.size);
  for (const Digest& digest : proof.path) out.fixed(digest);
  return out.take();
}

Bytes encode(const ConsistencyProof& proof) {
  ByteWriter out = start(kConsistencyTag);
  out.u64(proof.old_size);
  out.u64(proof.new_size);
  for (const Digest& digest : proof.nodes) out.fixed(digest);
  return out.take();
}

Bytes encode(const MultiProof& proof) {
  ByteWriter out = start(kSeveralTag);
  out.u64(proof.size);
  out.u64(proof.indices.size());
  for (uint64_t index : proof.indices) out.u64(index);
  for (const Digest& digest : proof.nodes) out.fixed(digest);
  return out.take();
}

Expected<InclusionProof> decode_inclusion_proof(ByteView data, std::string_view what) {
  ByteReader in(data, std::string(what));
  ISOBIT_RETURN_IF_ERROR(read_start(in, kInclusionTag));
  InclusionProof proof;
  ISOBIT_TRY(proof.index, in.u64("index"));
  ISOBIT_TRY(proof.size, in.u64("size"));
  if (proof.index >= proof.size)
    return in.fail("index", text_of("found ", proof.index, ", expected below ", proof.size));
  ISOBIT_TRY(proof.path, read_rest(in, "path", internal::inclusion_path_length(proof.index, proof.size)));
  return proof;
}

Expected<ConsistencyProof> decode_consistency_proof(ByteView data, std::string_view what) {
  ByteReader in(data, std::string(what));
  ISOBIT_RETURN_IF_ERROR(read_start(in, kConsistencyTag));
  ConsistencyProof proof;
  ISOBIT_TRY(proof.old_size, in.u64("old size"));
  ISOBIT_TRY(proof.new_size, in.u64("new size"));
  if (proof.old_size > proof.new_size) {
    return in.fail("old size", text_of("found ", proof.old_size, ", expected at most ", proof.new_size));
  }
  ISOBIT_TRY(proof.nodes, read_rest(in, "nodes", internal::consistency_length(proof.old_size, proof.new_size)));
  return proof;
}

Expected<MultiProof> decode_multi_proof(ByteView data, std::string_view what) {
  ByteReader in(data, std::string(what));
  ISOBIT_RETURN_IF_ERROR(read_start(in, kSeveralTag));
  MultiProof proof;
  ISOBIT_TRY(proof.size, in.u64("size"));
  ISOBIT_TRY(const uint64_t count, in.u64("number of indices"));
  if (count > in.remaining() / sizeof(uint64_t)) {
    return in.fail("number of indices", text_of("found ", count, ", but only ", in.remaining(), " bytes are left"));
  }
  proof.indices.resize(static_cast<size_t>(count));
  for (uint64_t& index : proof.indices) {
    ISOBIT_TRY(index, in.u64("index"));
  }
  if (!internal::proper_indices(proof.indices, proof.size)) {
    return in.fail("index", "the indices are not strictly increasing below the size of the tree");
  }
  ISOBIT_TRY(proof.nodes, read_rest(in, "nodes", internal::several_length(proof.indices, proof.size)));
  return proof;
}

}  // namespace isobit::commit
