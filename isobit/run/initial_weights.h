// A network with the values of a safetensors file in place of those that it would begin with.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "isobit/base/file.h"
#include "isobit/models/network.h"
#include "isobit/run/job_size.h"

namespace isobit::run {

class InitialWeights : public models::Network {
 public:
  // Reads the file once, tensor by tensor. kUnreadable: no such file, none of weights, or a value that is not finite.
  static Expected<std::shared_ptr<const models::Network>> open(const fs::path& file,
                                                               std::shared_ptr<const models::Network> network,
                                                               const Limits& limits);

  // The network's own model. kUnreadable, with all that is missing, unknown or of another type or shape, unless the
  // file has each of its parameters and buffers and nothing else; but for what PyTorch counts of a batch norm
  // (num_batches_tracked), which nothing here depends on.
  Expected<models::Model> build(const models::ModelConfig& config) const override;
  Expected<std::vector<NamedTensor>> given_values() const override;
  uint64_t given_bytes() const override { return bytes_; }
  int64_t only_batch() const override { return network_->only_batch(); }

 private:
  using Type = std::pair<DType, Shape>;
  InitialWeights(fs::path file, std::shared_ptr<const models::Network> network, uint64_t max_bytes)
      : file_(std::move(file)), network_(std::move(network)), max_bytes_(max_bytes) {}
  Status read_types();
  Status check(const models::Model& model) const;

  const fs::path file_;
  const std::shared_ptr<const models::Network> network_;
  const uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  std::map<std::string, Type> types_;
};

}  // namespace isobit::run
