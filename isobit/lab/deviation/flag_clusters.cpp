#include "isobit/lab/deviation/flag_clusters.h"

#include <algorithm>
#include <map>

namespace isobit::lab::deviation {

FlagClusters cluster_flags(const std::vector<std::vector<std::string>>& machines) {
  std::map<std::string, std::vector<bool>> presence;
  for (size_t m = 0; m < machines.size(); ++m) {
    for (const std::string& flag : machines[m]) {
      auto& vector = presence[flag];
      vector.resize(machines.size());
      vector[m] = true;
    }
  }
  FlagClusters found{.flags = presence.size(), .common = 0, .clusters = {}};
  std::map<std::vector<bool>, size_t> places;
  for (const auto& [flag, vector] : presence) {
    if (std::ranges::all_of(vector, [](bool there) { return there; })) {
      ++found.common;
      continue;
    }
    const auto [place, is_new] = places.emplace(vector, found.clusters.size());
    if (is_new) found.clusters.push_back({{}, vector});
    found.clusters[place->second].flags.push_back(flag);
  }
  return found;
}

}  // namespace isobit::lab::deviation
