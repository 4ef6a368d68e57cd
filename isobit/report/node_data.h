// A report as node data of Model Explorer: one number for each node of an ONNX graph, docs/formats/node-data.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "isobit/base/status.h"

namespace isobit::report {

enum class NodeMetric {
  kIntroduced,  // the largest difference, where the node introduces one; else 0
  kPrecision,   // bits of the significand that agree on all platforms
  kClasses,     // different results
};
// kUsage with what there is.
Expected<NodeMetric> parse_node_metric(const std::string& name);

// REQUIRES a document of document.h.
nlohmann::ordered_json node_data_of(const nlohmann::ordered_json& document, NodeMetric metric);

}  // namespace isobit::report
