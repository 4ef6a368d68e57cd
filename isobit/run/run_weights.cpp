#include "isobit/run/run_weights.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/bundle/reader.h"
#include "isobit/formats/safetensors.h"
#include "isobit/train/trainer.h"

namespace isobit::run {

Expected<Weights> read_run_weights(const fs::path& folder, std::optional<uint64_t> step,
                                   const std::vector<std::string>& overrides) {
  ISOBIT_TRY(const bundle::BundleReader reader, bundle::BundleReader::open(folder, {}));
  const std::vector<uint64_t>& steps = reader.checkpoints();
  if (steps.empty()) return unreadable(text_of(folder.string(), ": holds no checkpoint"));
  Weights weights;
  weights.step = step.value_or(steps.back());
  if (std::find(steps.begin(), steps.end(), weights.step) == steps.end()) {
    std::string have;
    for (uint64_t s : steps) have += text_of(have.empty() ? "" : ", ", s);
    return usage_error(text_of("--step ", weights.step, ": the run has checkpoints of steps ", have));
  }
  const std::string_view toml(reinterpret_cast<const char*>(reader.job_toml().data()), reader.job_toml().size());
  ISOBIT_TRY(weights.job, train::parse_job(toml, (folder / "job.toml").string(), "", overrides));
  ISOBIT_TRY(const Bytes bytes, reader.read_checkpoint(weights.step));
  ISOBIT_TRY(formats::Safetensors file,
             formats::decode_safetensors(bytes, text_of(folder.string(), ", checkpoint of step ", weights.step)));
  weights.state = std::move(file.tensors);
  return weights;
}

std::vector<NamedTensor> inference_tensors(const std::vector<NamedTensor>& state) {
  std::vector<NamedTensor> out;
  for (const NamedTensor& t : state) {
    if (t.name.find('/') == std::string::npos) out.push_back(t);  // "weight/momentum" is the optimizer's
  }
  return train::in_float32(out);
}

}  // namespace isobit::run
