// Gradients of an ONNX file's network in float64, so that another program can check them.
#pragma once

#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/formats/safetensors.h"
#include "isobit/platform/platform.h"

namespace isobit::gradients {

struct Request {
  fs::path model;
  // "input/NAME" for every input, "cotangent/NAME" for outputs that take part: of their shape. Real ones are float64.
  std::vector<NamedTensor> tensors;
  // Values of the file: inputs or initializers of real type. Empty: every parameter that the importer names.
  std::vector<std::string> with_respect_to;
};

// Runs the network, and differentiates the loss sum(output * cotangent) over all outputs that have a cotangent, the way
// a training step is built: loss and gradients are appended to the graph as it is imported, and the whole is retyped.
// Gives back "output/NAME" for every output and "grad/NAME" for every value that the loss follows from, in float64.
// Errors: kUsage for names that the file does not have; else those of the importer, of append_gradients, of retype and
// of the run, each with the stage at which it came ("gradients: node 'x': ...").
Expected<formats::Safetensors> compute(const Request& request, platform::Engine& engine);

}  // namespace isobit::gradients
