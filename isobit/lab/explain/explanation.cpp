#include "isobit/lab/explain/explanation.h"

#include <algorithm>

namespace isobit::lab::explain {

size_t Explanation::count(Origin origin) const {
  return static_cast<size_t>(std::ranges::count(forks, origin, &TracedFork::origin));
}

namespace {

Separation separation_of(const Explanation& e, const std::vector<size_t>& platforms, const std::vector<int>& classes,
                         const TracedValue* at) {
  std::vector<Fields> items;
  for (const size_t p : platforms) {
    items.push_back(fields_of(e.comparison.platforms[p].record));
    // The kernel of this very operator, where engines say it.
    if (at != nullptr && at->at[p] != nullptr && !at->at[p]->kernel.empty()) {
      items.back()["kernel of this operator"] = at->at[p]->kernel;
    }
  }
  return separate(items, classes);
}

void separate_output(Explanation& e) {
  std::vector<int> classes;
  for (size_t p = 0; p < e.comparison.platforms.size(); ++p) {
    const int k = e.comparison.platforms[p].equivalence_class;
    if (k == 0) continue;
    e.output_platforms.push_back(p);
    classes.push_back(k);
  }
  e.of_output = separation_of(e, e.output_platforms, classes, nullptr);
}

// Of an introduced fork only platforms of equal inputs are compared.
void separate_fork(Explanation& e) {
  if (e.forks.empty()) return;
  const TracedFork& fork = e.forks[e.first.value_or(0)];
  const TracedValue& value = e.trace.values[fork.value];
  if (fork.splits.empty()) {
    for (size_t p = 0; p < value.classes.size(); ++p) {
      if (value.classes[p] != 0) e.fork_platforms.push_back(p);
    }
  } else {
    for (const auto& group : fork.splits.front()) {
      e.fork_platforms.insert(e.fork_platforms.end(), group.begin(), group.end());
    }
    std::ranges::sort(e.fork_platforms);
  }
  std::vector<int> classes;
  for (const size_t p : e.fork_platforms) classes.push_back(value.classes[p]);
  e.of_fork = separation_of(e, e.fork_platforms, deviation::number_classes(classes), &value);
}

}  // namespace

Expected<Explanation> explain(const records::Subject& subject, std::vector<records::RunRecord> runs,
                              std::vector<records::GraphNode> graph, const deviation::TensorSource& tensors) {
  Explanation e;
  e.runs = std::move(runs);
  e.graph = std::move(graph);
  ISOBIT_TRY(e.comparison, deviation::compare_runs(subject, e.runs, e.graph, tensors));
  e.trace = deviation::align(deviation::runs_by_platform(e.runs), e.graph);
  e.forks = find_forks(subject, e.trace, e.graph);
  for (size_t i = 0; i < e.forks.size() && !e.first; ++i) {
    if (e.forks[i].origin == Origin::kIntroduced) e.first = i;
  }
  ISOBIT_TRY(e.layers, measure_layers(e.trace, tensors));
  separate_output(e);
  separate_fork(e);
  return e;
}

}  // namespace isobit::lab::explain
