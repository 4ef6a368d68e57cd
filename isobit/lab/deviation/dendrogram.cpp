#include "isobit/lab/deviation/dendrogram.h"

#include <algorithm>
#include <numeric>

namespace isobit::lab::deviation {
namespace {

struct Pair {
  size_t i, j;
  double similarity;
};

// Disjoint sets whose name is their lowest item.
class Sets {
 public:
  explicit Sets(size_t items) : parent_(items) { std::iota(parent_.begin(), parent_.end(), size_t{0}); }
  size_t of(size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void join(size_t low, size_t high) { parent_[high] = low; }

 private:
  std::vector<size_t> parent_;
};

}  // namespace

std::vector<Merging> single_linkage(const std::vector<std::vector<double>>& similarity) {
  const size_t n = similarity.size();
  std::vector<Pair> pairs;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = i + 1; j < n; ++j) pairs.push_back({i, j, similarity[i][j]});
  }
  std::ranges::stable_sort(pairs, [](const Pair& a, const Pair& b) { return a.similarity > b.similarity; });
  Sets sets(n);
  std::vector<int> cluster(n), items(n, 1);  // of the set that has this lowest item
  std::iota(cluster.begin(), cluster.end(), 0);
  std::vector<Merging> mergings;
  for (const Pair& pair : pairs) {
    const size_t a = sets.of(pair.i), b = sets.of(pair.j);
    if (a == b) continue;
    const size_t low = std::min(a, b), high = std::max(a, b);
    items[low] += items[high];
    mergings.push_back({cluster[low], cluster[high], pair.similarity, items[low]});
    cluster[low] = static_cast<int>(n + mergings.size() - 1);
    sets.join(low, high);
  }
  return mergings;
}

std::vector<std::vector<size_t>> linked_groups(size_t items, const std::vector<std::pair<size_t, size_t>>& links) {
  Sets sets(items);
  for (const auto& [i, j] : links) {
    const size_t a = sets.of(i), b = sets.of(j);
    if (a != b) sets.join(std::min(a, b), std::max(a, b));
  }
  std::map<size_t, std::vector<size_t>> groups;  // by lowest item
  for (size_t i = 0; i < items; ++i) groups[sets.of(i)].push_back(i);
  std::vector<std::vector<size_t>> list;
  for (auto& [low, group] : groups) list.push_back(std::move(group));
  return list;
}

}  // namespace isobit::lab::deviation
