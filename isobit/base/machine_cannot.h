// What this machine cannot do, thrown where a function has no Expected to say so: a constructor, a signature.
#pragma once

#include <stdexcept>

namespace isobit {

// what() is one line like the message of an Error of kUnavailable, and commands end with that exit code.
class MachineCannot : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace isobit
