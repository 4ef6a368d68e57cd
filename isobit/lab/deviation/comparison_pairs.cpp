// How far the classes of a comparison lie apart.
#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/lab/deviation/comparison_internal.h"

namespace isobit::lab::deviation {
namespace {

using records::ValueRecord;

constexpr uint64_t kCacheBytes = uint64_t{1} << 30;

// The tensors that were asked for, as long as they are few enough.
class Cache {
 public:
  explicit Cache(const TensorSource& source) : source_(source) {}
  Expected<std::optional<Bytes>> operator()(const records::Hash128& hash) {
    if (const auto known = tensors_.find(hash); known != tensors_.end()) return known->second;
    ISOBIT_TRY(std::optional<Bytes> bytes, source_(hash));
    const uint64_t size = bytes ? bytes->size() : 0;
    if (held_ + size <= kCacheBytes) {
      held_ += size;
      tensors_.emplace(hash, bytes);
    }
    return bytes;
  }

 private:
  const TensorSource& source_;
  std::map<records::Hash128, std::optional<Bytes>> tensors_;
  uint64_t held_ = 0;
};

TensorView view(const ValueRecord& value, const Bytes& bytes) { return {value.dtype, value.dims, bytes}; }

using Labels = std::optional<std::vector<int64_t>>;

// Of the output of that name, where its bytes were kept.
Expected<Labels> labels_of_output(const std::vector<ValueRecord>& outputs, const std::string& name,
                                  const TensorSource& tensors) {
  const auto output = std::ranges::find(outputs, name, &ValueRecord::name);
  if (name.empty() || output == outputs.end()) return Labels();
  ISOBIT_TRY(const auto bytes, tensors(output->hash));
  return bytes ? labels_of(view(*output, *bytes)) : Labels();
}

uint64_t flips(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  uint64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

// Fills label_flips and churn. Platforms of one class have the same labels.
void compare_labels(Comparison& c, const std::vector<Labels>& labels) {
  const size_t n = labels.size();
  c.label_flips.assign(n, std::vector<std::optional<uint64_t>>(n));
  bool all = n > 0 && labels[0] && !labels[0]->empty();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      const bool known = labels[i] && labels[j] && labels[i]->size() == labels[j]->size();
      if (known) c.label_flips[i][j] = flips(*labels[i], *labels[j]);
      all = all && known;
    }
  }
  if (!all) return;
  const size_t rows = labels[0]->size();
  double flipped = 0, pairs = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto members = static_cast<double>(c.classes[i].size());
    pairs += members * (members - 1) / 2;
    for (size_t j = i + 1; j < n; ++j) {
      const double between = members * static_cast<double>(c.classes[j].size());
      pairs += between;
      flipped += between * static_cast<double>(*c.label_flips[i][j]);
    }
  }
  uint64_t any = 0;
  for (size_t row = 0; row < rows; ++row) {
    any += std::ranges::any_of(labels, [&](const Labels& l) { return (*l)[row] != (*labels[0])[row]; });
  }
  const auto of = static_cast<double>(rows);
  c.churn = Churn{rows, pairs > 0 ? flipped / pairs / of : 0, static_cast<double>(any) / of};
}

// Platforms that are linked by differences which rounding explains.
void find_groups(Comparison& c) {
  if (!c.overall || c.subject.kind == records::SubjectKind::kTraining) return;
  std::vector<std::pair<size_t, size_t>> links;
  for (size_t i = 0; i < c.classes.size(); ++i) {
    for (size_t j = i + 1; j < c.classes.size(); ++j) {
      const PairFigures& f = *c.pairs[i][j];
      if (f.not_finite == 0 && f.absolute <= kNotRounding * f.scale) links.emplace_back(i, j);
    }
  }
  for (const auto& group : linked_groups(c.classes.size(), links)) {
    std::vector<size_t> platforms;
    for (const size_t k : group) platforms.insert(platforms.end(), c.classes[k].begin(), c.classes[k].end());
    std::ranges::sort(platforms);
    c.groups.push_back(std::move(platforms));
  }
  std::ranges::stable_sort(c.groups, [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

void summarise(Comparison& c) {
  const size_t n = c.classes.size();
  PairFigures overall;
  std::vector<std::vector<double>> similarity(n, std::vector<double>(n));
  bool precise = true;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) {
      if (!c.pairs[i][j]) return;
      const PairFigures& f = *c.pairs[i][j];
      // Differences are fractions of one output: the largest count of a pair, not the sum over pairs.
      PairFigures larger = overall;
      larger.include(f);
      larger.elements = f.elements;
      larger.differing = std::max(overall.differing, f.differing);
      larger.not_finite = std::max(overall.not_finite, f.not_finite);
      overall = larger;
      precise = precise && f.remaining_precision.has_value();
      if (precise) similarity[i][j] = *f.remaining_precision;
    }
  }
  if (n > 1) c.overall = overall;
  if (precise) c.dendrogram = single_linkage(similarity);
}

}  // namespace

