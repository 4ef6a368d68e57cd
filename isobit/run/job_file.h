// A job file as everything here wants it: its length in steps.
#pragma once

#include <string>
#include <vector>

#include "isobit/run/job_size.h"
#include "isobit/train/job.h"

namespace isobit::run {

// train::load_job, and of a job that gives its length in epochs as many steps as these are of its training samples.
// Only then the data are opened, to count them, and closed again: within the limits, and refused as open_session would.
Expected<train::Job> load_job(const std::string& path, const std::vector<std::string>& overrides, const Limits& limits);

}  // namespace isobit::run
