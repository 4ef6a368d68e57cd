// An evaluation in the documents that train, eval and info write. Needs the JSON library.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "isobit/train/evaluation.h"

namespace isobit::cli {

// Adds "<prefix>samples", "<prefix>rows" and, unless nothing was scored, "<prefix><metric>" of every metric, as
// train/evaluation.h reads them, and of tokens "<prefix>perplexity".
void add_evaluation(uint64_t samples, std::span<const train::Metric> metrics, const std::string& prefix,
                    nlohmann::ordered_json& document);

}  // namespace isobit::cli
