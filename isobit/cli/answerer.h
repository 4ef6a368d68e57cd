// Who answers a spot check: in another process of this machine, or through a folder on another one.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "isobit/cli/exchange.h"
#include "isobit/cli/other_side.h"

namespace isobit::cli {

class Answerer {
 public:
  // through: the folder of a trainer on another machine; empty: `open` makes, in a process of its own, what answers
  // here. REQUIRES then a process without other threads. Errors: those of Questions::begin and OtherSide::start.
  static Expected<Answerer> start(const std::string& through, const std::function<Expected<OtherSide::Answer>()>& open);
  Expected<Bytes> ask(const Bytes& question, Console& console);
  // The most memory of one that answered here.
  Expected<std::optional<uint64_t>> end();

 private:
  std::optional<OtherSide> here_;
  std::optional<Questions> there_;
};

}  // namespace isobit::cli
