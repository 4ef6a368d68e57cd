// A dishonest trainer that answers as the cheat that it is: the option --cheat KIND@STEP.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "isobit/adversary/false_value.h"
#include "isobit/base/file.h"
#include "isobit/run/conduct.h"

namespace isobit::cli {

// "KIND@STEP", a cheat of 'isobit cheat' -> how it computes the steps of the run in this folder; nothing of "". kUsage
// for anything else, naming the option.
Expected<std::optional<run::Conduct>> conduct_of(const std::string& option, const std::string& text,
                                                 const fs::path& run, const std::vector<std::string>& overrides);

// The same of an inference: "value@NODE"; null of "".
Expected<std::unique_ptr<adversary::FalseValue>> false_value_of(const std::string& option, const std::string& text);

}  // namespace isobit::cli
