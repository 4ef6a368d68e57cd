// A JSON record of the published study: what is taken of it fits into a lab.
#include "isobit/lab/study/study.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto study = lab::study::decode_record({data, size}, "aws/cpu/c5-Xeon-net-i0.json");
  if (!study) return 0;
  ISOBIT_CHECK(!study->runs.empty() && study->runs.size() == study->outputs.size());
  for (size_t i = 0; i < study->runs.size(); ++i) {
    ISOBIT_CHECK(study->runs[i].values.front().hash == lab::records::hash_of(study->outputs[i]));
  }
  return 0;
}
