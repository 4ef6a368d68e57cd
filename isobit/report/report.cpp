#include "isobit/report/report.h"

#include "isobit/base/printable.h"
#include "isobit/lab/measure/subject.h"
#include "isobit/report/document.h"

namespace isobit::report {

Expected<Report> make_report(std::vector<lab::deviation::OpenLab>& labs, const lab::records::Subject& subject,
                             const std::optional<lab::explain::CausesRequest>& causes,
                             std::optional<onnx::Model> model) {
  std::vector<std::string> from;
  ISOBIT_TRY(auto runs, lab::deviation::runs_of(labs, subject, &from));
  if (runs.empty()) return usage_error("the labs hold no run of this subject; measure it first");
  std::vector<std::string> remarks;
  ISOBIT_TRY(auto graph, lab::deviation::graph_of(labs, subject, &remarks));
  if (causes && subject.kind == lab::records::SubjectKind::kInference) {
    if (!model) {  // which is loaded and hashed once, however large it is
      ISOBIT_TRY(model, lab::explain::measured_model(subject, causes->replay.inference));
    }
    auto own = lab::measure::nodes_of(*model);
    if (!graph.empty() && own != graph) {
      remarks.push_back("The labs' graph of the model is not that of its file, which is the one that is used.");
    }
    graph = std::move(own);
  }
  const lab::deviation::TensorSource tensors = lab::deviation::tensors_of(labs);
  ISOBIT_TRY(const auto explanation, lab::explain::explain(subject, std::move(runs), std::move(graph), tensors));
  std::optional<lab::explain::Causes> found;
  if (causes) {
    ISOBIT_TRY(found, lab::explain::find_causes(explanation, tensors, *causes, std::move(model)));
  }
  const auto& nodes = explanation.graph;
  const Expected<Layout> layout = nodes.empty() ? Expected<Layout>(Layout()) : lay_out(nodes.size(), edges_of(nodes));
  Report made{document_of(explanation, layout, found ? &*found : nullptr), explanation.comparison.agreement()};
  for (const std::string& words : lab::deviation::words_of_contested(explanation.comparison, from)) {
    made.document["answer"].push_back(printable("Beware: " + words + "."));
  }
  for (const std::string& remark : remarks) made.document["left_out"].push_back(printable(remark));
  return made;
}

}  // namespace isobit::report
