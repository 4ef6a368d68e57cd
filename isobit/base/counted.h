// Numbers in sentences for people.
#pragma once

#include <cstdio>

#include "isobit/base/text.h"

namespace isobit {

// "1 platform", "3 platforms"
inline std::string counted(uint64_t n, const char* one, const char* many) {
  return text_of(n, " ", n == 1 ? one : many);
}

// To three digits: 1234.5 -> "1.23e+03"
inline std::string three_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

}  // namespace isobit
