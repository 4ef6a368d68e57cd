// The rounding log of one step as bytes: a segment. The step's leaf holds the root of its entries (verify/log_tree.h),
// so the log is committed before anybody audits. Byte layout: docs/formats/rounding-log.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/log/step_log.h"

namespace isobit::log {

struct Segment {
  uint64_t step = 0;
  StepLog log;

  Kind kind() const { return kind_of(log); }
  bool operator==(const Segment&) const = default;
};

// REQUIRES the order and ranges that step_log.h states. The payload is compressed where that makes it smaller, so the
// bytes may differ between versions of the compressor; the payload before compression does not.
Bytes encode(const Segment& segment);

// The segment of `step` of a job that keeps a log of `kind`. schema: the outputs that may have decisions, strictly
// ascending by (node, output), all elements together fewer than 2^56; of a sparse log only outputs 0 count, of an OVT
// log every one must be there. Nothing is allocated beyond what the schema allows.
//
// Of each uncompressed payload and log exactly one is accepted: the one encode() writes. `what` ("rounding log of
// RUN") and the step start every message. kRejected: another step's segment, another kind, or a decision the schema
// has no room for. kUnreadable: damage, bytes that encode() does not write, an unknown version.
Expected<Segment> decode_segment(ByteView data, uint64_t step, Kind kind, std::span<const LoggedOutput> schema,
                                 const std::string& what);

// No segment of this schema that encode() writes is larger.
uint64_t largest_segment(Kind kind, std::span<const LoggedOutput> schema);

}  // namespace isobit::log
