// CPU flags that tell machines apart. Source: Table 1 of Schlögl, Hofer, Böhme, NeurIPS 2023.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace isobit::lab::deviation {

struct FlagCluster {
  std::vector<std::string> flags;  // sorted
  std::vector<bool> present;       // on each machine
  bool operator==(const FlagCluster&) const = default;
};

struct FlagClusters {
  size_t flags = 0, common = 0;       // on any machine, on all of them
  std::vector<FlagCluster> clusters;  // by their first flags
};

// Flags that all machines have are dropped; those present on the same machines are one cluster.
FlagClusters cluster_flags(const std::vector<std::vector<std::string>>& machines);

}  // namespace isobit::lab::deviation
