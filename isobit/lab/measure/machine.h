// The machine that this process runs on, as a record of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace isobit::lab::measure {

struct Machine {
  std::string cpu;                 // its model, as the system names it
  std::string architecture;        // "x86_64"
  std::vector<std::string> flags;  // sorted, each once; empty where the system does not say
  int cores = 0;                   // that this process may use
  bool operator==(const Machine&) const = default;
};

// Of /proc/cpuinfo as Linux writes it: the first processor's model, and its flags (Features on Arm, isa on RISC-V).
Machine parse_cpuinfo(std::string_view text);
const Machine& this_machine();

}  // namespace isobit::lab::measure
