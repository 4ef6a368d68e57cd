// Options that say what an ONNX model is fed: --input, --dim, --seed.
#pragma once

#include "isobit/cli/command.h"
#include "isobit/lab/inference.h"

namespace isobit::cli {

struct ModelInputOptions {
  std::vector<std::string> inputs, dims;
  std::optional<uint64_t> seed;
};
void add_model_input_options(Command& command, ModelInputOptions& options);

// Tensors of .npy files, each "NAME=X.npy" or "X.npy" (no name). `option` starts the messages. Errors: kUsage for what
// is of another form, those of reading .npy files.
Expected<std::vector<NamedTensor>> read_named_tensors(const char* option, const std::vector<std::string>& texts,
                                                      uint64_t max_bytes);

// Into the request: inputs, extents and seed. Errors: kUsage for what is of another form, those of reading .npy files.
Status read_model_inputs(const ModelInputOptions& options, uint64_t max_bytes, lab::InferenceRequest& request);

}  // namespace isobit::cli
