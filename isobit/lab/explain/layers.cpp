#include "isobit/lab/explain/layers.h"

#include <algorithm>

namespace isobit::lab::explain {
namespace {

using deviation::PairFigures;
using deviation::Trace;
using deviation::TracedValue;
using records::ValueRecord;

// A record of each class, the first ones.
std::vector<const ValueRecord*> representatives(const TracedValue& value, int most) {
  std::vector<const ValueRecord*> chosen(static_cast<size_t>(std::min(value.class_count, most)));
  for (size_t p = value.at.size(); p-- > 0;) {
    const int k = value.classes[p];
    if (k >= 1 && k <= static_cast<int>(chosen.size())) chosen[static_cast<size_t>(k) - 1] = value.at[p];
  }
  return chosen;
}

std::optional<PairFigures> over_pairs(const std::vector<const ValueRecord*>& values, const std::vector<Bytes>& bytes) {
  std::optional<PairFigures> all;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i + 1; j < values.size(); ++j) {
      const auto pair = deviation::compare({values[i]->dtype, values[i]->dims, bytes[i]},
                                           {values[j]->dtype, values[j]->dims, bytes[j]});
      if (!pair) return std::nullopt;
      if (!all) {
        all = pair;
        continue;
      }
      const uint64_t differing = std::max(all->differing, pair->differing);
      all->include(*pair);
      all->elements = pair->elements;  // of one tensor, not of all pairs together
      all->differing = differing;
    }
  }
  return all;
}

}  // namespace

Expected<Layers> measure_layers(const Trace& trace, const deviation::TensorSource& tensors, const LayerBudget& budget) {
  Layers layers;
  layers.figures.resize(trace.values.size());
  uint64_t spent = 0;
  for (size_t i = 0; i < trace.values.size(); ++i) {
    if (trace.values[i].class_count < 2) continue;
    const auto values = representatives(trace.values[i], budget.classes);
    if (spent >= budget.bytes) {
      ++layers.beyond_budget;
      continue;
    }
    std::vector<Bytes> kept;
    for (const ValueRecord* value : values) {
      ISOBIT_TRY(auto bytes, tensors(value->hash));
      if (!bytes) break;
      spent += bytes->size() * values.size();
      kept.push_back(std::move(*bytes));
    }
    if (kept.size() == values.size()) layers.figures[i] = over_pairs(values, kept);
    if (!layers.figures[i])
      ++layers.not_compared;
    else if (trace.values[i].class_count > budget.classes)
      ++layers.truncated;
  }
  return layers;
}

}  // namespace isobit::lab::explain
