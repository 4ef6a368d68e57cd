#include "isobit/verify/verdict.h"

#include "isobit/base/frame.h"
#include "isobit/base/text.h"

namespace isobit::verify {
namespace {

constexpr std::string_view kAuditorTag = "isobit.verdict.auditor";
constexpr uint32_t kVerdictVersion = 2;
constexpr Part kParts[] = {Part::kSignature, Part::kStructure, Part::kJob,   Part::kInitialState, Part::kBatch,
                           Part::kLoss,      Part::kLog,       Part::kState, Part::kEvaluation,   Part::kCheckpoint};

constexpr FindingKind kKinds[] = {FindingKind::kMissing, FindingKind::kSuperfluous, FindingKind::kBeyondBound,
                                  FindingKind::kCorrections};

void write_names(ByteWriter& writer, const Verdict& v) {
  writer.fixed(v.client_key.bytes);
  writer.boolean(v.engaged.has_value());
  if (v.engaged) {
    writer.fixed(v.engaged->job_root);
    writer.fixed(v.engaged->run_id);
  }
  writer.boolean(v.finished.has_value());
  if (v.finished) {
    writer.fixed(v.finished->transcript_root);
    writer.fixed(v.finished->final_state_root);
    writer.u64(v.finished->last_head.size);
    writer.fixed(v.finished->last_head.root);
  }
}

void write_difference(ByteWriter& writer, const std::optional<FirstDifference>& d) {
  writer.boolean(d.has_value());
  if (!d) return;
  writer.u64(d->step);
  writer.u64(d->first_step);
  writer.u64(d->last_step);
  writer.text(name_of(d->part));
  writer.text(d->claimed);
  writer.text(d->found);
  writer.boolean(d->op.has_value());
  if (d->op) writer.text(*d->op);
}

void write_findings(ByteWriter& writer, const std::vector<LogFinding>& findings) {
  writer.u64(findings.size());
  for (const LogFinding& f : findings) {
    writer.u8(static_cast<uint8_t>(f.kind));
    writer.text(f.op);
    writer.u64(f.count);
    writer.u64(f.expected_most);
  }
}

void write_sample(ByteWriter& writer, const std::optional<SampleNames>& sample) {
  writer.boolean(sample.has_value());
  if (!sample) return;
  writer.u64(sample->seed.size());
  writer.fixed(sample->seed);
  writer.u64(sample->intervals);
  writer.u64(sample->drawn);
}

// Everything that is signed.
void write_body(ByteWriter& writer, const Verdict& v) {
  write_names(writer, v);
  writer.u8(static_cast<uint8_t>(v.audit.outcome));
  writer.boolean(v.audit.complete);
  writer.u64(v.audit.steps_checked);
  write_difference(writer, v.audit.first_difference);
  writer.text(v.audit.reason);
  writer.text(v.platform);
  write_findings(writer, v.findings);
  write_sample(writer, v.sample);
}

Bytes auditor_message(const Verdict& v, const commit::PublicKey& auditor) {
  ByteWriter writer;
  write_frame(writer, kAuditorTag, kVerdictVersion);
  write_body(writer, v);
  writer.fixed(auditor.bytes);
  return writer.take();
}

Status read_names(ByteReader& reader, Verdict& v) {
  ISOBIT_TRY(v.client_key, commit::read_key(reader, "client_key"));
  ISOBIT_TRY(const bool engaged, reader.boolean("engaged"));
  if (engaged) {
    v.engaged.emplace();
    ISOBIT_TRY(v.engaged->job_root, commit::read_digest(reader, "job_root"));
    ISOBIT_TRY(v.engaged->run_id, commit::read_run_id(reader, "run_id"));
  }
  ISOBIT_TRY(const bool finished, reader.boolean("finished"));
  if (!finished) return {};
  if (!engaged) return reader.fail("finished", "names a transcript of no engagement");
  FinishedNames& f = v.finished.emplace();
  ISOBIT_TRY(f.transcript_root, commit::read_digest(reader, "transcript_root"));
  ISOBIT_TRY(f.final_state_root, commit::read_digest(reader, "final_state_root"));
  ISOBIT_TRY(f.last_head.size, reader.u64("last_head.size"));
  ISOBIT_TRY(f.last_head.root, commit::read_digest(reader, "last_head.root"));
  return {};
}

Expected<Part> read_part(ByteReader& reader) {
  ISOBIT_TRY(const std::string name, reader.text("part", kMaxVerdictText));
  for (const Part part : kParts) {
    if (name == name_of(part)) return part;
  }
  return reader.fail("part", "is no part of a run");
}

Expected<std::optional<FirstDifference>> read_difference(ByteReader& reader) {
  ISOBIT_TRY(const bool differs, reader.boolean("first_difference"));
  if (!differs) return std::nullopt;
  FirstDifference d;
  ISOBIT_TRY(d.step, reader.u64("step"));
  ISOBIT_TRY(d.first_step, reader.u64("first_step"));
  ISOBIT_TRY(d.last_step, reader.u64("last_step"));
  ISOBIT_TRY(d.part, read_part(reader));
  ISOBIT_TRY(d.claimed, reader.text("claimed", kMaxVerdictText));
  ISOBIT_TRY(d.found, reader.text("found", kMaxVerdictText));
  ISOBIT_TRY(const bool has_op, reader.boolean("operator"));
  if (has_op) {
    ISOBIT_TRY(d.op, reader.text("operator", kMaxVerdictText));
  }
  return d;
}

Status read_audit(ByteReader& reader, AuditVerdict& audit) {
  ISOBIT_TRY(const uint8_t outcome, reader.u8("outcome"));
  if (outcome > static_cast<uint8_t>(Outcome::kInconclusive)) {
    return reader.fail("outcome",
                       text_of("found ", int{outcome}, ", expected 0 (accepted), 1 (rejected) or 2 (inconclusive)"));
  }
  audit.outcome = static_cast<Outcome>(outcome);
  ISOBIT_TRY(audit.complete, reader.boolean("complete"));
  ISOBIT_TRY(audit.steps_checked, reader.u64("steps_checked"));
  ISOBIT_TRY(audit.first_difference, read_difference(reader));
  ISOBIT_TRY(audit.reason, reader.text("reason", kMaxVerdictText));
  return {};
}

Status read_findings(ByteReader& reader, std::vector<LogFinding>& findings) {
  ISOBIT_TRY(const uint64_t count, reader.u64("findings"));
  if (count > kMaxVerdictFindings) {
    return reader.fail("findings", text_of("found ", count, ", expected at most ", kMaxVerdictFindings));
  }
  for (uint64_t i = 0; i < count; ++i) {
    LogFinding f;
    ISOBIT_TRY(const uint8_t kind, reader.u8("finding.kind"));
    if (kind >= std::size(kKinds))
      return reader.fail("finding.kind", text_of("found ", int{kind}, ", expected 0 to 3"));
    f.kind = kKinds[kind];
    ISOBIT_TRY(f.op, reader.text("finding.operator", kMaxVerdictText));
    ISOBIT_TRY(f.count, reader.u64("finding.count"));
    if (f.count == 0) return reader.fail("finding.count", "is 0, which is no finding");
    ISOBIT_TRY(f.expected_most, reader.u64("finding.expected_at_most"));
    findings.push_back(std::move(f));
  }
  return {};
}

Status read_sample(ByteReader& reader, Verdict& v) {
  ISOBIT_TRY(const bool sampled, reader.boolean("sample"));
  if (!sampled) return {};
  if (!v.finished) return reader.fail("sample", "is of no transcript");
  SampleNames& s = v.sample.emplace();
  ISOBIT_TRY(const uint64_t size, reader.u64("seed"));
  if (size < kMinSeedBytes || size > kMaxSeedBytes) {
    return reader.fail("seed", text_of("has ", size, " bytes, expected ", kMinSeedBytes, " to ", kMaxSeedBytes));
  }
  ISOBIT_TRY(const ByteView seed, reader.fixed("seed", size));
  s.seed.assign(seed.begin(), seed.end());
  ISOBIT_TRY(s.intervals, reader.u64("intervals"));
  ISOBIT_TRY(s.drawn, reader.u64("drawn"));
  if (s.drawn >= s.intervals) return reader.fail("drawn", "is not less than the number of intervals");
  return {};
}

}  // namespace

const char* name_of(FindingKind kind) {
  switch (kind) {
    case FindingKind::kMissing:
      return "missing";
    case FindingKind::kSuperfluous:
      return "superfluous";
    case FindingKind::kBeyondBound:
      return "beyond_bound";
    case FindingKind::kCorrections:
      return "corrections";
  }
  return "";
}

bool Verdict::operator==(const Verdict& other) const { return encode(*this) == encode(other); }

Verdict make_verdict(const commit::PublicKey& client, const std::optional<EngagedNames>& engaged,
                     const std::optional<FinishedNames>& finished, const AuditVerdict& audit,
                     const std::string& platform) {
  ISOBIT_CHECK(!finished || engaged);
  ISOBIT_CHECK(!audit.accepted() || (finished && !audit.first_difference));
  Verdict v{client, engaged, finished, audit, shortened(platform), {}, std::nullopt, std::nullopt};
  v.audit.reason = shortened(v.audit.reason);
  if (auto& d = v.audit.first_difference) {
    d->claimed = shortened(d->claimed);
    d->found = shortened(d->found);
    if (d->op) d->op = shortened(*d->op);
  }
  return v;
}

void sign(Verdict& verdict, const commit::SecretKey& auditor) {
  verdict.signature = {auditor.public_key(), auditor.sign(auditor_message(verdict, auditor.public_key()))};
}

Status verify_verdict(const Verdict& verdict) {
  if (!verdict.signature) return {};
  const auto& [key, signature] = *verdict.signature;
  if (commit::verify(key, auditor_message(verdict, key), signature)) return {};
  return rejected("verdict: field 'signature': is not valid for these words and the auditor's key that they name");
}

Status check_accepts(const Verdict& verdict, const EngagedNames& engaged, const FinishedNames& finished) {
  const auto of_another = [](const char* field, const std::string& found, const std::string& expected) {
    return rejected(text_of("verdict: field '", field, "': found ", found, ", the run has ", expected,
                            ": it is of another run, or of another copy of this one"));
  };
  if (!verdict.engaged || !verdict.finished)
    return rejected("verdict: names no run: the bundle that it is of was rejected before it could say");
  if (verdict.engaged->run_id != engaged.run_id) {
    return of_another("run_id", to_hex(verdict.engaged->run_id), to_hex(engaged.run_id));
  }
  if (verdict.finished->transcript_root != finished.transcript_root) {
    return of_another("transcript_root", commit::hex_of(verdict.finished->transcript_root),
                      commit::hex_of(finished.transcript_root));
  }
  // The other fields depend on these two. A verdict whose fields contradict each other is rejected.
  if (*verdict.engaged != engaged || *verdict.finished != finished) {
    return rejected("verdict: names run id and transcript of this run, and another job root, final state or last head");
  }
  if (verdict.audit.accepted()) return {};
  return rejected(text_of("verdict: is '", name_of(verdict.audit.outcome), "', expected 'accepted'",
                          verdict.audit.reason.empty() ? "" : ": ", verdict.audit.reason));
}

Bytes encode(const Verdict& verdict) {
  ByteWriter writer;
  write_frame(writer, kVerdictTag, kVerdictVersion);
  write_body(writer, verdict);
  writer.boolean(verdict.signature.has_value());
  if (verdict.signature) {
    writer.fixed(verdict.signature->auditor_key.bytes);
    writer.fixed(verdict.signature->signature.bytes);
  }
  return writer.take();
}

Expected<Verdict> decode_verdict(ByteView data, const std::string& what) {
  ByteReader reader(data, what);
  ISOBIT_RETURN_IF_ERROR(read_frame(reader, kVerdictTag, kVerdictVersion));
  Verdict v;
  ISOBIT_RETURN_IF_ERROR(read_names(reader, v));
  ISOBIT_RETURN_IF_ERROR(read_audit(reader, v.audit));
  if (v.audit.accepted() && (!v.finished || v.audit.first_difference)) {
    return reader.fail("outcome", "accepts a run that has no transcript or differs");
  }
  ISOBIT_TRY(v.platform, reader.text("platform", kMaxVerdictText));
  ISOBIT_RETURN_IF_ERROR(read_findings(reader, v.findings));
  ISOBIT_RETURN_IF_ERROR(read_sample(reader, v));
  ISOBIT_TRY(const bool is_signed, reader.boolean("signature"));
  if (is_signed) {
    v.signature.emplace();
    ISOBIT_TRY(v.signature->auditor_key, commit::read_key(reader, "auditor_key"));
    ISOBIT_TRY(v.signature->signature, commit::read_signature(reader, "signature"));
  }
  ISOBIT_RETURN_IF_ERROR(reader.finish());
  return v;
}

}  // namespace isobit::verify
