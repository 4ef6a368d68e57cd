// How much a test tries: the fast one a part, the same each time; its slow sibling (isobit_test's WHOLE) everything.
#pragma once

#include <cstdlib>

namespace isobit {

inline bool whole_test() { return std::getenv("ISOBIT_WHOLE") != nullptr; }

}  // namespace isobit
