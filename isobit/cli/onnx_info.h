// What 'isobit info' says of a model in ONNX's format.
#pragma once

#include <string>

#include "isobit/cli/command.h"
#include "isobit/cli/limits.h"

namespace isobit::cli {

Expected<int> describe_onnx(const std::string& file, const LimitOptions& limits, Console& console);

}  // namespace isobit::cli
