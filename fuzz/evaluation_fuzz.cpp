// An evaluation and the proof of one sample: what decodes encodes to the very same bytes, and checking a proof against
// any evaluation does not crash, whatever it claims.
#include <algorithm>

#include "isobit/verify/evaluation.h"

using namespace isobit;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  ByteReader reader(input, "input");
  verify::Evaluation claimed;
  if (const auto evaluation = verify::read_evaluation(reader)) {
    ByteWriter writer;
    verify::write_evaluation(writer, *evaluation);
    ISOBIT_CHECK(std::ranges::equal(writer.view(), input.first(reader.offset())));
    (void)verify::text_of_evaluation(*evaluation);
    (void)train::text_of_metrics(evaluation->samples, evaluation->metrics);
    claimed = *evaluation;
  }
  // A proof alone, or after an evaluation.
  for (const ByteView rest : {input, input.subspan(std::min(reader.offset(), size))}) {
    const auto proof = verify::decode_sample_proof(rest, "input");
    if (!proof) continue;
    ISOBIT_CHECK(std::ranges::equal(verify::encode(*proof), rest));
    (void)verify::verify_sample(*proof, claimed);
    claimed.samples = proof->samples;
    claimed.metrics.resize(proof->sums.size());
    (void)verify::verify_sample(*proof, claimed);
  }
  return 0;
}
