// Samples and leaves shown to who has no data: what decodes encodes to the very same bytes, and checking it does not
// crash, whatever it claims.
#include <algorithm>

#include "isobit/verify/shown_batch.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto sample = verify::decode_shown_sample(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*sample), input));
    (void)verify::verify_sample(*sample, sample->index(), verify::dataset_root(sample->trees));
  }
  if (const auto leaves = verify::decode_shown_leaves(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*leaves), input));
    const std::vector<int64_t> indices(leaves->proof.indices.begin(), leaves->proof.indices.end());
    (void)verify::batch_commitment(*leaves, verify::dataset_root(leaves->trees), 1, indices);
  }
  return 0;
}
