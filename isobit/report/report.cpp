#include "isobit/report/report.h"

#include <nlohmann/json.hpp>

#include "isobit/report/document.h"

namespace isobit::report {

Expected<nlohmann::ordered_json> make_report(lab::explain::Labs& labs, const lab::records::Subject& subject) {
  ISOBIT_TRY(auto runs, labs.runs(subject));
  if (runs.empty()) return usage_error("the labs hold no run of this subject; measure it first");
  ISOBIT_TRY(auto graph, labs.graph(subject));
  ISOBIT_TRY(const auto explanation, lab::explain::explain(subject, std::move(runs), std::move(graph), labs.tensors()));
  const auto& nodes = explanation.graph;
  const Expected<Layout> layout = nodes.empty() ? Expected<Layout>(Layout()) : lay_out(nodes.size(), edges_of(nodes));
  return document_of(explanation, layout);
}

}  // namespace isobit::report
