// One case of ONNX's backend tests: a model, and sets of inputs with the outputs that they have to give.
#pragma once

#include <string>
#include <vector>

#include "isobit/base/file.h"
#include "isobit/platform/platform.h"
#include "isobit/tensor/tensor.h"

namespace isobit::conformance {

enum class Verdict {
  kPasses,
  kDiffers,  // an output has other numbers, or another type or shape
  kRefused,  // by the importer, with its reason
  kFails,    // accepted, and then an error of the run
  kNotRun,   // the case itself cannot be read: inputs that are no tensors
  kCrashes,
};
const char* name_of(Verdict verdict);

struct Outcome {
  Verdict verdict = Verdict::kNotRun;
  std::string reason;  // one line
};

// Runs the case under ordered-1 on each of the platforms. The outputs of the first have to be those of the case: floats
// within 1e-3 relative and 1e-7 absolute, anything else exactly. Those of the others have to be the same bits. `bits`,
// if it is not empty: the file that gets type, shape and bytes of every output.
Outcome run_case(const fs::path& folder, const std::vector<platform::Platform>& platforms, const fs::path& bits = {});

// Null when `found` is as good as `wanted`; else how it differs.
std::string difference(const Tensor& found, const Tensor& wanted);

}  // namespace isobit::conformance
