// What an auditor says of a run, as a document: it names the run it speaks of and may be signed. Byte layout:
// docs/formats/verdict.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/merkle.h"
#include "isobit/commit/signature.h"
#include "isobit/verify/auditor.h"

namespace isobit::verify {

inline constexpr std::string_view kVerdictTag = "isobit.verdict";
inline constexpr size_t kMaxVerdictBytes = 1 << 16;
inline constexpr size_t kMaxVerdictFindings = 256;

// From the engagement, whose signatures were valid.
struct EngagedNames {
  commit::Digest job_root{};
  commit::RunId run_id{};
  bool operator==(const EngagedNames&) const = default;
};

// From the transcript, whose last head the trainer signed.
struct FinishedNames {
  commit::Digest transcript_root{};
  commit::Digest final_state_root{};
  commit::SizedRoot last_head;
  bool operator==(const FinishedNames&) const = default;
};

// What the log of a logged run has that no honest trainer's would: it convicts nobody, and whoever reads an acceptance
// should know it.
enum class FindingKind : uint8_t { kMissing = 0, kSuperfluous = 1, kBeyondBound = 2, kCorrections = 3 };
const char* name_of(FindingKind kind);  // "missing", "superfluous", "beyond_bound", "corrections"

struct LogFinding {
  FindingKind kind = FindingKind::kMissing;
  std::string op;              // "Conv"; empty: all operators together
  uint64_t count = 0;          // at least 1
  uint64_t expected_most = 0;  // in an honest log
  bool operator==(const LogFinding&) const = default;
};

// How a sample was drawn: with these and the transcript whoever likes can draw it again (draw_intervals).
struct SampleNames {
  Bytes seed;              // kMinSeedBytes .. kMaxSeedBytes
  uint64_t intervals = 0;  // that the run has
  uint64_t drawn = 0;      // beside the last one, which is always replayed; less than `intervals`
  bool operator==(const SampleNames&) const = default;
};

struct VerdictSignature {
  commit::PublicKey auditor_key;
  commit::Signature signature;
  bool operator==(const VerdictSignature&) const = default;
};

struct Verdict {
  commit::PublicKey client_key;  // the one that the auditor trusted
  // As far as the bundle got: none where it was rejected before they could be believed.
  std::optional<EngagedNames> engaged;
  std::optional<FinishedNames> finished;  // only with `engaged`; always when accepted
  AuditVerdict audit;                     // first_difference is present only when not accepted
  std::string platform;                   // where the auditor replayed
  std::vector<LogFinding> findings;       // of the steps that were checked; at most kMaxVerdictFindings
  std::optional<SampleNames> sample;      // where only a sample was replayed; only with `finished`
  std::optional<VerdictSignature> signature;

  bool operator==(const Verdict&) const;
};

// A verdict without findings, sample and signature. Texts that are too long lose their end.
Verdict make_verdict(const commit::PublicKey& client, const std::optional<EngagedNames>& engaged,
                     const std::optional<FinishedNames>& finished, const AuditVerdict& audit,
                     const std::string& platform);

// Signs everything else in the verdict.
void sign(Verdict& verdict, const commit::SecretKey& auditor);
// kRejected when there is a signature and it is not valid. An unsigned verdict passes: nobody stands by it.
Status verify_verdict(const Verdict& verdict);

// kRejected unless the verdict is of a run with these names and accepts it, whole or in part.
Status check_accepts(const Verdict& verdict, const EngagedNames& engaged, const FinishedNames& finished);

Bytes encode(const Verdict& verdict);
// Accepts exactly what encode() writes; checks no signature. `what` starts the messages.
Expected<Verdict> decode_verdict(ByteView data, const std::string& what);

}  // namespace isobit::verify
