// The rounding log of one step as bytes: a segment. The step's leaf holds the root of its entries (verify/log_tree.h),
// so the log is committed before anybody audits. Byte layout: docs/formats/rounding-log.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/commit/hash.h"
#include "isobit/runtime/stages/step_log.h"

namespace isobit::verify {

// The numbers are those of the format and the indices of LogSegment::log.
enum class LogKind : uint8_t { kSparse = 0, kOvt = 1 };

struct LogSegment {
  uint64_t step = 0;
  std::variant<runtime::SparseLog, runtime::OvtLog> log;

  LogKind kind() const { return static_cast<LogKind>(log.index()); }
  bool operator==(const LogSegment&) const = default;
};

// REQUIRES the order and ranges that step_log.h states. The payload is compressed where that makes it smaller, so the
// bytes may differ between versions of the compressor; the payload before compression does not.
Bytes encode(const LogSegment& segment);

// The segment of `step` of a job that keeps a log of `kind`. schema: the outputs that may have decisions, strictly
// ascending by (node, output), all elements together fewer than 2^56; of a sparse log only outputs 0 count, of an OVT
// log every one must be there. Nothing is allocated beyond what the schema allows.
//
// Of each uncompressed payload and log exactly one is accepted: the one encode() writes. `what` ("rounding log of
// RUN") and the step start every message. kRejected: another step's segment, another kind, or a decision the schema
// has no room for. kUnreadable: damage, bytes that encode() does not write, an unknown version.
Expected<LogSegment> decode_log_segment(ByteView data, uint64_t step, LogKind kind,
                                        std::span<const runtime::LoggedOutput> schema, const std::string& what);

// No segment of this schema that encode() writes is larger.
uint64_t largest_log_segment(LogKind kind, std::span<const runtime::LoggedOutput> schema);

}  // namespace isobit::verify
