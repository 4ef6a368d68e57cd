// Chunks of rounding logs and the proofs that show them: what decodes encodes to the very same bytes, and checking a
// proof does not crash, whatever it claims.
#include <algorithm>

#include "isobit/verify/log_tree.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto chunk = verify::decode_log_chunk(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*chunk), input));
  }
  if (const auto proof = verify::decode_log_chunk_proof(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*proof), input));
    (void)verify::verify_log_chunk(*proof, 7, {});
  }
  if (const auto proof = verify::decode_log_absence_proof(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*proof), input));
    for (const uint32_t node : {0u, 3u, UINT32_MAX}) {
      (void)verify::verify_log_absence(*proof, node, 0, 7, log::Kind::kSparse, {});
      (void)verify::verify_log_absence(*proof, node, 0, 7, log::Kind::kOvt, {});
    }
  }
  return 0;
}
