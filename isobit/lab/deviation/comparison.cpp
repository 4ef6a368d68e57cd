#include "isobit/lab/deviation/comparison.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"
#include "isobit/lab/deviation/comparison_internal.h"

namespace isobit::lab::deviation {

using records::RunRecord;
using records::ValueRecord;

namespace {

std::vector<ValueRecord> outputs_of(const RunRecord& run) {
  std::vector<ValueRecord> outputs;
  std::ranges::copy_if(run.values, std::back_inserter(outputs), [](const ValueRecord& v) { return v.is_output; });
  if (outputs.empty()) outputs = run.values;
  std::ranges::stable_sort(outputs, [](const ValueRecord& a, const ValueRecord& b) {
    return std::tie(a.step, a.name) < std::tie(b.step, b.name);
  });
  return outputs;
}

// Labels are of what a model says of its inputs: of a training there are none, nor of tensors that are no outputs.
std::string labelled_of(const RunRecord& run) {
  if (run.subject.kind == records::SubjectKind::kTraining) return "";
  for (const ValueRecord& v : run.values) {
    if (v.is_output && has_labels(v.dtype, v.dims)) return v.name;
  }
  return "";
}

// What is compared, bit by bit: everything but how it was computed.
using OutputKey = std::vector<std::tuple<int64_t, std::string, std::string, std::vector<int64_t>, records::Hash128>>;

OutputKey key_of(const std::vector<ValueRecord>& outputs) {
  OutputKey key;
  for (const ValueRecord& v : outputs) key.emplace_back(v.step, v.name, v.dtype, v.dims, v.hash);
  return key;
}

// Names, made unique by the CPU, by what the environment has set, or else by a number.
void label(std::vector<PlatformResult>& platforms) {
  constexpr size_t kMostOfAField = 200;
  std::map<std::string, int> uses, numbers;
  const auto count = [&] {
    uses.clear();
    for (const PlatformResult& p : platforms) ++uses[p.label];
  };
  for (PlatformResult& p : platforms) p.label = p.record.name;
  for (const auto& [field, word] : {std::pair("cpu", " on "), std::pair("environment", " with ")}) {
    count();
    for (PlatformResult& p : platforms) {
      const auto found = p.record.fields.find(field);
      if (uses[p.label] < 2 || found == p.record.fields.end() || found->second.size() > kMostOfAField) continue;
      p.label += text_of(word, found->second);
    }
  }
  count();
  for (PlatformResult& p : platforms) {
    if (uses[p.label] > 1) p.label += text_of(" #", ++numbers[p.label]);
  }
}

PlatformResult result_of(const std::vector<const RunRecord*>& runs) {
  PlatformResult result;
  result.record = runs.front()->platform;
  std::vector<OutputKey> plain, tapped;
  const RunRecord* chosen = nullptr;
  const Settled settled_runs = settled(runs);
  for (const RunRecord* run : settled_runs.ran) {
    (run->tapped ? tapped : plain).push_back(key_of(outputs_of(*run)));
    const auto rank = [](const RunRecord& r) { return std::pair(r.tapped, r.repeat); };
    if (chosen == nullptr || rank(*run) < rank(*chosen)) chosen = run;
  }
  if (chosen == nullptr) {
    result.record = runs.back()->platform;
    for (const RunRecord* run : runs) {
      result.error = run->error.empty() ? "its record has no values" : run->error;
    }
    if (!settled_runs.contested.empty()) result.error = "two records claim the same run of it; neither decides";
    return result;
  }
  result.outputs = outputs_of(*chosen);
  result.labelled = labelled_of(*chosen);
  const std::vector<OutputKey>& counted = plain.empty() ? tapped : plain;
  const std::vector<int> classes = number_classes(counted);
  result.runs = counted.size();
  result.distinct = static_cast<size_t>(std::ranges::max(classes));
  const auto changed = [&](const OutputKey& key) { return key != plain.front(); };
  result.changed_by_a_tap = result.distinct == 1 && !plain.empty() && std::ranges::any_of(tapped, changed);
  return result;
}

// Whether model outputs that were recorded with operators are all the same. Of runs that name no output all values are
// in the classes already.
bool differ_when_tapped(const std::vector<std::vector<const RunRecord*>>& by_platform) {
  std::set<OutputKey> keys;
  for (const auto& of_platform : by_platform) {
    for (const RunRecord* run : settled(of_platform).ran) {
      const bool names = std::ranges::any_of(run->values, &ValueRecord::is_output);
      if (run->tapped && names) keys.insert(key_of(outputs_of(*run)));
    }
  }
  return keys.size() > 1;
}

}  // namespace

size_t Comparison::repeated() const {
  return static_cast<size_t>(std::ranges::count_if(platforms, [](const PlatformResult& p) { return p.runs > 1; }));
}

size_t Comparison::nondeterministic() const {
  return static_cast<size_t>(
      std::ranges::count_if(platforms, [](const PlatformResult& p) { return p.disagrees_with_itself(); }));
}

size_t Comparison::ran() const {
  return static_cast<size_t>(
      std::ranges::count_if(platforms, [](const PlatformResult& p) { return p.equivalence_class > 0; }));
}

bool Comparison::too_many_classes() const { return classes.size() > kMostComparedClasses; }

Agreement Comparison::agreement() const {
  if (classes.size() > 1 || nondeterministic() > 0 || differ_when_tapped || !contested.empty())
    return Agreement::kDiffer;
  return ran() > 1 || repeated() > 0 ? Agreement::kAgree : Agreement::kNothingToCompare;
}

const char* name_of(Agreement agreement) {
  switch (agreement) {
    case Agreement::kAgree:
      return "agree";
    case Agreement::kDiffer:
      return "differ";
    case Agreement::kNothingToCompare:
      break;
  }
  return "nothing to compare";
}

Expected<Comparison> compare_runs(const records::Subject& subject, const std::vector<RunRecord>& runs,
                                  const std::vector<records::GraphNode>& graph, const TensorSource& tensors) {
  Comparison comparison;
  comparison.subject = subject;
  for (const RunRecord& run : runs) ISOBIT_CHECK(run.subject == subject);
  const std::vector<std::vector<const RunRecord*>> by_platform = runs_by_platform(runs);
  std::vector<OutputKey> keys;
  std::vector<size_t> ran;
  for (const auto& of_platform : by_platform) {
    for (const auto& [first, second] : settled(of_platform).contested) {
      comparison.contested.push_back({comparison.platforms.size(), first->repeat, first->tapped,
                                      static_cast<size_t>(first - runs.data()),
                                      static_cast<size_t>(second - runs.data())});
    }
    comparison.platforms.push_back(result_of(of_platform));
    if (comparison.platforms.back().runs == 0) continue;
    ran.push_back(comparison.platforms.size() - 1);
    keys.push_back(key_of(comparison.platforms.back().outputs));
  }
  comparison.differ_when_tapped = differ_when_tapped(by_platform);
  label(comparison.platforms);
  const std::vector<int> classes = number_classes(keys);
  for (size_t i = 0; i < ran.size(); ++i) {
    comparison.platforms[ran[i]].equivalence_class = classes[i];
    comparison.classes.resize(std::max(comparison.classes.size(), static_cast<size_t>(classes[i])));
    comparison.classes[static_cast<size_t>(classes[i]) - 1].push_back(ran[i]);
  }
  ISOBIT_RETURN_IF_ERROR(measure_pairs(comparison, tensors));
  comparison.cohorts = flag_cohorts(comparison);
  find_fork(comparison, align(by_platform, graph));
  return comparison;
}

}  // namespace isobit::lab::deviation
