#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/verify/engagement_internal.h"
#include "isobit/verify/transcript.h"

namespace isobit::verify {
namespace {

std::string outside(const char* field, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return {};
  return text_of(field, " is ", value, ", expected ", least, " to ", most);
}

std::string problem_of_keys(const EngagementTerms& terms) {
  const auto& keys = terms.trainer_keys;
  if (keys.empty()) return "no trainer key is named, expected at least one";
  if (keys.size() > kMaxTrainerKeys) {
    return text_of(keys.size(), " trainer keys are named, expected at most ", kMaxTrainerKeys);
  }
  for (size_t i = 1; i < keys.size(); ++i) {
    if (!(keys[i - 1] < keys[i])) return "the trainer keys are not in strictly increasing order";
  }
  if (!terms.referee_key) return {};
  if (*terms.referee_key == terms.client_key) return "the referee's key is the client's; a referee is a third party";
  if (std::find(keys.begin(), keys.end(), *terms.referee_key) != keys.end()) {
    return "the referee's key is a trainer's; a referee is a third party";
  }
  return {};
}

std::string problem_of_availability(const char* what, const Availability& a) {
  if (a.by != Keeper::kNobody) return outside(what, a.until, 1, kMaxUnixSeconds);
  return a.until == 0 ? std::string() : text_of(what, " is ", a.until, ", expected 0 where nobody keeps them");
}

void write_availability(ByteWriter& writer, const Availability& a) {
  writer.u8(static_cast<uint8_t>(a.by));
  writer.u64(a.until);
}

Expected<Availability> read_availability(ByteReader& reader, const char* by_field, const char* until_field) {
  ISOBIT_TRY(const uint8_t by, reader.u8(by_field));
  if (by > static_cast<uint8_t>(Keeper::kClient)) {
    return reader.fail(by_field, text_of("found ", int{by}, ", expected 0 (nobody), 1 (trainer) or 2 (client)"));
  }
  ISOBIT_TRY(const uint64_t until, reader.u64(until_field));
  return Availability{static_cast<Keeper>(by), until};
}

}  // namespace

const char* name_of(Keeper keeper) {
  switch (keeper) {
    case Keeper::kNobody:
      return "nobody";
    case Keeper::kTrainer:
      return "trainer";
    case Keeper::kClient:
      return "client";
  }
  return "nobody";
}

std::string problem_of(const EngagementTerms& terms) {
  if (terms.protocol_version != kProtocolVersion) {
    return text_of("protocol_version is ", terms.protocol_version, ", this isobit knows ", kProtocolVersion,
                   terms.protocol_version > kProtocolVersion ? "; update isobit" : "");
  }
  for (const std::string& problem :
       {problem_of_keys(terms), outside("response_seconds", terms.response_seconds, 1, kMaxDeadlineSeconds),
        outside("restart_seconds", terms.restart_seconds, 1, kMaxDeadlineSeconds),
        outside("message_bytes", terms.message_bytes, kMinMessageBytes, kMaxMessageBytes),
        outside("head_every", terms.head_every, 1, kMaxSteps),
        outside("accept_until", terms.accept_until, 0, kMaxUnixSeconds),
        problem_of_availability("checkpoints_until", terms.checkpoints),
        problem_of_availability("salts_until", terms.salts)}) {
    if (!problem.empty()) return problem;
  }
  return {};
}

void write_terms(ByteWriter& writer, const EngagementTerms& terms) {
  writer.u32(terms.protocol_version);
  writer.fixed(terms.job_root);
  writer.fixed(terms.job_digest);
  writer.fixed(terms.run_id);
  writer.fixed(terms.client_key.bytes);
  writer.u64(terms.trainer_keys.size());
  for (const auto& key : terms.trainer_keys) writer.fixed(key.bytes);
  writer.boolean(terms.referee_key.has_value());
  if (terms.referee_key) writer.fixed(terms.referee_key->bytes);
  writer.u64(terms.response_seconds);
  writer.u64(terms.restart_seconds);
  writer.u64(terms.message_bytes);
  writer.u64(terms.head_every);
  writer.u64(terms.accept_until);
  write_availability(writer, terms.checkpoints);
  write_availability(writer, terms.salts);
}

Expected<EngagementTerms> read_terms(ByteReader& reader) {
  EngagementTerms terms;
  ISOBIT_TRY(terms.protocol_version, reader.u32("protocol_version"));
  // What follows may be another form: say so before any of it is read.
  if (terms.protocol_version != kProtocolVersion) return reader.fail("protocol_version", problem_of(terms));
  ISOBIT_TRY(terms.job_root, commit::read_digest(reader, "job_root"));
  ISOBIT_TRY(terms.job_digest, commit::read_digest(reader, "job_digest"));
  ISOBIT_TRY(terms.run_id, commit::read_run_id(reader, "run_id"));
  ISOBIT_TRY(terms.client_key, commit::read_key(reader, "client_key"));
  ISOBIT_TRY(const uint64_t count, reader.u64("trainer_keys"));
  if (count > kMaxTrainerKeys) {
    return reader.fail("trainer_keys", text_of("found ", count, ", expected at most ", kMaxTrainerKeys));
  }
  for (uint64_t i = 0; i < count; ++i) {
    ISOBIT_TRY(const commit::PublicKey key, commit::read_key(reader, "trainer_keys"));
    terms.trainer_keys.push_back(key);
  }
  ISOBIT_TRY(const bool has_referee, reader.boolean("referee_key"));
  if (has_referee) {
    ISOBIT_TRY(terms.referee_key, commit::read_key(reader, "referee_key"));
  }
  ISOBIT_TRY(terms.response_seconds, reader.u64("response_seconds"));
  ISOBIT_TRY(terms.restart_seconds, reader.u64("restart_seconds"));
  ISOBIT_TRY(terms.message_bytes, reader.u64("message_bytes"));
  ISOBIT_TRY(terms.head_every, reader.u64("head_every"));
  ISOBIT_TRY(terms.accept_until, reader.u64("accept_until"));
  ISOBIT_TRY(terms.checkpoints, read_availability(reader, "checkpoints_kept_by", "checkpoints_until"));
  ISOBIT_TRY(terms.salts, read_availability(reader, "salts_kept_by", "salts_until"));
  const std::string problem = problem_of(terms);
  if (!problem.empty()) return reader.fail("terms", problem);
  return terms;
}

}  // namespace isobit::verify
