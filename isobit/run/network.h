// The network of a job as a value: a builder's, or that of the ONNX file that the job names, with the weights that it
// begins with.
#pragma once

#include <memory>

#include "isobit/models/network.h"
#include "isobit/run/job_size.h"
#include "isobit/train/job.h"

namespace isobit::run {

// kUnreadable: a file that is missing or malformed, or is no network of isobit's operators; a job whose network is one
// of a file and that names none. kUnavailable: files that take more memory than the limit. What is kept of a file in
// memory is small: names, shapes, constants; its weights are read again when a training begins.
Expected<std::shared_ptr<const models::Network>> open_network(const train::Job& job, const Limits& limits);

// Whether the job alone says what its network is, so that nothing needs to be opened to know its size.
bool declares_network(const train::Job& job);

// Whether the job names a file of the reader's own that the network or its first values come from.
bool names_files(const train::Job& job);

}  // namespace isobit::run
