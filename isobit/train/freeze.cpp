#include "isobit/train/freeze.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::train {
namespace {

constexpr size_t kNamesShown = 4;

std::vector<std::string> names_of(const models::Model& model) {
  std::vector<std::string> names;
  for (const models::Parameter& p : model.parameters) names.push_back(p.name);
  for (const models::Buffer& b : model.buffers) names.push_back(b.name);
  return names;
}

Status check_patterns(const Job& job, const models::Model& model) {
  const std::vector<std::string> names = names_of(model);
  for (const std::string& pattern : job.model.freeze) {
    if (std::ranges::any_of(names, [&](const std::string& name) { return matches_glob(pattern, name); })) continue;
    const std::string near = nearest_to_glob(pattern, names);
    return unreadable(text_of("model.freeze: '", pattern, "' names no parameter of the network",
                              near.empty() ? text_of(", which has ", join_quoted(names, kNamesShown))
                                           : text_of("; did you mean '", near, "'?")));
  }
  return {};
}

// What training changes is float32: others are left only where they are frozen.
Status check_type(const graph::Graph& graph, const models::Parameter& p) {
  const DType dtype = graph.value(p.value).dtype;
  if (dtype == DType::kFloat32) return {};
  return unreadable(text_of("the network: parameter '", p.name, "' is ", name_of(dtype),
                            ", and training is in float32; ",
                            "export the network in float32, or freeze the parameter (model.freeze)"));
}

void keep_buffers(BackwardPass& pass) {
  std::vector<models::Buffer> changed;
  for (models::Buffer& b : pass.model.buffers) {
    if (b.updated == graph::kNoValue) {
      pass.frozen.push_back({b.name, b.value, b.init, -1});
    } else {
      changed.push_back(std::move(b));
    }
  }
  pass.model.buffers = std::move(changed);
}

}  // namespace

Status freeze(const Job& job, BackwardPass& pass) {
  ISOBIT_RETURN_IF_ERROR(check_patterns(job, pass.model));
  std::vector<models::Parameter> trained;
  for (size_t i = 0; i < pass.model.parameters.size(); ++i) {
    models::Parameter& p = pass.model.parameters[i];
    const auto place = static_cast<int64_t>(i);
    if (job.model.freezes(p.name)) {
      pass.frozen.push_back({p.name, p.value, p.init, place});
      continue;
    }
    ISOBIT_RETURN_IF_ERROR(check_type(pass.model.graph, p));
    pass.places.push_back(place);
    trained.push_back(std::move(p));
  }
  if (trained.empty()) {
    return unreadable(pass.model.parameters.empty()
                          ? text_of("the network has no parameters that could be trained")
                          : text_of("model.freeze: names every parameter; nothing is left to train"));
  }
  pass.model.parameters = std::move(trained);
  keep_buffers(pass);
  return {};
}

Status freeze_unreached(BackwardPass& pass) {
  std::vector<models::Parameter> reached;
  std::vector<int64_t> places;
  std::vector<graph::ValueId> grads;
  std::vector<std::string> others;
  for (size_t i = 0; i < pass.model.parameters.size(); ++i) {
    models::Parameter& p = pass.model.parameters[i];
    if (pass.grads[i] == graph::kNoValue) {
      others.push_back(p.name);
      pass.frozen.push_back({p.name, p.value, p.init, pass.places[i]});
      continue;
    }
    reached.push_back(std::move(p));
    places.push_back(pass.places[i]);
    grads.push_back(pass.grads[i]);
  }
  if (reached.empty()) return unreadable("the loss follows from no parameter in a way that has a gradient");
  pass.model.parameters = std::move(reached);
  pass.places = std::move(places);
  pass.grads = std::move(grads);
  if (!others.empty()) {
    pass.model.remarks.push_back(text_of("no gradient reaches ", join_quoted(others, kNamesShown), ": frozen"));
  }
  return {};
}

}  // namespace isobit::train
