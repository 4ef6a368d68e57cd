// Questions and answers of a spot check, the files that they come in, and records of what was found: what decodes
// encodes to the very same bytes, and what it shows is looked at without a crash, whatever it claims. The first byte
// says as what the rest is read.
#include <algorithm>

#include "isobit/dispute/claims.h"
#include "isobit/dispute/inference.h"
#include "isobit/dispute/spot_record.h"

using namespace isobit;

namespace {

void look_at(const dispute::SpotAnswer& answer) {
  if (const auto* steps = std::get_if<dispute::SpotSteps>(&answer)) {
    dispute::Subject subject{};
    subject.engagement.terms.job_root = verify::job_root(steps->leaves.parts);
    (void)dispute::check_challenge(steps->leaves, subject);
  }
  if (const auto* values = std::get_if<dispute::SpotValues>(&answer)) {
    (void)dispute::spot_units(values->schema);
    if (values->schema.size() == values->list.tensor_roots.size()) {
      (void)dispute::loss_of_values(values->loss, {}, values->schema, values->list.tensor_roots);
    }
    (void)dispute::problem_of_values(values->schema, values->list.tensor_roots, 1, {}, {});
  }
  if (const auto* inference = std::get_if<dispute::SpotInference>(&answer)) {
    const verify::Computation of;
    (void)dispute::spot_units(inference->schema, true);
    if (dispute::check_inference_schema(inference->schema, of)) {
      (void)dispute::problem_of_inference(inference->schema, inference->list.tensor_roots, of, {});
    }
  }
  if (const auto* element = std::get_if<dispute::SpotElement>(&answer)) {
    (void)dispute::ShownTensor::open({"t", DType::kFloat32, {64, 64}, 1}, {}, element->claimed);
    if (element->states) (void)dispute::check_state_tree(*element->states, 3);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const ByteView input(data + 1, size - 1);
  // A stage that came later is read as the last number, so that a kept input means what it meant.
  constexpr size_t kStages = 4, kInference = kStages + 3;
  const size_t as = data[0] % (kInference + 1);
  if (as == kStages + 1) {
    const auto record = dispute::decode_spot_record(input, "input");
    if (record) ISOBIT_CHECK(std::ranges::equal(dispute::encode(*record), input));
    return 0;
  }
  if (as == kStages + 2) {
    const auto content = dispute::open_spot_file(input, "input");
    if (content) ISOBIT_CHECK(std::ranges::equal(dispute::seal_spot_file(*content), input));
    return 0;
  }
  if (as == kStages) {
    const auto question = dispute::decode_spot_question(input, "input");
    if (question) ISOBIT_CHECK(std::ranges::equal(dispute::encode(*question), input));
    return 0;
  }
  const verify::TranscriptRules rules{
      .steps = 8, .commit_every = 2, .loss_dtype = DType::kFloat32, .logged = data[0] >= 128};
  const auto answer = dispute::decode_spot_answer(
      input, static_cast<dispute::SpotStage>(as == kInference ? kStages : as), rules, "input");
  if (!answer) return 0;
  ISOBIT_CHECK(std::ranges::equal(dispute::encode(*answer), input));
  look_at(*answer);
  return 0;
}
