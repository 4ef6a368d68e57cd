#include "isobit/verify/head.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kHeadTag = "isobit.head";
constexpr uint32_t kHeadVersion = 1;

Bytes message_of(const SignedHead& head) {
  return commit::signed_payload(kHeadTag, head.job_root, head.run_id, head.key, head.tree.size, head.tree.root);
}

}  // namespace

SignedHead sign_head(const commit::SizedRoot& tree, const EngagementTerms& terms, const commit::SecretKey& trainer) {
  SignedHead head{tree, terms.job_root, terms.run_id, trainer.public_key(), {}};
  head.signature = trainer.sign(message_of(head));
  return head;
}

Status verify_head(const SignedHead& head, const Engagement& engagement) {
  if (head.job_root != engagement.terms.job_root) {
    return rejected(text_of("head of ", head.tree.size, " leaves: field 'job_root': found ",
                            commit::hex_of(head.job_root), ", expected ", commit::hex_of(engagement.terms.job_root)));
  }
  if (head.run_id != engagement.terms.run_id) {
    return rejected(text_of("head of ", head.tree.size, " leaves: field 'run_id': found ", to_hex(head.run_id),
                            ", expected ", to_hex(engagement.terms.run_id)));
  }
  if (!engagement.engages(head.key)) {
    return rejected(text_of("head of ", head.tree.size, " leaves: field 'key': ", commit::hex_of(head.key),
                            " is not among the engaged trainer keys"));
  }
  if (!commit::verify(head.key, message_of(head), head.signature)) {
    return rejected(text_of("head of ", head.tree.size, " leaves: field 'signature': is not valid"));
  }
  return {};
}

Status verify_heads(std::span<const SignedHead> heads, const Engagement& engagement, const Transcript& transcript,
                    const std::string& what) {
  commit::MerkleTree tree;
  const auto hashes = transcript.leaf_hashes();
  for (size_t i = 0; i < heads.size(); ++i) {
    const SignedHead& head = heads[i];
    if (i > 0 && head.tree.size <= heads[i - 1].tree.size) {
      return rejected(text_of(what, ": head ", i, " has ", head.tree.size, " leaves, the one before it ",
                              heads[i - 1].tree.size, "; heads must grow"));
    }
    if (head.tree.size > hashes.size()) {
      return rejected(text_of(what, ": head ", i, " covers ", head.tree.size, " leaves, the transcript has ",
                              hashes.size(), "; leaves that were committed are missing"));
    }
    while (tree.size() < head.tree.size) tree.append(hashes[tree.size()]);
    if (tree.root() != head.tree.root) {
      return rejected(text_of(what, ": head ", i, " of ", head.tree.size, " leaves: field 'root': found ",
                              commit::hex_of(head.tree.root), ", the transcript gives ", commit::hex_of(tree.root())));
    }
    ISOBIT_RETURN_IF_ERROR(verify_head(head, engagement));
  }
  return {};
}

bool head_is_due(const TranscriptRules& rules, uint64_t head_every, uint64_t step) {
  if (step == 0 || !rules.has_state(step)) return false;
  return step / head_every > (step - rules.commit_every) / head_every;
}

Status verify_cadence(std::span<const SignedHead> heads, uint64_t head_every, const Transcript& transcript,
                      const std::string& what) {
  const TranscriptRules& rules = transcript.rules();
  size_t next = 0;
  for (uint64_t step = rules.commit_every; step <= transcript.steps(); step += rules.commit_every) {
    if (!head_is_due(rules, head_every, step)) continue;
    while (next < heads.size() && heads[next].tree.size < step + 1) ++next;
    if (next == heads.size() || heads[next].tree.size != step + 1) {
      return rejected(text_of(what, ": there is no head after step ", step, "; the engagement asks for one every ",
                              head_every, " steps"));
    }
  }
  return {};
}

commit::ConsistencyProof prove_extends(const Transcript& transcript, uint64_t older, uint64_t newer) {
  ISOBIT_CHECK(older <= newer && newer <= transcript.size());
  return commit::prove_consistency(transcript.leaf_hashes().first(newer), older);
}

Status verify_extends(const SignedHead& older, const SignedHead& newer, const commit::ConsistencyProof& proof) {
  if (older.job_root != newer.job_root || older.run_id != newer.run_id) {
    return rejected("the two heads are of different runs");
  }
  return commit::verify_consistency(proof, older.tree, newer.tree);
}

Bytes encode(const SignedHead& head) {
  ByteWriter writer;
  write_frame(writer, kHeadTag, kHeadVersion);
  writer.u64(head.tree.size);
  writer.fixed(head.tree.root);
  writer.fixed(head.job_root);
  writer.fixed(head.run_id);
  writer.fixed(head.key.bytes);
  writer.fixed(head.signature.bytes);
  return writer.take();
}

Expected<SignedHead> decode_head(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kHeadTag, kHeadVersion));
  SignedHead head;
  ISOBIT_TRY(head.tree.size, reader.u64("size"));
  if (head.tree.size > kMaxSteps + 2) {
    return reader.fail("size", text_of("found ", head.tree.size, ", expected at most ", kMaxSteps + 2));
  }
  ISOBIT_TRY(head.tree.root, commit::read_digest(reader, "root"));
  ISOBIT_TRY(head.job_root, commit::read_digest(reader, "job_root"));
  ISOBIT_TRY(head.run_id, commit::read_run_id(reader, "run_id"));
  ISOBIT_TRY(head.key, commit::read_key(reader, "key"));
  ISOBIT_TRY(head.signature, commit::read_signature(reader, "signature"));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return head;
}

}  // namespace isobit::verify
