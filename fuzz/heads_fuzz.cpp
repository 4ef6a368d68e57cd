// A file of heads, and single heads; checking their signatures must not crash.
#include <algorithm>

#include "isobit/bundle/record_file.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  if (const auto file = bundle::decode_heads_file(input, "input")) {
    ISOBIT_CHECK(file->good_bytes <= size && file->torn.empty() == (file->good_bytes == size));
    Bytes again = bundle::heads_header();
    for (const auto& head : file->heads) {
      const Bytes record = bundle::encode_record(verify::encode(head));
      again.insert(again.end(), record.begin(), record.end());
    }
    ISOBIT_CHECK(std::ranges::equal(again, input.first(file->good_bytes)));
  }
  if (const auto head = verify::decode_head(input, "input")) {
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*head), input));
    verify::Engagement engagement;
    engagement.terms.job_root = head->job_root;
    engagement.terms.run_id = head->run_id;
    engagement.terms.trainer_keys = {head->key};
    (void)verify::verify_head(*head, engagement);
  }
  return 0;
}
