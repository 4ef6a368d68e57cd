// A profile summed up by what its nodes have in common.
#pragma once

#include <string>
#include <vector>

#include "isobit/lab/profile/machine_pace.h"
#include "isobit/lab/profile/profiler.h"

namespace isobit::lab::profile {

struct Row {
  std::string name;
  int64_t nodes = 0;
  Work work;           // of a step
  double seconds = 0;  // of a step: kernels and stages
  double stage_seconds = 0;
  double least_seconds = 0;  // for the operations, at the machine's pace in the type that they are in

  // Of kernels and stages together; 0 where no time was measured.
  double operations_per_second() const { return seconds > 0 ? static_cast<double>(work.operations) / seconds : 0; }
  double bytes_per_second() const { return seconds > 0 ? static_cast<double>(work.bytes) / seconds : 0; }
};

// Those that take longest first.
std::vector<Row> rows_by_operator(const Profile& profile, const MachinePace& pace);  // "Conv", "ConvGradWeights"
std::vector<Row> rows_by_kernel(const Profile& profile,
                                const MachinePace& pace);  // of inner products and of others apart

}  // namespace isobit::lab::profile
