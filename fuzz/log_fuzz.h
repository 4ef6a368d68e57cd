// What the fuzz targets of both kinds of rounding log share: a schema and a segment out of one input.
#pragma once

#include <algorithm>
#include <vector>

#include "isobit/log/payload_internal.h"

namespace isobit::fuzz {

// The first byte: its low four bits are the number of outputs, 16 asks for zstd. Two bytes an output: how far its
// node (high four bits) and output number (low four) lie from the last one's, and its elements. Then the payload.
inline void try_log_segment(ByteView input, log::Kind kind) {
  if (input.empty()) return;
  const bool compressed = (input[0] & 16) != 0;
  std::vector<log::LoggedOutput> schema;
  size_t at = 1;
  for (unsigned left = input[0] & 15u; left > 0 && at + 2 <= input.size(); --left, at += 2) {
    log::LoggedOutput next{input[at] / 16u, input[at] % 16u, input[at + 1] * uint64_t{input[at + 1]}};
    if (!schema.empty()) {
      const auto& last = schema.back();
      next.output += next.node == 0 ? last.output + 1 : 0;
      next.node += last.node;
    }
    schema.push_back(next);
  }
  const ByteView payload = input.subspan(at);
  using log::internal::Compression;
  Bytes segment = log::internal::segment_header(kind, 7, compressed ? Compression::kZstd : Compression::kStored);
  segment.insert(segment.end(), payload.begin(), payload.end());
  const auto decoded = log::decode_segment(segment, 7, kind, schema, "input");
  // The input as a whole segment too: the header's fields.
  (void)log::decode_segment(input, 7, kind, schema, "input");
  if (!decoded) return;
  if (!compressed) ISOBIT_CHECK(log::internal::encode_stored(*decoded) == segment);
  const auto again = log::decode_segment(log::encode(*decoded), 7, kind, schema, "input");
  ISOBIT_CHECK(again && log::internal::encode_stored(*again) == log::internal::encode_stored(*decoded));
}

}  // namespace isobit::fuzz
