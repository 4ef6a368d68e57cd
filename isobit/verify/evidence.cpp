#include "isobit/verify/evidence.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"

namespace isobit::verify {
namespace {

constexpr uint32_t kEvidenceVersion = 1;
constexpr uint8_t kFork = 1;  // the only kind there is
constexpr size_t kMaxPartBytes = 1 << 14;

// A head of `others` that contradicts the leaves of `own`, with the smallest head of `own` that covers as many.
std::optional<ForkEvidence> contradiction(const Engagement& engagement, const History& own,
                                          std::span<const SignedHead> others) {
  commit::MerkleTree tree;
  const auto hashes = own.transcript->leaf_hashes();
  for (const SignedHead& other : others) {
    if (other.tree.size > hashes.size()) break;
    while (tree.size() < other.tree.size) tree.append(hashes[tree.size()]);
    if (tree.root() == other.tree.root) continue;
    const auto covers = [&](const SignedHead& head) { return head.tree.size >= other.tree.size; };
    const auto newer = std::find_if(own.heads.begin(), own.heads.end(), covers);
    if (newer == own.heads.end()) return std::nullopt;
    return ForkEvidence{engagement, other, *newer, tree.root(),
                        prove_extends(*own.transcript, other.tree.size, newer->tree.size)};
  }
  return std::nullopt;
}

std::vector<SignedHead> heads_by(const commit::PublicKey& key, std::span<const SignedHead> heads) {
  std::vector<SignedHead> own;
  std::ranges::copy_if(heads, std::back_inserter(own), [&](const SignedHead& head) { return head.key == key; });
  return own;
}

// Both heads by the trainer that accepted the engagement. A list of keys is the client's alone to write: a key that it
// put beside an honest trainer's must not be able to sign that trainer's second history.
Status check_signer(const ForkEvidence& evidence) {
  const commit::PublicKey &signer = evidence.older.key, &newer = evidence.newer.key;
  if (signer != newer) {
    return rejected(text_of("evidence: the older head is signed by ", commit::hex_of(signer), ", the newer by ",
                            commit::hex_of(newer), ": histories of two trainers convict nobody"));
  }
  const commit::PublicKey& accepted = evidence.engagement.trainer_key;
  if (accepted == signer) return {};
  return rejected(text_of("evidence: engagement: field 'trainer_key': found ", commit::hex_of(accepted), ", expected ",
                          commit::hex_of(signer),
                          ", which signed the heads: an engagement that a trainer has not accepted proves nothing "
                          "about it"));
}

}  // namespace

std::optional<ForkEvidence> find_fork(const Engagement& engagement, const History& a, const History& b) {
  const auto of_a = heads_by(engagement.trainer_key, a.heads), of_b = heads_by(engagement.trainer_key, b.heads);
  auto first = contradiction(engagement, {a.transcript, of_a}, of_b);
  auto second = contradiction(engagement, {b.transcript, of_b}, of_a);
  if (first && second) return first->older.tree.size <= second->older.tree.size ? first : second;
  return first ? first : second;
}

bool heads_contradict(const History& a, const History& b) {
  return contradiction({}, a, b.heads) || contradiction({}, b, a.heads);
}

Status verify_evidence(const ForkEvidence& evidence) {
  const EngagementTerms& terms = evidence.engagement.terms;
  ISOBIT_RETURN_IF_ERROR(verify_engagement(evidence.engagement, terms.client_key));
  ISOBIT_RETURN_IF_ERROR(verify_head(evidence.older, evidence.engagement));
  ISOBIT_RETURN_IF_ERROR(verify_head(evidence.newer, evidence.engagement));
  ISOBIT_RETURN_IF_ERROR(check_signer(evidence));
  const commit::SizedRoot &older = evidence.older.tree, &newer = evidence.newer.tree;
  if (older.size == 0 || older.size > newer.size) {
    return rejected(text_of("evidence: the older head has ", older.size, " leaves and the newer ", newer.size,
                            ", expected 1 <= older <= newer"));
  }
  if (evidence.prefix_root == older.root) {
    return rejected(text_of(
        "evidence: field 'prefix_root': is the root of the older head; the heads do not contradict ", "one another"));
  }
  return commit::verify_consistency(evidence.proof, {older.size, evidence.prefix_root}, newer);
}

Bytes encode(const ForkEvidence& evidence) {
  ByteWriter writer;
  write_frame(writer, kEvidenceTag, kEvidenceVersion);
  writer.u8(kFork);
  writer.bytes(encode(evidence.engagement));
  writer.bytes(encode(evidence.older));
  writer.bytes(encode(evidence.newer));
  writer.fixed(evidence.prefix_root);
  writer.bytes(commit::encode(evidence.proof));
  return writer.take();
}

Expected<ForkEvidence> decode_evidence(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kEvidenceTag, kEvidenceVersion));
  ISOBIT_TRY(const uint8_t kind, reader.u8("kind"));
  if (kind != kFork) return reader.fail("kind", text_of("found ", kind, ", expected ", kFork, " (two heads)"));
  ForkEvidence evidence;
  ISOBIT_TRY(const ByteView engagement, reader.bytes("engagement", kMaxPartBytes));
  ISOBIT_TRY(evidence.engagement, decode_engagement(engagement, text_of(what, ": engagement")));
  ISOBIT_TRY(const ByteView older, reader.bytes("older head", kMaxPartBytes));
  ISOBIT_TRY(evidence.older, decode_head(older, text_of(what, ": older head")));
  ISOBIT_TRY(const ByteView newer, reader.bytes("newer head", kMaxPartBytes));
  ISOBIT_TRY(evidence.newer, decode_head(newer, text_of(what, ": newer head")));
  ISOBIT_TRY(evidence.prefix_root, commit::read_digest(reader, "prefix_root"));
  ISOBIT_TRY(const ByteView proof, reader.bytes("proof", kMaxPartBytes));
  ISOBIT_TRY(evidence.proof, commit::decode_consistency_proof(proof, text_of(what, ": proof")));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return evidence;
}

}  // namespace isobit::verify
