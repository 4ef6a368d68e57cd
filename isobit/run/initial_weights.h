// A network with the values of a safetensors file in place of those that it would begin with.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "isobit/base/file.h"
#include "isobit/models/network.h"
#include "isobit/run/job_size.h"

namespace isobit::run {

class InitialWeights : public models::Network {
 public:
  // Reads the file once, tensor by tensor. kUnreadable: no such file, none of weights, a value that is not finite, two
  // tensors for one parameter, or a tied one that is not equal.
  static Expected<std::shared_ptr<const models::Network>> open(const fs::path& file,
                                                               std::shared_ptr<const models::Network> network,
                                                               const Limits& limits, models::WeightNames names = {});

  // The network's own model. kUnreadable, with all that is missing, unknown or of another type or shape, unless the
  // file has each of its parameters and buffers and nothing else; but for what PyTorch counts of a batch norm
  // (num_batches_tracked), which nothing here depends on.
  Expected<models::Model> build(const models::ModelConfig& config) const override;
  Expected<std::vector<NamedTensor>> given_values() const override;
  uint64_t given_bytes() const override { return bytes_; }
  int64_t only_batch() const override { return network_->only_batch(); }

 private:
  using Type = std::pair<DType, Shape>;
  InitialWeights(fs::path file, std::shared_ptr<const models::Network> network, uint64_t max_bytes,
                 models::WeightNames names)
      : file_(std::move(file)), network_(std::move(network)), max_bytes_(max_bytes), names_(std::move(names)) {}
  Status read_types();
  // What the network calls a tensor of the file; none for what is passed over.
  std::optional<std::string> own_name(const std::string& in_file) const;
  Status note(const std::string& name, DType dtype, const Shape& shape);
  Status check(const models::Model& model) const;

  const fs::path file_;
  const std::shared_ptr<const models::Network> network_;
  const uint64_t max_bytes_;
  const models::WeightNames names_;
  uint64_t bytes_ = 0;
  std::map<std::string, Type> types_;
};

}  // namespace isobit::run
