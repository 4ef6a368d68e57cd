// Training with progress, Ctrl-C and a printed result: shared by 'train' and 'cheat'.
#pragma once

#include "isobit/cli/console.h"
#include "isobit/run/train_run.h"

namespace isobit::cli {

class ProfileReport;

// `profile`: what was measured of it is part of the result; null: nothing was.
Expected<int> train_and_report(run::TrainRequest request, bool resume, Console& console,
                               const ProfileReport* profile = nullptr);

}  // namespace isobit::cli
