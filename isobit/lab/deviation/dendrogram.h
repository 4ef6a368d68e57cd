// Equivalence classes, and how they come together: definitions that know nothing of labs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace isobit::lab::deviation {

// The class of each item, from 1 in order of first appearance: equal keys are one class.
template <class Key>
std::vector<int> number_classes(const std::vector<Key>& keys) {
  std::map<Key, int> numbers;
  std::vector<int> classes;
  for (const Key& key : keys)
    classes.push_back(numbers.emplace(key, static_cast<int>(numbers.size()) + 1).first->second);
  return classes;
}

// One merging of two clusters. Clusters 0 .. n - 1 are the items; the merging at place i makes cluster n + i.
struct Merging {
  int left = 0, right = 0;  // left: the one with the item of the lowest number
  double similarity = 0;    // of the nearest pair between the two
  int items = 0;            // in the new cluster
  bool operator==(const Merging&) const = default;
};

// Single linkage: the two clusters with the most similar pair of items are merged first; of equal ones the pair that
// comes first. similarity[i][j] of i < j; n - 1 mergings of n items, none where there are none.
std::vector<Merging> single_linkage(const std::vector<std::vector<double>>& similarity);

// Groups of items that are linked, directly or by way of others, in order of their first items.
std::vector<std::vector<size_t>> linked_groups(size_t items, const std::vector<std::pair<size_t, size_t>>& links);

}  // namespace isobit::lab::deviation