Expected<std::optional<PairFigures>> compare_outputs(const std::vector<ValueRecord>& a,
                                                     const std::vector<ValueRecord>& b, const TensorSource& tensors) {
  if (a.size() != b.size()) return std::optional<PairFigures>();
  std::optional<PairFigures> figures = PairFigures();
  for (size_t i = 0; i < a.size() && figures; ++i) {
    if (a[i].name != b[i].name || a[i].step != b[i].step) return std::optional<PairFigures>();
    ISOBIT_TRY(const auto x, tensors(a[i].hash));
    ISOBIT_TRY(const auto y, tensors(b[i].hash));
    if (!x || !y) return std::optional<PairFigures>();
    const auto of_output = compare(view(a[i], *x), view(b[i], *y));
    if (!of_output) return std::optional<PairFigures>();
    figures->include(*of_output);
  }
  return figures;
}

Status measure_pairs(Comparison& c, const TensorSource& source) {
  Cache cache(source);
  const TensorSource tensors = [&](const records::Hash128& hash) { return cache(hash); };
  const size_t n = c.classes.size();
  if (n == 0 || c.too_many_classes()) return {};
  c.label_output = c.platforms[c.classes.front().front()].labelled;
  c.pairs.assign(n, std::vector<std::optional<PairFigures>>(n));
  std::vector<Labels> labels(n);
  const auto outputs = [&](size_t k) -> const auto& { return c.platforms[c.classes[k].front()].outputs; };
  for (size_t i = 0; i < n; ++i) {
    ISOBIT_TRY(labels[i], labels_of_output(outputs(i), c.label_output, tensors));
    for (size_t j = i + 1; j < n; ++j) {
      ISOBIT_TRY(c.pairs[i][j], compare_outputs(outputs(i), outputs(j), tensors));
    }
  }
  compare_labels(c, labels);
  summarise(c);
  find_groups(c);
  return {};
}

Expected<std::vector<InputIndependent>> find_input_independent(const std::vector<const Comparison*>& inputs,
                                                               const TensorSource& tensors) {
  std::map<std::string, std::vector<const std::vector<ValueRecord>*>> outputs;
  for (const Comparison* c : inputs) {
    for (const PlatformResult& p : c->platforms) {
      auto& of_platform = outputs[p.label];
      if (p.equivalence_class > 0 && of_platform.size() < kMostComparedClasses) of_platform.push_back(&p.outputs);
    }
  }
  std::vector<InputIndependent> spreads;
  for (const auto& [platform, of_inputs] : outputs) {
    double spread = 0;
    bool known = of_inputs.size() > 1;
    for (size_t i = 0; i < of_inputs.size(); ++i) {
      for (size_t j = i + 1; j < of_inputs.size(); ++j) {
        ISOBIT_TRY(const auto figures, compare_outputs(*of_inputs[i], *of_inputs[j], tensors));
        known = known && figures && figures->not_finite == 0;
        if (known) spread = std::max(spread, figures->absolute);
      }
    }
    if (known) spreads.push_back({platform, spread, 0});
  }
  std::vector<InputIndependent> found;
  if (spreads.size() < 3) return found;
  std::vector<double> sorted;
  for (const InputIndependent& s : spreads) sorted.push_back(s.spread);
  std::ranges::sort(sorted);
  const double median = sorted[sorted.size() / 2];
  for (InputIndependent& s : spreads) {
    s.typical = median;
    if (s.spread < median / 8) found.push_back(s);
  }
  return found;
}

}  // namespace isobit::lab::deviation
