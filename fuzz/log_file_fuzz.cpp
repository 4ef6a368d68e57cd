// A log of segments: reading record by record and by lengths alone agree, and what is whole encodes to the bytes that
// were read, up to a torn end.
#include <algorithm>

#include "isobit/bundle/memory_for_test.h"

using namespace isobit;

namespace {

void scan(ByteView input) {
  const bundle::Memory source(input);
  auto reading = bundle::LogScanner::begin(source, "input");
  auto skipping = bundle::LogScanner::begin(source, "input");
  ISOBIT_CHECK(reading.has_value() == skipping.has_value());
  if (!reading) return;
  Bytes again = bundle::log_header();
  Bytes segment;
  while (*reading->next(segment)) {
    ISOBIT_CHECK(*skipping->skip());
    const bundle::LogIndex& index = reading->index();
    const uint64_t step = index.segments();
    ISOBIT_CHECK(skipping->index().bytes() == index.bytes() && skipping->index().offset(step) == index.offset(step));
    ISOBIT_CHECK(std::ranges::equal(input.subspan(index.offset(step), index.size(step)), segment));
    const Bytes record = bundle::encode_record(segment);
    again.insert(again.end(), record.begin(), record.end());
  }
  const uint64_t good = reading->index().bytes();
  ISOBIT_CHECK(good <= input.size() && reading->torn().empty() == (good == input.size()));
  ISOBIT_CHECK(std::ranges::equal(again, input.first(good)));
  ISOBIT_CHECK(reading->digest() == commit::sha256(again));
  while (*skipping->skip()) {
  }
  ISOBIT_CHECK(skipping->index().bytes() <= input.size());
}

// A fuzzer cannot find checksums: segments, each after its length; bytes that follow the last are the torn end.
void scan_segments(ByteView input) {
  Bytes file = bundle::log_header();
  ByteView rest = input;
  for (; !rest.empty() && rest[0] < rest.size(); rest = rest.subspan(1 + rest[0])) {
    const Bytes record = bundle::encode_record(rest.subspan(1, rest[0]));
    file.insert(file.end(), record.begin(), record.end());
  }
  file.insert(file.end(), rest.begin(), rest.end());
  scan(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  scan({data, size});
  scan_segments({data, size});
  return 0;
}
