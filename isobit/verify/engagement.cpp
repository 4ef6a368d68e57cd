#include "isobit/verify/engagement.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/verify/object.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kTag = "isobit.engagement";
constexpr std::string_view kClientTag = "isobit.engagement.client";
constexpr std::string_view kTrainerTag = "isobit.engagement.trainer";
constexpr uint32_t kVersion = 1;

void write_terms(ByteWriter& writer, const EngagementTerms& terms) {
  writer.fixed(terms.job_root);
  writer.fixed(terms.run_id);
  writer.fixed(terms.client_key.bytes);
  writer.u64(terms.trainer_keys.size());
  for (const auto& key : terms.trainer_keys) writer.fixed(key.bytes);
  writer.u64(terms.response_seconds);
  writer.u64(terms.restart_seconds);
}

// What is wrong with the terms; empty when nothing is.
std::string problem_of(const EngagementTerms& terms) {
  const auto& keys = terms.trainer_keys;
  if (keys.empty()) return "no trainer key is named, expected at least one";
  if (keys.size() > kMaxTrainerKeys) {
    return text_of(keys.size(), " trainer keys are named, expected at most ", kMaxTrainerKeys);
  }
  for (size_t i = 1; i < keys.size(); ++i) {
    if (!(keys[i - 1] < keys[i])) return "the trainer keys are not in strictly increasing order";
  }
  if (terms.response_seconds == 0) return "response_seconds is 0, expected at least 1";
  if (terms.restart_seconds == 0) return "restart_seconds is 0, expected at least 1";
  return {};
}

Bytes client_message(const EngagementTerms& terms) {
  ByteWriter writer;
  write_frame(writer, kClientTag, kVersion);
  write_terms(writer, terms);
  return writer.take();
}

Bytes trainer_message(const EngagementTerms& terms, const commit::Signature& client_signature,
                      const commit::PublicKey& trainer) {
  ByteWriter writer;
  write_frame(writer, kTrainerTag, kVersion);
  write_terms(writer, terms);
  writer.fixed(client_signature.bytes);
  writer.fixed(trainer.bytes);
  return writer.take();
}

bool has_key(const EngagementTerms& terms, const commit::PublicKey& key) {
  return std::find(terms.trainer_keys.begin(), terms.trainer_keys.end(), key) != terms.trainer_keys.end();
}

Expected<commit::PublicKey> read_key(ByteReader& reader, const char* field) {
  commit::PublicKey key;
  ISOBIT_TRY(const ByteView bytes, reader.fixed(field, key.bytes.size()));
  std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
  return key;
}

Expected<commit::Signature> read_signature(ByteReader& reader, const char* field) {
  commit::Signature signature;
  ISOBIT_TRY(const ByteView bytes, reader.fixed(field, signature.bytes.size()));
  std::copy(bytes.begin(), bytes.end(), signature.bytes.begin());
  return signature;
}

Expected<EngagementTerms> read_terms(ByteReader& reader) {
  EngagementTerms terms;
  ISOBIT_TRY(terms.job_root, commit::read_digest(reader, "job_root"));
  ISOBIT_TRY(const ByteView run_id, reader.fixed("run_id", terms.run_id.size()));
  std::copy(run_id.begin(), run_id.end(), terms.run_id.begin());
  ISOBIT_TRY(terms.client_key, read_key(reader, "client_key"));
  ISOBIT_TRY(const uint64_t count, reader.u64("trainer_keys"));
  if (count > kMaxTrainerKeys) {
    return reader.fail("trainer_keys", text_of("found ", count, ", expected at most ", kMaxTrainerKeys));
  }
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(const commit::PublicKey key, read_key(reader, "trainer_keys"));
    terms.trainer_keys.push_back(key);
  }
  ISOBIT_TRY(terms.response_seconds, reader.u64("response_seconds"));
  ISOBIT_TRY(terms.restart_seconds, reader.u64("restart_seconds"));
  const std::string problem = problem_of(terms);
  if (!problem.empty()) return reader.fail("terms", problem);
  return terms;
}

}  // namespace

