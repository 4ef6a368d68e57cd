#include "isobit/service/pieces.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/service/party.pb.h"

namespace isobit::service {

std::vector<PieceView> cut(const std::vector<Bytes>& messages) {
  std::vector<PieceView> pieces;
  for (const Bytes& message : messages) {
    ByteView rest = message;
    do {
      const ByteView bytes = rest.first(std::min(rest.size(), kPieceBytes));
      rest = rest.subspan(bytes.size());
      pieces.push_back({bytes, rest.empty()});
    } while (!rest.empty());
  }
  return pieces;
}

Status Assembly::add(ByteView bytes, bool ends) {
  if (bytes.size() > most_ - bytes_) return unreadable(text_of("the answer has more than ", most_, " bytes"));
  if (!within_) {
    if (messages_.size() == kMaxSaid) return unreadable(text_of("more than ", kMaxSaid, " messages came at once"));
    messages_.emplace_back();
  }
  bytes_ += bytes.size();
  messages_.back().insert(messages_.back().end(), bytes.begin(), bytes.end());
  within_ = !ends;
  return {};
}

Expected<std::vector<Bytes>> Assembly::finish() {
  if (within_) return unreadable("the answer ends in the middle of a message");
  return std::move(messages_);
}

std::string encode(const About& about) {
  AboutReply reply;
  reply.set_version(1);
  reply.set_party(about.party == dispute::Party::kTrainer ? 1 : 2);
  const Bytes engagement = verify::encode(about.engagement);
  reply.set_engagement(engagement.data(), engagement.size());
  for (const commit::PublicKey& key : about.challenger_keys) {
    reply.add_challenger_keys(key.bytes.data(), key.bytes.size());
  }
  return reply.SerializeAsString();
}

Expected<About> decode_about(ByteView data, const std::string& what) {
  AboutReply reply;
  if (data.size() > kMaxGrpcBytes || !reply.ParseFromArray(data.data(), static_cast<int>(data.size()))) {
    return unreadable(what + ": is no description of a party");
  }
  if (reply.version() != 1) {
    return unreadable(text_of(what, ": field 'version': found ", reply.version(), ", expected 1"));
  }
  if (reply.party() != 1 && reply.party() != 2) {
    return unreadable(text_of(what, ": field 'party': found ", reply.party(), ", expected 1 or 2"));
  }
  About about;
  about.party = reply.party() == 1 ? dispute::Party::kTrainer : dispute::Party::kChallenger;
  ISOBIT_TRY(about.engagement, verify::decode_engagement(as_bytes(reply.engagement()), what));
  if (static_cast<size_t>(reply.challenger_keys_size()) > kMaxChallengerKeys) {
    return unreadable(text_of(what, ": field 'challenger_keys': has ", reply.challenger_keys_size(), ", at most ",
                              kMaxChallengerKeys));
  }
  for (const std::string& bytes : reply.challenger_keys()) {
    commit::PublicKey key;
    if (bytes.size() != key.bytes.size()) {
      return unreadable(text_of(what, ": field 'challenger_keys': one has ", bytes.size(), " bytes, expected 32"));
    }
    std::copy(bytes.begin(), bytes.end(), key.bytes.begin());
    about.challenger_keys.push_back(key);
  }
  return about;
}

}  // namespace isobit::service
