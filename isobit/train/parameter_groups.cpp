#include "isobit/train/parameter_groups.h"

#include <algorithm>

#include "isobit/base/text.h"

namespace isobit::train {
namespace {

constexpr size_t kParametersShown = 4;

// Why no parameter is of group g, counted from 0.
std::string problem_of(const Job& job, size_t g, std::span<const models::Parameter> parameters) {
  const std::string& match = job.groups[g].match;
  const std::string what = text_of("optimizer.group ", g + 1, ": match = '", match, "' ");
  std::vector<std::string> names;
  for (const models::Parameter& p : parameters) names.push_back(p.name);
  if (std::ranges::any_of(names, [&](const std::string& name) { return matches_glob(match, name); })) {
    return text_of(what, "has no parameter left: those that it names are of earlier groups, and the first one counts; ",
                   "put it before them, or remove it");
  }
  const std::string near = nearest_to_glob(match, names);
  if (!near.empty()) return text_of(what, "names no parameter that is trained; did you mean '", near, "'?");
  const bool more = names.size() > kParametersShown;
  names.resize(std::min(names.size(), kParametersShown));
  return text_of(what, "names no parameter that is trained; the network has ", join_some(names, names.size()),
                 more ? " and others" : "");
}

}  // namespace

Expected<std::vector<ParameterPace>> paces_of(const Job& job, std::span<const models::Parameter> parameters) {
  std::vector<ParameterPace> paces;
  std::vector<bool> used(job.groups.size(), false);
  for (const models::Parameter& p : parameters) {
    ParameterPace pace{1, p.decay ? job.weight_decay : 0.0};
    const auto group =
        std::ranges::find_if(job.groups, [&](const ParameterGroup& g) { return matches_glob(g.match, p.name); });
    if (group != job.groups.end()) {
      used[static_cast<size_t>(group - job.groups.begin())] = true;
      pace.lr_factor = group->lr_factor;
      pace.weight_decay = group->weight_decay.value_or(pace.weight_decay);
    }
    paces.push_back(pace);
  }
  const auto unused = std::ranges::find(used, false);
  if (unused == used.end()) return paces;
  return unreadable(problem_of(job, static_cast<size_t>(unused - used.begin()), parameters));
}

}  // namespace isobit::train
