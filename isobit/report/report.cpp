#include "isobit/report/report.h"

#include "isobit/report/document.h"

namespace isobit::report {

Expected<Report> make_report(std::vector<lab::deviation::OpenLab>& labs, const lab::records::Subject& subject,
                             const std::optional<lab::explain::CausesRequest>& causes) {
  ISOBIT_TRY(auto runs, lab::deviation::runs_of(labs, subject));
  if (runs.empty()) return usage_error("the labs hold no run of this subject; measure it first");
  ISOBIT_TRY(auto graph, lab::deviation::graph_of(labs, subject));
  const lab::deviation::TensorSource tensors = lab::deviation::tensors_of(labs);
  ISOBIT_TRY(const auto explanation, lab::explain::explain(subject, std::move(runs), std::move(graph), tensors));
  std::optional<lab::explain::Causes> found;
  if (causes) {
    ISOBIT_TRY(found, lab::explain::find_causes(explanation, tensors, *causes));
  }
  const auto& nodes = explanation.graph;
  const Expected<Layout> layout = nodes.empty() ? Expected<Layout>(Layout()) : lay_out(nodes.size(), edges_of(nodes));
  return Report{document_of(explanation, layout, found ? &*found : nullptr), explanation.comparison.agreement()};
}

}  // namespace isobit::report
