#include "isobit/run/static_checks.h"

#include "isobit/base/text.h"
#include "isobit/commit/tensor_root.h"
#include "isobit/formats/safetensors.h"

namespace isobit::run {

namespace {

verify::AuditVerdict finding(verify::Part part, std::string reason, std::optional<verify::FirstDifference> difference) {
  verify::AuditVerdict verdict = verify::rejected_verdict(part, std::move(reason));
  if (difference) verdict.first_difference = std::move(difference);
  return verdict;
}

Expected<commit::Digest> checkpoint_root(const bundle::BundleReader& reader, uint64_t step, ThreadPool& pool) {
  ISOBIT_TRY(const Bytes bytes, reader.read_checkpoint(step));
  ISOBIT_TRY(const formats::Safetensors file, formats::decode_safetensors(bytes, text_of("checkpoint of step ", step)));
  ISOBIT_TRY(const commit::StateRoot root, commit::state_root(file.tensors, step, pool));
  return root.digest();
}

}  // namespace

std::optional<verify::AuditVerdict> static_finding(const bundle::BundleReader& reader, ThreadPool& pool) {
  if (auto contradiction = verify::self_contradiction(reader.transcript())) {
    return finding(contradiction->part, "the last step and the final leaf of the transcript claim different states",
                   std::move(contradiction));
  }
  for (uint64_t step : reader.checkpoints()) {
    const auto found = checkpoint_root(reader, step, pool);
    if (!found) return finding(verify::Part::kCheckpoint, found.error().message, std::nullopt);
    if (auto difference = verify::compare_checkpoint(reader.transcript(), step, *found)) {
      return finding(verify::Part::kCheckpoint,
                     text_of("the checkpoint of step ", step, " is not the state that the transcript commits to"),
                     std::move(difference));
    }
  }
  return std::nullopt;
}

}  // namespace isobit::run
