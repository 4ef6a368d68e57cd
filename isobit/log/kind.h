// The two kinds of rounding log.
#pragma once

#include <cstdint>

namespace isobit::log {

// The numbers are those of the formats, and the indices of StepLog (log/step_log.h).
enum class Kind : uint8_t {
  kSparse = 0,  // the few values that two platforms may round apart
  kOvt = 1,     // a decision for every value, as published
};

inline const char* name_of(Kind kind) { return kind == Kind::kSparse ? "sparse" : "ovt"; }

}  // namespace isobit::log
