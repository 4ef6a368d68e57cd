// Processors that this machine does not have, emulated by QEMU in user mode: "ordered/1t~haswell" is a platform of ours
// on one. Libraries choose their kernels by what the emulated processor says of itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isobit/base/status.h"
#include "isobit/lab/measure/machine.h"

namespace isobit::lab::measure {

struct EmulatedCpu {
  std::string name;      // behind the '~' of a platform's name
  std::string emulator;  // a program on PATH
  std::string model;     // its -cpu; "": its usual one
  std::string machine;   // what its programs are built for: "x86_64"
  std::string about;
};
const std::vector<EmulatedCpu>& emulated_cpus();

// The processor that a platform's name has; null where it has none. kUsage for one that nobody knows.
Expected<const EmulatedCpu*> emulated_cpu_of(std::string_view platform);
// The name without it: "ordered/1t".
std::string without_cpu(std::string_view platform);

// What a record says of it: its name in place of a model, and the flags that this process finds on it. REQUIRES to run
// there.
Machine machine_of(const EmulatedCpu& cpu);
// Machine::cpu of that.
std::string model_of(const EmulatedCpu& cpu);

}  // namespace isobit::lab::measure
