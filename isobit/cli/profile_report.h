// 'isobit train --profile' and 'isobit run --profile': where the time of steps or runs goes, as a table, as JSON and,
// of a training, as a trace.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "isobit/base/file.h"
#include "isobit/cli/console.h"
#include "isobit/lab/profile/machine_pace.h"
#include "isobit/lab/profile/profiler.h"
#include "isobit/run/conduct.h"

namespace isobit::cli {

class ProfileReport {
 public:
  // Measures the machine. `unit`: what is done several times, "step" or "run". `trace`: a file for what happened when
  // (the trace event format, which Perfetto and Chromium open); empty: none.
  ProfileReport(const platform::Platform& platform, std::string unit, const std::string& trace = "");

  // Every step of this conduct is observed. REQUIRES that this outlives it.
  void watch(run::Conduct& conduct);
  // For whoever runs by itself what this is to report (lab::infer).
  lab::profile::Profiler& profiler() { return profiler_; }

  void add_to(nlohmann::ordered_json& document) const;  // "profile"
  void print(const Console& console) const;
  // Errors: those of create_file_durably.
  Status write_trace() const;

 private:
  const int threads_;
  const std::string unit_;
  const fs::path trace_;
  const lab::profile::MachinePace pace_;
  lab::profile::Profiler profiler_;
};

}  // namespace isobit::cli
