// The parts of a log segment: its frame and the payload of each kind. For log_segment.cpp, tests and fuzz targets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"
#include "isobit/base/text.h"
#include "isobit/verify/log_segment.h"

namespace isobit::verify::internal {

using Schema = std::span<const runtime::LoggedOutput>;

enum class Compression : uint8_t { kStored = 0, kZstd = 1 };

// The whole segment with its payload stored. encode() writes this or something smaller.
Bytes encode_stored(const LogSegment& segment);
// Everything in front of the payload.
Bytes segment_header(LogKind kind, uint64_t step, Compression compression);

Bytes sparse_payload(const runtime::SparseLog& log);
Bytes ovt_payload(const runtime::OvtLog& log);
Expected<runtime::SparseLog> decode_sparse_payload(ByteView payload, Schema schema, const std::string& what);
Expected<runtime::OvtLog> decode_ovt_payload(ByteView payload, Schema schema, const std::string& what);

// Ovt decisions, five to a byte; the digits after the last are 0.
uint64_t packed_size(uint64_t decisions);
void write_packed(ByteWriter& writer, std::span<const uint8_t> decisions);
enum class PackedFault { kNone, kByte, kPadding };
// Fills `decisions`. REQUIRES packed.size() == packed_size(decisions.size()).
PackedFault unpack(ByteView packed, std::span<uint8_t> decisions);

// No payload that fits the schema is longer.
uint64_t max_sparse_payload(Schema schema);
// The length of the only payload length that fits.
uint64_t ovt_payload_size(Schema schema);

// kRejected: the bytes are well formed and say something that this step of this job cannot say.
inline tl::unexpected<Error> contradiction(std::string_view what, std::string_view field, std::string_view problem) {
  return rejected(text_of(what, ": field '", field, "': ", problem));
}

}  // namespace isobit::verify::internal
