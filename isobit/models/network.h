// Where the network of a job comes from, as a value: a builder of this room, or a file that a room below knows to read
// and hands upwards as one of these. Whoever trains sees no difference.
#pragma once

#include <memory>
#include <vector>

#include "isobit/models/model.h"

namespace isobit::models {

class Network {
 public:
  virtual ~Network() = default;

  // The network for batches of samples like config.inputs (of builders: of input_shape), in training or in inference
  // form. The same configuration gives the same model; names and shapes of parameters and buffers do not depend on the
  // form. No tensor of the size of a parameter is allocated. kUnreadable where the network does not fit the samples,
  // kUnavailable where that is not known, for want of memory.
  virtual Expected<Model> build(const ModelConfig& config) const = 0;

  // What parameters and buffers of Init::Kind::kGiven begin with, by name, others perhaps among them: float32 or
  // float64 as the file has them. Nobody else holds the tensors. Reads files; kUnreadable and kUnavailable as they are
  // found.
  virtual Expected<std::vector<NamedTensor>> given_values() const = 0;

  // The bytes of what given_values() takes in memory while it reads.
  virtual uint64_t given_bytes() const = 0;

  // Whether batches have one size and no other: that size. 0: they need not.
  virtual int64_t only_batch() const { return 0; }
};

// The builders of this room. kUnreadable for a configuration that names a file.
std::shared_ptr<const Network> built_in();

}  // namespace isobit::models
