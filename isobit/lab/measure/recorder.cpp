#include "isobit/lab/measure/recorder.h"

#include <fstream>

#include "isobit/base/text.h"

namespace isobit::lab::measure {

using records::Hash128;
using records::ValueRecord;

Status Keeper::offer(const Hash128& hash, ByteView bytes) {
  if (bytes.size() > left_ || !wanted_.contains(hash)) return {};
  wanted_.erase(hash);
  const fs::path path = folder_ / file_of(hash);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return unavailable(text_of(path.string(), ": cannot be written; free some space there"));
  left_ -= bytes.size();
  kept_.push_back(hash);
  return {};
}

ValueRecord value_record(const std::string& name, const Tensor& tensor) {
  ValueRecord value;
  value.name = name;
  value.dtype = name_of(tensor.dtype());
  value.dims = tensor.shape().dims();
  value.hash = records::hash_of({static_cast<const uint8_t*>(tensor.raw()), tensor.bytes()});
  return value;
}

Recorder::Recorder(const graph::Graph& graph, const platform::Platform& platform, Keeper& keeper, int64_t step)
    : graph_(graph),
      names_(platform),
      keeper_(keeper),
      step_(step),
      outputs_(graph.outputs().begin(), graph.outputs().end()),
      hashes_(static_cast<size_t>(graph.value_count())),
      hashed_(static_cast<size_t>(graph.value_count())) {
  values_.reserve(graph.nodes().size());
}

Status Recorder::after_stage(const runtime::NodeRun& run) {
  const std::string kernel = names_.of(run);
  for (size_t o = 0; o < run.outputs.size(); ++o) {
    const Tensor& tensor = run.outputs[o];
    if (!tensor.defined()) continue;
    const auto id = static_cast<size_t>(run.node.outputs[o]);
    const ByteView bytes{static_cast<const uint8_t*>(tensor.raw()), tensor.bytes()};
    const bool seen = run.is_view && o == 0 && hashed_[static_cast<size_t>(run.node.inputs[0])];
    hashes_[id] = seen ? hashes_[static_cast<size_t>(run.node.inputs[0])] : records::hash_of(bytes);
    hashed_[id] = true;
    values_.push_back({graph_.value(run.node.outputs[o]).name, run.node.op, name_of(tensor.dtype()),
                       tensor.shape().dims(), hashes_[id], kernel, outputs_.contains(run.node.outputs[o]), step_});
    ISOBIT_RETURN_IF_ERROR(keeper_.offer(hashes_[id], bytes));
  }
  return {};
}

}  // namespace isobit::lab::measure
