#include "isobit/dispute/spot_record.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"
#include "isobit/dispute/recorded.h"
#include "isobit/verify/auditor.h"

namespace isobit::dispute {
namespace {

constexpr uint32_t kSpotFileVersion = 1;
constexpr uint32_t kSpotRecordVersion = 2;  // with questions that list what is drawn once
constexpr std::string_view kFileTag = "isobit.spot.file";

}  // namespace

Bytes encode(const SpotRecord& record) {
  ByteWriter w;
  write_frame(w, record.receipt ? kReceiptSpotRecordTag : kSpotRecordTag, kSpotRecordVersion);
  write_agreement(w, record.engagement, record.receipt);
  w.bytes(record.seed);
  w.u64(record.draws);
  w.boolean(record.step.has_value());
  if (record.step) w.u64(*record.step);
  write_messages(w, record.messages);
  return w.take();
}

Expected<SpotRecord> decode_spot_record(ByteView data, const std::string& what) {
  ByteReader r(data, what);
  if (data.size() > kMaxSpotRecordBytes) return r.fail("size", text_of("is over ", kMaxSpotRecordBytes, " bytes"));
  const bool of_receipt = has_tag(data, kReceiptSpotRecordTag);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, of_receipt ? kReceiptSpotRecordTag : kSpotRecordTag, kSpotRecordVersion));
  SpotRecord record;
  ISOBIT_RETURN_IF_ERROR(read_agreement(r, of_receipt, what, record.engagement, record.receipt));
  ISOBIT_TRY(const ByteView seed, r.bytes("seed", verify::kMaxSeedBytes));
  if (seed.size() < verify::kMinSeedBytes) {
    return r.fail("seed", text_of("has ", seed.size(), " bytes, expected at least ", verify::kMinSeedBytes));
  }
  record.seed.assign(seed.begin(), seed.end());
  ISOBIT_TRY(record.draws, r.u64("draws"));
  if (record.draws < 1 || record.draws > kMaxSpotDraws) {
    return r.fail("draws", text_of("found ", record.draws, ", expected 1 to ", kMaxSpotDraws));
  }
  ISOBIT_TRY(const bool named, r.boolean("step"));
  if (named) {
    ISOBIT_TRY(record.step, r.u64("step"));
  }
  ISOBIT_TRY(record.messages, read_messages(r));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  return record;
}

Expected<SpotProof> prove(const SpotRecord& record, const Subject& subject) {
  ISOBIT_CHECK(record.receipt == subject.receipt);
  const uint64_t steps = subject.rules.steps;
  if (record.step && (*record.step < 1 || *record.step > steps)) {
    return rejected(text_of("it is of step ", *record.step, ", the job has ", steps));
  }
  SpotCheck check(subject, record.seed, record.draws, record.step);
  for (size_t i = 0; i < record.messages.size(); ++i) {
    const SpotCheck::Receipt receipt = check.receive(record.messages[i]);
    if (!receipt.counts) return rejected(text_of("message ", i, " does not count: ", receipt.why_not));
  }
  if (!check.finding()) return rejected("nothing that the trainer showed is false");
  SpotProof proof{*check.finding(), std::nullopt, check.checked().size()};
  if (!record.receipt) proof.transcript_root = check.transcript_root();
  return proof;
}

Bytes seal_spot_file(ByteView content) {
  ByteWriter w;
  write_frame(w, kFileTag, kSpotFileVersion);
  w.bytes(content);
  const commit::Digest sum = commit::sha256(w.view());
  w.fixed(sum);
  return w.take();
}

Expected<Bytes> open_spot_file(ByteView file, const std::string& what) {
  ByteReader r(file, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(r, kFileTag, kSpotFileVersion));
  ISOBIT_TRY(const ByteView content, r.bytes("content", file.size()));
  const commit::Digest sum = commit::sha256(file.first(r.offset()));
  ISOBIT_TRY(const commit::Digest found, commit::read_digest(r, "checksum"));
  ISOBIT_RETURN_IF_ERROR(r.finish());
  if (found != sum) return unreadable(text_of(what, ": is not whole: its checksum is not that of its bytes"));
  return Bytes(content.begin(), content.end());
}

}  // namespace isobit::dispute
