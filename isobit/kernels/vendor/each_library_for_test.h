// For tests over all libraries: the list is vendor_libraries(), so that a new one is tested without being named.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "isobit/kernels/vendor/vendor.h"

namespace isobit::kernels::testing {

// A setting that the library has everywhere: its own choice of core, or the first of them where it makes none (eigen).
inline VendorId any_setting(const std::string& library) {
  return library == "eigen" ? known_vendors(library).front() : VendorId{library, ""};
}

// Whether it has core types, and may have threads (vendor::require_plain).
inline bool has_cores(const std::string& library) { return !known_vendors(library).front().core.empty(); }

inline std::string test_name_of_library(const ::testing::TestParamInfo<std::string>& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace isobit::kernels::testing
