// Dishonest rounding logs, for cheats() of cheat.h: trainings of logged-1 jobs that are complete and validly signed.
#pragma once

#include "isobit/run/cheat.h"

namespace isobit::run {

const std::vector<Cheat>& log_cheats();

// As apply_cheat. The training ends with kUsage when the step gives the cheat nothing to do: no value lies near enough
// to a rounding boundary, or the log it would put in place of its own is the same. kUsage here for a job without the
// log that it needs. REQUIRES a name of log_cheats().
Status apply_log_cheat(const std::string& name, int64_t step, TrainRequest& request);

}  // namespace isobit::run