bool Engagement::engages(const commit::PublicKey& key) const { return has_key(terms, key); }

Expected<commit::Signature> sign_terms(const EngagementTerms& terms, const commit::SecretKey& client) {
  const std::string problem = problem_of(terms);
  if (!problem.empty()) return usage_error("engagement: " + problem);
  if (terms.client_key != client.public_key()) {
    return usage_error(text_of("engagement: the terms name the client ", commit::hex_of(terms.client_key),
                               ", the signing key is ", commit::hex_of(client.public_key())));
  }
  return client.sign(client_message(terms));
}

Expected<Engagement> countersign(const EngagementTerms& terms, const commit::Signature& client_signature,
                                 const commit::SecretKey& trainer) {
  const std::string problem = problem_of(terms);
  if (!problem.empty()) return usage_error("engagement: " + problem);
  if (!commit::verify(terms.client_key, client_message(terms), client_signature)) {
    return rejected("engagement: the client's signature is not valid; ask the client to sign these terms");
  }
  if (!has_key(terms, trainer.public_key())) {
    return usage_error(text_of("engagement: the key ", commit::hex_of(trainer.public_key()),
                               " is not among the trainer keys; use an engaged key"));
  }
  Engagement engagement{terms, client_signature, trainer.public_key(), {}};
  engagement.trainer_signature = trainer.sign(trainer_message(terms, client_signature, trainer.public_key()));
  return engagement;
}

Expected<Engagement> make_engagement(EngagementTerms terms, const commit::SecretKey& client,
                                     const commit::SecretKey& trainer) {
  terms.client_key = client.public_key();
  std::sort(terms.trainer_keys.begin(), terms.trainer_keys.end());
  terms.trainer_keys.erase(std::unique(terms.trainer_keys.begin(), terms.trainer_keys.end()), terms.trainer_keys.end());
  ISOBIT_TRY(const commit::Signature signature, sign_terms(terms, client));
  return countersign(terms, signature, trainer);
}

Status verify_engagement(const Engagement& engagement, const commit::PublicKey& pinned_client) {
  const EngagementTerms& terms = engagement.terms;
  const std::string problem = problem_of(terms);
  if (!problem.empty()) return rejected("engagement: " + problem);
  if (terms.client_key != pinned_client) {
    return rejected(text_of("engagement: field 'client_key': found ", commit::hex_of(terms.client_key), ", expected ",
                            commit::hex_of(pinned_client), "; this run was not made for the client you trust"));
  }
  if (!commit::verify(terms.client_key, client_message(terms), engagement.client_signature)) {
    return rejected("engagement: field 'client_signature': is not valid for these terms");
  }
  if (!engagement.engages(engagement.trainer_key)) {
    return rejected(text_of("engagement: field 'trainer_key': ", commit::hex_of(engagement.trainer_key),
                            " is not among the engaged keys"));
  }
  const Bytes message = trainer_message(terms, engagement.client_signature, engagement.trainer_key);
  if (!commit::verify(engagement.trainer_key, message, engagement.trainer_signature)) {
    return rejected("engagement: field 'trainer_signature': is not valid for these terms");
  }
  return {};
}

Bytes encode(const Engagement& engagement) {
  ByteWriter writer;
  write_frame(writer, kTag, kVersion);
  write_terms(writer, engagement.terms);
  writer.fixed(engagement.client_signature.bytes);
  writer.fixed(engagement.trainer_key.bytes);
  writer.fixed(engagement.trainer_signature.bytes);
  return writer.take();
}

Expected<Engagement> decode_engagement(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kTag, kVersion));
  Engagement engagement;
  ISOBIT_TRY(engagement.terms, read_terms(reader));
  ISOBIT_TRY(engagement.client_signature, read_signature(reader, "client_signature"));
  ISOBIT_TRY(engagement.trainer_key, read_key(reader, "trainer_key"));
  if (!engagement.engages(engagement.trainer_key)) {
    return reader.fail("trainer_key", "is not among the engaged keys");
  }
  ISOBIT_TRY(engagement.trainer_signature, read_signature(reader, "trainer_signature"));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return engagement;
}

}  // namespace isobit::verify
