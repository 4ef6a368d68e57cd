// Which versions of product libraries this machine has now, for a lab that may hold records of others.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "isobit/lab/measure/engines.h"

namespace isobit::lab::measure {

// Not thread-safe.
class Libraries {
 public:
  // Whether a record of this target is of the library, and the core type in use, that are here now. True for records
  // that name none, and on emulated processors, which are not asked. Asks a child process once for each setting.
  bool is_here(const Target& target, const records::PlatformRecord& platform);
  // What a worker has said of itself: need not be asked again.
  void learn(const Target& target, const records::PlatformRecord& platform);

 private:
  struct Facts {
    std::string version, core;
    bool operator==(const Facts&) const = default;
  };
  static std::optional<Facts> facts_of(const records::PlatformRecord& platform);
  std::map<std::string, std::optional<Facts>> known_;  // by platform; none: it cannot be asked
};

}  // namespace isobit::lab::measure
