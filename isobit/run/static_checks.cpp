#include "isobit/run/static_checks.h"

#include <algorithm>

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

std::string steps_text(const std::vector<uint64_t>& steps) {
  std::string text;
  for (uint64_t s : steps) text += text_of(text.empty() ? "" : ", ", s);
  return text.empty() ? "none" : text;
}

struct Checkpoint {
  std::vector<NamedTensor> state;
  commit::Digest root{};
};

Expected<Checkpoint> read_checkpoint(const bundle::BundleReader& reader, uint64_t step, ThreadPool& pool) {
  ISOBIT_TRY(const Bytes bytes, reader.read_checkpoint(step));
  auto file = formats::decode_safetensors(bytes, text_of(reader.folder().string(), ": checkpoint of step ", step),
                                          bytes.size());
  if (!file) {
    return reader.finished() ? rejected(std::move(file).error().message) : tl::unexpected<Error>(file.error());
  }
  ISOBIT_TRY(const commit::StateRoot root, commit::state_root(file->tensors, step, pool));
  return Checkpoint{std::move(file->tensors), root.digest()};
}

}  // namespace

Expected<std::vector<NamedTensor>> committed_state(const bundle::BundleReader& reader, uint64_t step,
                                                   ThreadPool& pool) {
  const std::vector<uint64_t>& steps = reader.checkpoints();
  if (std::find(steps.begin(), steps.end(), step) == steps.end()) {
    return usage_error(
        text_of(reader.folder().string(), ": has no checkpoint of step ", step, "; it has ", steps_text(steps)));
  }
  const auto claimed = reader.transcript().committed_state(step);
  if (!claimed) {
    return usage_error(text_of(reader.folder().string(), ": commits to no state after step ", step,
                               ", so nothing shows whose weights that checkpoint holds"));
  }
  ISOBIT_TRY(Checkpoint found, read_checkpoint(reader, step, pool));
  const bool last = reader.transcript().complete() && step == reader.transcript().rules().steps;
  for (const commit::Digest& root : {*claimed, last ? reader.transcript().final().state_root : *claimed}) {
    if (found.root == root) continue;
    return rejected(text_of(reader.folder().string(), ": the checkpoint of step ", step, " has the state root ",
                            commit::hex_of(found.root), ", the transcript commits to ", commit::hex_of(root)));
  }
  return std::move(found.state);
}

std::optional<verify::AuditVerdict> static_finding(const bundle::BundleReader& reader, ThreadPool& pool) {
  if (auto contradiction = verify::self_contradiction(reader.transcript())) {
    return finding(contradiction->part, "the last step and the final leaf of the transcript claim different states",
                   std::move(contradiction));
  }
  for (uint64_t step : reader.checkpoints()) {
    const auto found = read_checkpoint(reader, step, pool);
    if (!found) return finding(verify::Part::kCheckpoint, found.error().message, std::nullopt);
    if (auto difference = verify::compare_checkpoint(reader.transcript(), step, found->root)) {
      return finding(verify::Part::kCheckpoint,
                     text_of("the checkpoint of step ", step, " is not the state that the transcript commits to"),
                     std::move(difference));
    }
  }
  return std::nullopt;
}

}  // namespace isobit::run
