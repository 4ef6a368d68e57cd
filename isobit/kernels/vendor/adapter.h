// What a library's folder provides; the list of them is in vendor.cpp.
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
  Expected<std::unique_ptr<MatrixProduct>> (*load)(const VendorId& id, const VendorOptions& options);
  // The largest of trial.h's sizes that is worth its time.
  int64_t largest_trial = INT64_MAX;
};

std::vector<Adapter> openblas_adapters();
std::vector<Adapter> eigen_adapters();
std::vector<Adapter> onednn_adapters();
std::vector<Adapter> blis_adapters();
std::vector<Adapter> mkl_adapters();
std::vector<Adapter> netlib_adapters();

// ---- messages that several adapters need

// The library is in this process with another core type, or took another one than was asked for.
tl::unexpected<Error> wrong_core(const VendorId& id, const std::string& found, bool was_loaded);
// threads_asked other than what the library reports after it was told.
tl::unexpected<Error> wrong_threads(const VendorId& id, int asked, int found);
// A library without core types or threads was asked for one.
Status require_plain(const VendorId& id, const VendorOptions& options);

}  // namespace isobit::kernels::vendor
