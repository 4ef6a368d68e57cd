// 'isobit dispute --connect': the referee of a dispute between two parties that serve ('isobit serve').
#pragma once

#include <string>
#include <vector>

#include "isobit/cli/console.h"
#include "isobit/cli/trust.h"

namespace isobit::cli {

struct ConnectOptions {
  std::vector<std::string> addresses;  // the trainer's, then the challenger's
  std::string referee_key, challenger, certificate, key, authority, job, state;
  std::vector<std::string> overrides;
};

// Prints and writes what a dispute on one machine would.
Expected<int> connect_dispute(const ConnectOptions& o, const Trust& trust, const std::string& out, Console& console);

}  // namespace isobit::cli
