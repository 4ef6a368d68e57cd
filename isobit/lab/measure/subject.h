// What a sweep runs everywhere: a model and its inputs, with the hashes by which they are told apart.
#pragma once

#include "isobit/lab/inference.h"
#include "isobit/lab/measure/watched_files.h"
#include "isobit/lab/records/record.h"
#include "isobit/onnx/model.h"

namespace isobit::lab::measure {

struct MeasuredModel {
  records::Subject subject;
  std::vector<records::GraphNode> nodes;  // of the file, in its order
  std::vector<std::string> outputs;       // their names
  std::vector<NamedTensor> inputs;        // given or drawn, under the file's names
  WatchedFiles files;                     // the model and the weights beside it
  uint64_t bytes = 0;                     // of the model in memory
};

// The nodes of a model, in its order, as a lab records them.
std::vector<records::GraphNode> nodes_of(const onnx::Model& model);

// request.platform and the like are not looked at. Errors: those of reading the model and of lab::inputs_of;
// kUnreadable for an input of a type that .npy cannot hold.
Expected<MeasuredModel> open_model(const InferenceRequest& request, ThreadPool& pool);

// Subject::settings of a model: the files that hold weights beside it, and their hashes; "": none. Errors: those of
// reading them.
Expected<std::string> settings_of(const fs::path& path, const onnx::Model& model);
// The same; `files` watches them from then on.
Expected<std::string> settings_of(const fs::path& path, const onnx::Model& model, WatchedFiles& files);

// Of names, types, shapes and bytes (docs/formats/lab.md).
commit::Digest digest_of(const std::vector<NamedTensor>& inputs);

}  // namespace isobit::lab::measure
