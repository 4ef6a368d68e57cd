#include "isobit/run/checkpoint.h"

#include "isobit/base/text.h"
#include "isobit/commit/tensor_root.h"

namespace isobit::run {

Expected<CheckpointContents> read_checkpoint(bundle::CheckpointFile file, uint64_t step, const std::string& what,
                                             ThreadPool& pool, const formats::TensorTaker& taker) {
  std::vector<commit::StateEntry> entries;
  // Whose checkpoint it is and of which step: the taker knows neither.
  const auto named = [&](const Status& status) -> Status {
    if (status) return {};
    return tl::unexpected<Error>({status.error().code, text_of(what, ": ", status.error().message)});
  };
  const auto wants = [&](const std::string& name, DType dtype, const Shape& shape) {
    return named(taker.wants(name, dtype, shape));
  };
  const auto hash = [&](NamedTensor tensor) -> Status {
    const commit::TensorRoot root = commit::tensor_root(tensor.name, tensor.tensor, commit::TensorLayout{}, pool);
    entries.push_back({tensor.name, root.digest()});
    return named(taker.take(std::move(tensor)));
  };
  const auto read = [&](uint64_t offset, std::span<uint8_t> to) { return file.read(offset, to); };
  const auto streamed = formats::stream_safetensors(file.size(), read, {wants, hash}, what, file.size());
  ISOBIT_RETURN_IF_ERROR(file.finish());
  if (!streamed) return CheckpointContents{std::nullopt, streamed.error().message};
  const auto root = commit::state_root(entries, step);
  if (!root) return CheckpointContents{std::nullopt, text_of(what, ": ", root.error().message)};
  return CheckpointContents{root->digest(), ""};
}

Status write_checkpoint(bundle::BundleWriter& writer, const train::Trainer& trainer, const commit::Digest& root) {
  const auto step = static_cast<uint64_t>(trainer.step());
  ISOBIT_TRY(const formats::SafetensorsPieces pieces,
             formats::safetensors_pieces({trainer.state(), {{"step", text_of(step)}}}));
  std::vector<ByteView> all = {pieces.header};
  all.insert(all.end(), pieces.data.begin(), pieces.data.end());
  return writer.write_checkpoint(step, all, root, static_cast<uint64_t>(trainer.job().checkpoint_keep));
}

}  // namespace isobit::run
