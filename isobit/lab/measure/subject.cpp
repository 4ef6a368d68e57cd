#include "isobit/lab/measure/subject.h"

#include "isobit/base/text.h"
#include "isobit/formats/npy.h"

namespace isobit::lab::measure {
namespace {

Status check_storable(const std::vector<NamedTensor>& inputs) {
  for (const NamedTensor& input : inputs) {
    const Tensor& t = input.tensor;
    if (t.dtype() != DType::kBfloat16 && t.shape().rank() <= formats::kNpyMaxRank) continue;
    return unreadable(text_of("input '", input.name, "': found ", name_of(t.dtype()), " ", t.shape().text(),
                              ", which no .npy file holds and so no worker can be given"));
  }
  return {};
}

}  // namespace

std::vector<records::GraphNode> nodes_of(const onnx::Model& model) {
  std::vector<records::GraphNode> nodes;
  for (const onnx::NodeDef& node : model.graph.nodes) {
    const bool own = node.domain.empty();
    nodes.push_back({own ? node.op : text_of(node.domain, ".", node.op), node.name, node.inputs, node.outputs});
  }
  return nodes;
}

Expected<std::string> settings_of(const fs::path& path, const onnx::Model& model) {
  WatchedFiles files;
  return settings_of(path, model, files);
}

Expected<std::string> settings_of(const fs::path& path, const onnx::Model& model, WatchedFiles& files) {
  std::string text;
  for (const std::string& name : model.external) {
    ISOBIT_TRY(const commit::Digest digest, files.add(path.parent_path() / name));
    text += text_of(text.empty() ? "" : ", ", "weights in '", name, "' of SHA-256 ", commit::hex_of(digest));
  }
  return text;
}

commit::Digest digest_of(const std::vector<NamedTensor>& inputs) {
  ByteWriter out;
  out.u64(inputs.size());
  for (const NamedTensor& input : inputs) {
    out.text(input.name);
    out.text(name_of(input.tensor.dtype()));
    out.u64(input.tensor.shape().dims().size());
    for (const int64_t dim : input.tensor.shape().dims()) out.i64(dim);
    out.fixed(commit::sha256({static_cast<const uint8_t*>(input.tensor.raw()), input.tensor.bytes()}));
  }
  return commit::tagged_hash("isobit.lab.inputs", 1, out.view());
}

Expected<MeasuredModel> open_model(const InferenceRequest& request, ThreadPool& pool) {
  MeasuredModel measured;
  // Before it is read, so that everything that is told of it is of these bytes.
  ISOBIT_TRY(measured.subject.model_sha256, measured.files.add(request.model));
  {
    ISOBIT_TRY(const onnx::Model model, onnx::load_model(request.model, onnx::load_options_within(request.max_memory)));
    measured.nodes = nodes_of(model);
    for (const onnx::ValueDef& output : model.graph.outputs) measured.outputs.push_back(output.name);
    measured.bytes = model.bytes;
    ISOBIT_TRY(measured.subject.settings, settings_of(request.model, model, measured.files));
    ISOBIT_TRY(measured.inputs, inputs_of(request, model, pool));
  }
  ISOBIT_RETURN_IF_ERROR(check_storable(measured.inputs));
  measured.subject.kind = records::SubjectKind::kInference;
  measured.subject.model = request.model.filename().string();
  measured.subject.input_sha256 = digest_of(measured.inputs);
  ISOBIT_RETURN_IF_ERROR(measured.files.check_same());
  return measured;
}

}  // namespace isobit::lab::measure
