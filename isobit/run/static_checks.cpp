#include "isobit/run/static_checks.h"

#include <algorithm>

#include "isobit/base/text.h"

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

Expected<CheckpointContents> read_from(const bundle::BundleReader& reader, uint64_t step, ThreadPool& pool,
                                       const formats::TensorTaker& taker) {
  ISOBIT_TRY(bundle::CheckpointFile file, reader.open_checkpoint(step));
  const std::string what = text_of(reader.folder().string(), ": checkpoint of step ", step);
  return read_checkpoint(std::move(file), step, what, pool, taker);
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
  std::vector<NamedTensor> state;
  const auto keep = [&](NamedTensor tensor) -> Status {
    state.push_back(std::move(tensor));
    return {};
  };
  ISOBIT_TRY(const CheckpointContents found, read_from(reader, step, pool, {want_any, keep}));
  if (!found.state_root) return reader.finished() ? rejected(found.problem) : unreadable(found.problem);
  const bool last = reader.transcript().complete() && step == reader.transcript().rules().steps;
  for (const commit::Digest& root : {*claimed, last ? reader.transcript().final().state_root : *claimed}) {
    if (*found.state_root == root) continue;
    return rejected(text_of(reader.folder().string(), ": the checkpoint of step ", step, " has the state root ",
                            commit::hex_of(*found.state_root), ", the transcript commits to ", commit::hex_of(root)));
  }
  std::ranges::sort(state, {}, &NamedTensor::name);
  return state;
}

Expected<CheckpointRoots> read_checkpoints(const bundle::BundleReader& reader, ThreadPool& pool,
                                           const Progress& progress) {
  CheckpointRoots roots;
  for (uint64_t step : reader.checkpoints()) {
    ISOBIT_TRY(roots[step], read_from(reader, step, pool, only_look()));
    if (progress) progress(roots.size(), reader.checkpoints().size());
  }
  return roots;
}

Expected<CheckpointContents> read_checkpoint_into(const bundle::BundleReader& reader, uint64_t step,
                                                  train::Trainer& trainer, ThreadPool& pool) {
  ISOBIT_TRY(CheckpointContents found, read_from(reader, step, pool, into(trainer)));
  const Status whole = trainer.go_on_from(static_cast<int64_t>(step));
  if (found.state_root && !whole) {
    found = {std::nullopt,
             text_of(reader.folder().string(), ": checkpoint of step ", step, ": ", whole.error().message)};
  }
  return found;
}

std::optional<verify::AuditVerdict> static_finding(const bundle::BundleReader& reader, const CheckpointRoots& roots) {
  if (auto contradiction = verify::self_contradiction(reader.transcript())) {
    return finding(contradiction->part, "the last step and the final leaf of the transcript claim different states",
                   std::move(contradiction));
  }
  for (const auto& [step, found] : roots) {
    if (!found.state_root) return finding(verify::Part::kCheckpoint, found.problem, std::nullopt);
    if (auto difference = verify::compare_checkpoint(reader.transcript(), step, *found.state_root)) {
      return finding(verify::Part::kCheckpoint,
                     text_of("the checkpoint of step ", step, " is not the state that the transcript commits to"),
                     std::move(difference));
    }
  }
  return std::nullopt;
}

}  // namespace isobit::run
