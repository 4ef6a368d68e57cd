// The network of an ONNX file, to be trained (docs/onnx.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/models/network.h"
#include "isobit/onnx/import.h"
#include "isobit/run/job_size.h"

namespace isobit::run {

class ImportedNetwork : public models::Network {
 public:
  // outputs: as in ModelConfig. Reads the file and forgets its weights. Errors: as onnx::load_model; kUnreadable for an
  // output that the file does not have.
  static Expected<std::shared_ptr<const models::Network>> open(const fs::path& file,
                                                               const std::vector<std::string>& outputs,
                                                               const Limits& limits);

  // Parameters are the file's float initializers (ImportOptions::opens_parameters), buffers its running statistics.
  // Inputs of samples go to the inputs of the same name; one that is left goes to the one that is left, and the target,
  // where it is fed, to the last. kUnreadable: inputs that do not fit, the file's batch is another, and what
  // onnx::import_model finds.
  Expected<models::Model> build(const models::ModelConfig& config) const override;
  Expected<std::vector<NamedTensor>> given_values() const override;
  uint64_t given_bytes() const override { return given_bytes_; }
  int64_t only_batch() const override { return only_batch_; }

 private:
  ImportedNetwork(fs::path file, std::string output, onnx::LoadOptions load, onnx::Model model);
  // By place among the inputs of the file: that among the inputs of a sample.
  Expected<std::vector<size_t>> matched(const models::ModelConfig& config) const;
  Status fit_input(const onnx::ValueDef& wanted, const models::ModelInput& found, int64_t batch,
                   onnx::ImportOptions& options) const;
  Expected<onnx::ImportOptions> options_for(const models::ModelConfig& config, const std::vector<size_t>& places) const;

  const fs::path file_;
  const std::string output_;  // the one that is learnt from
  const onnx::LoadOptions load_;
  const onnx::Model model_;  // without the data of its weights
  const std::vector<onnx::ValueDef> inputs_;
  uint64_t given_bytes_ = 0;
  int64_t only_batch_ = 0;
};

}  // namespace isobit::run
