// An observer that is told where steps of a training, or runs of a network, begin and end.
#pragma once

#include <cstdint>

#include "isobit/runtime/executor.h"

namespace isobit::lab::profile {

class StepsObserver : public runtime::Observer {
 public:
  // Around each step that this observes.
  virtual void begin_step(int64_t step) = 0;
  virtual void end_step() = 0;
};

}  // namespace isobit::lab::profile
