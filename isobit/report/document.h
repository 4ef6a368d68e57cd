// The report as a JSON document: what the page shows, and what `isobit explain --json` prints. Keys:
// docs/lab-report.md.
//
// Whatever a lab holds is bounded here: texts are cut, lists end, and "left_out" says what is missing.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "isobit/lab/explain/causes.h"
#include "isobit/report/layout.h"

namespace isobit::report {

constexpr size_t kMaxShownText = 300;       // bytes of a name
constexpr size_t kMaxShownPlatforms = 200;  // also of classes
constexpr size_t kMaxShownValues = 20'000;

// The edges of the graph between its nodes, each once, in order; those from a node to a later one.
std::vector<std::pair<size_t, size_t>> edges_of(const std::vector<lab::records::GraphNode>& graph);

// `layout`: of the graph with these edges, or why there is none. `causes`: null where nobody looked for them.
nlohmann::ordered_json document_of(const lab::explain::Explanation& explanation, const Expected<Layout>& layout,
                                   const lab::explain::Causes* causes = nullptr);

}  // namespace isobit::report
