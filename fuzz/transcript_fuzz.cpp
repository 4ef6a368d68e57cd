// A transcript file: what is read encodes to the bytes that were read, up to a torn end; leaves likewise.
#include <algorithm>

#include "isobit/bundle/record_file.h"
#include "isobit/verify/auditor.h"

using namespace isobit;

namespace {

void try_leaf(ByteView input, const verify::TranscriptRules& rules) {
  if (const auto leaf = verify::decode_leaf(input, rules, "leaf")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*leaf), input));
  }
}

// A fuzzer cannot find checksums: the first two bytes choose the rules, then come leaves, each after its length.
void try_leaves(ByteView input) {
  if (input.size() < 2) return;
  const verify::TranscriptRules rules{input[0] % 16u, input[1] % 5u + 1,
                                      input[0] & 16 ? DType::kFloat64 : DType::kFloat32, (input[0] & 32) != 0};
  Bytes file = bundle::transcript_header(rules);
  for (ByteView rest = input.subspan(2); !rest.empty();) {
    const size_t length = std::min<size_t>(rest[0], rest.size() - 1);
    const ByteView leaf = rest.subspan(1, length);
    try_leaf(leaf, rules);
    const Bytes record = bundle::encode_record(leaf);
    file.insert(file.end(), record.begin(), record.end());
    rest = rest.subspan(1 + length);
  }
  if (const auto decoded = bundle::decode_transcript_file(file, "input")) {
    ISOBIT_CHECK(decoded->torn.empty() && decoded->good_bytes == file.size());
    ISOBIT_CHECK(bundle::encode_transcript_file(decoded->transcript) == file);
    (void)verify::self_contradiction(decoded->transcript);
    (void)decoded->transcript.transcript_root();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto file = bundle::decode_transcript_file(input, "input")) {
    ISOBIT_CHECK(file->good_bytes <= size && file->torn.empty() == (file->good_bytes == size));
    ISOBIT_CHECK(std::ranges::equal(bundle::encode_transcript_file(file->transcript), input.first(file->good_bytes)));
  }
  try_leaves(input);
  return 0;
}
