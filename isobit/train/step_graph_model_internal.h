// The network of a job, fitted to its data.
#pragma once

#include "isobit/data/data_shape.h"
#include "isobit/models/network.h"
#include "isobit/train/job.h"

namespace isobit::train {

// The network for `batch` samples. Where the loss is an output of the network and the data have a target, that is the
// last of its inputs. kUnreadable: builders take one input and learn what their loss is of; else as Network::build.
Expected<models::Model> model_for(const Job& job, const data::DataShape& data, int64_t batch, bool training,
                                  const models::Network& network);

// Whether the target is fed to the network itself.
bool feeds_target(const Job& job, const data::DataShape& data);

}  // namespace isobit::train
