#include "isobit/base/status.h"

#include <cstdio>
#include <cstdlib>

namespace isobit {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "isobit: internal error: %s does not hold (%s:%d)\n", condition, file, line);
  std::abort();
}

}  // namespace isobit
