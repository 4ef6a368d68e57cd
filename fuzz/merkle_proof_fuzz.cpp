// One encoding of each proof: what decodes must encode to the very same bytes. Verifying it against some tree must not
// crash, whatever sizes it claims.
#include <algorithm>

#include "isobit/commit/merkle.h"

using namespace isobit;
using namespace isobit::commit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  const Digest leaf{};
  if (const auto proof = decode_inclusion_proof(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(encode(*proof), input));
    (void)verify_inclusion(*proof, leaf, {proof->size, {}});
  }
  if (const auto proof = decode_consistency_proof(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(encode(*proof), input));
    (void)verify_consistency(*proof, {proof->old_size, {}}, {proof->new_size, {}});
  }
  if (const auto proof = decode_multi_proof(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(encode(*proof), input));
    const std::vector<Digest> leaves(proof->indices.size());
    (void)verify_several(*proof, leaves, {proof->size, {}});
  }
  return 0;
}
