// The parts of a log segment: its frame and the payload of each kind. For segment.cpp, tests and fuzz targets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/base/text.h"
#include "isobit/log/segment.h"

namespace isobit::log::internal {

using Schema = std::span<const LoggedOutput>;

enum class Compression : uint8_t { kStored = 0, kZstd = 1 };

// The whole segment with its payload stored. encode() writes this or something smaller.
Bytes encode_stored(const Segment& segment);
// Everything in front of the payload.
Bytes segment_header(Kind kind, uint64_t step, Compression compression);

Bytes sparse_payload(const SparseLog& log);
Bytes ovt_payload(const OvtLog& log);
Expected<SparseLog> decode_sparse_payload(ByteView payload, Schema schema, const std::string& what);
Expected<OvtLog> decode_ovt_payload(ByteView payload, Schema schema, const std::string& what);

// No payload that fits the schema is longer.
uint64_t max_sparse_payload(Schema schema);
// The one length that a payload of this schema has.
uint64_t ovt_payload_size(Schema schema);

// kRejected: the bytes are well formed and say something that this step of this job cannot say.
inline tl::unexpected<Error> contradiction(std::string_view what, std::string_view field, std::string_view problem) {
  return rejected(text_of(what, ": field '", field, "': ", problem));
}

}  // namespace isobit::log::internal
