// Why a step of a logged run could not be followed: what a verdict says.
#pragma once

#include <string>

namespace isobit::log {

enum class FaultKind {
  kDamaged,      // the log is none of this step, whatever the values are: its signer is at fault
  kIllegal,      // what no honest trainer writes, on operands that trainer and auditor are known to share
  kDiffers,      // it does not fit the operands of this replay, which may differ from the trainer's: neither is called
                 // wrong
  kOwnPlatform,  // this platform is beyond the job's error bound: nothing can be said of the run
};

struct Fault {
  FaultKind kind = FaultKind::kDamaged;
  std::string op;  // name of the node; empty if no single node is at fault
  std::string what;
};

}  // namespace isobit::log
