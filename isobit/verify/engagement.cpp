#include <algorithm>

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/verify/engagement_internal.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kClientTag = "isobit.engagement.client";
constexpr std::string_view kTrainerTag = "isobit.engagement.trainer";
constexpr uint32_t kEngagementVersion = 2;  // of offers too

Bytes client_message(const EngagementTerms& terms) {
  ByteWriter writer;
  write_frame(writer, kClientTag, kEngagementVersion);
  write_terms(writer, terms);
  return writer.take();
}

Bytes trainer_message(const EngagementTerms& terms, const commit::Signature& client_signature,
                      const commit::PublicKey& trainer) {
  ByteWriter writer;
  write_frame(writer, kTrainerTag, kEngagementVersion);
  write_terms(writer, terms);
  writer.fixed(client_signature.bytes);
  writer.fixed(trainer.bytes);
  return writer.take();
}

bool has_key(const EngagementTerms& terms, const commit::PublicKey& key) {
  return std::find(terms.trainer_keys.begin(), terms.trainer_keys.end(), key) != terms.trainer_keys.end();
}

void sort_keys(EngagementTerms& terms) {
  auto& keys = terms.trainer_keys;
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
}

}  // namespace

bool Engagement::engages(const commit::PublicKey& key) const { return has_key(terms, key); }

Expected<Offer> make_offer(EngagementTerms terms, const commit::SecretKey& client) {
  terms.client_key = client.public_key();
  sort_keys(terms);
  const std::string problem = problem_of(terms);
  if (!problem.empty()) return usage_error("engagement: " + problem);
  const commit::Signature signature = client.sign(client_message(terms));
  return Offer{std::move(terms), signature};
}

Status verify_offer(const Offer& offer) {
  const std::string problem = problem_of(offer.terms);
  if (!problem.empty()) return rejected("offer: " + problem);
  if (!commit::verify(offer.terms.client_key, client_message(offer.terms), offer.client_signature)) {
    return rejected("offer: field 'client_signature': is not valid for these terms; ask the client for its offer anew");
  }
  return {};
}

Expected<Engagement> countersign(const Offer& offer, const commit::SecretKey& trainer) {
  ISOBIT_RETURN_IF_ERROR(verify_offer(offer));
  if (!has_key(offer.terms, trainer.public_key())) {
    return usage_error(text_of("engagement: the key ", commit::hex_of(trainer.public_key()),
                               " is not among the trainer keys; use an engaged key"));
  }
  Engagement engagement{offer.terms, offer.client_signature, trainer.public_key(), {}};
  engagement.trainer_signature =
      trainer.sign(trainer_message(offer.terms, offer.client_signature, trainer.public_key()));
  return engagement;
}

Expected<Engagement> make_engagement(EngagementTerms terms, const commit::SecretKey& client,
                                     const commit::SecretKey& trainer) {
  ISOBIT_TRY(const Offer offer, make_offer(std::move(terms), client));
  return countersign(offer, trainer);
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

Status check_terms(const EngagementTerms& found, const EngagementTerms& wanted) {
  if (found == wanted) return {};
  if (found.run_id == wanted.run_id) {
    return rejected("engagement: field 'terms': are others than those of your engagement");
  }
  return rejected(text_of("engagement: field 'run_id': found ", to_hex(found.run_id), ", your engagement has ",
                          to_hex(wanted.run_id), "; the run was made under another one"));
}

Bytes encode(const Offer& offer) {
  ByteWriter writer;
  write_frame(writer, kOfferTag, kEngagementVersion);
  write_terms(writer, offer.terms);
  writer.fixed(offer.client_signature.bytes);
  return writer.take();
}

Expected<Offer> decode_offer(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kOfferTag, kEngagementVersion));
  Offer offer;
  ISOBIT_TRY(offer.terms, read_terms(reader));
  ISOBIT_TRY(offer.client_signature, commit::read_signature(reader, "client_signature"));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return offer;
}

Bytes encode(const Engagement& engagement) {
  ByteWriter writer;
  write_frame(writer, kEngagementTag, kEngagementVersion);
  write_terms(writer, engagement.terms);
  writer.fixed(engagement.client_signature.bytes);
  writer.fixed(engagement.trainer_key.bytes);
  writer.fixed(engagement.trainer_signature.bytes);
  return writer.take();
}

Expected<Engagement> decode_engagement(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kEngagementTag, kEngagementVersion));
  Engagement engagement;
  ISOBIT_TRY(engagement.terms, read_terms(reader));
  ISOBIT_TRY(engagement.client_signature, commit::read_signature(reader, "client_signature"));
  ISOBIT_TRY(engagement.trainer_key, commit::read_key(reader, "trainer_key"));
  if (!engagement.engages(engagement.trainer_key)) {
    return reader.fail("trainer_key", "is not among the engaged keys");
  }
  ISOBIT_TRY(engagement.trainer_signature, commit::read_signature(reader, "trainer_signature"));
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return engagement;
}

}  // namespace isobit::verify
