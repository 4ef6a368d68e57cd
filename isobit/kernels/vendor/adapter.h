// What a library's folder provides.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isobit/kernels/vendor/vendor.h"

namespace isobit::kernels::vendor {

struct Adapter {
  std::string library;
  std::vector<std::string> cores;  // the ones worth trying; others may exist
  // The file that a setting would be loaded from when no path is given, or "" when it is not installed.
  std::string (*locate)(const VendorId& id);
  // Loads it into this process, sets and verifies core type and threads. `path` is not empty.
  Expected<std::unique_ptr<VendorProduct>> (*load)(const VendorId& id, const VendorOptions& options);
  // The largest of trial.h's sizes that is worth its time.
  int64_t largest_trial = INT64_MAX;
};

// Of the folders that CMakeLists.txt lists: each has FOLDER/FOLDER.cpp, which defines FOLDER_adapters().
#define ISOBIT_VENDOR(folder) std::vector<Adapter> folder##_adapters();
#include <isobit_vendors.inc>
#undef ISOBIT_VENDOR

// ---- messages that several adapters need

// The library is in this process with another core type, or took another one than was asked for.
tl::unexpected<Error> wrong_core(const VendorId& id, const std::string& found, bool was_loaded);
// threads_asked other than what the library reports after it was told.
tl::unexpected<Error> wrong_threads(const VendorId& id, int asked, int found);
// A library without core types or threads was asked for one.
Status require_plain(const VendorId& id, const VendorOptions& options);

}  // namespace isobit::kernels::vendor
