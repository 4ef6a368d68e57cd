// Prints every vendor setting of this machine with the digests of its probe: equal digests, equal kernels.
//
// usage: vendor_table [THREADS...] [LIBRARY=PATH...] [LIBRARY | LIBRARY@CORE ...]   (default: 1 and 2 threads, all)
#include <charconv>
#include <cstdio>
#include <map>
#include <set>

#include "isobit/kernels/vendor/vendor.h"

namespace {

using isobit::kernels::VendorId;

struct Request {
  std::vector<int> threads;
  std::map<std::string, std::string> paths;  // of libraries that are not in the usual places, or of other copies
  std::set<std::string> only;                // libraries and settings; empty: all
};

Request request_of(int argc, char** argv) {
  Request request;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    const char* end = text.data() + text.size();
    int n = 0;
    if (const size_t equals = text.find('='); equals != std::string::npos) {
      request.paths[text.substr(0, equals)] = text.substr(equals + 1);
    } else if (std::from_chars(text.data(), end, n).ptr == end && n > 0) {
      request.threads.push_back(n);
    } else {
      request.only.insert(text);
    }
  }
  if (request.threads.empty()) request.threads = {1, 2};
  return request;
}

std::vector<VendorId> settings_of(const Request& request) {
  std::vector<VendorId> all = isobit::kernels::known_vendors();
  for (const auto& [library, path] : request.paths) {
    if (isobit::kernels::vendor_installed(library)) continue;
    const std::vector<VendorId> more = isobit::kernels::known_vendors(library);
    all.insert(all.end(), more.begin(), more.end());
  }
  std::vector<VendorId> wanted;
  for (const VendorId& id : all) {
    const bool named = request.only.contains(id.library) || request.only.contains(id.text());
    if (request.only.empty() || named) wanted.push_back(id);
  }
  return wanted;
}

}  // namespace

int main(int argc, char** argv) {
  const Request request = request_of(argc, argv);
  std::set<std::string> f32, f64;
  std::printf("%-32s %-12s %-12s %8s %8s\n", "setting", "float32", "float64", "error32", "error64");
  for (const VendorId& id : settings_of(request)) {
    for (const int n : request.threads) {
      const auto path = request.paths.find(id.library);
      const auto probe = isobit::kernels::probe_vendor(id, {n, path == request.paths.end() ? "" : path->second});
      const std::string setting = id.text() + "/" + std::to_string(n) + "t";
      if (!probe) {
        std::printf("%-32s %s\n", setting.c_str(), probe.error().message.c_str());
        continue;
      }
      if (!probe->f32_digest.empty()) f32.insert(probe->f32_digest);
      if (!probe->f64_digest.empty()) f64.insert(probe->f64_digest);
      std::printf("%-32s %-12.12s %-12.12s %8.4f %8.4f\n", setting.c_str(),
                  probe->f32_digest.empty() ? "-" : probe->f32_digest.c_str(),
                  probe->f64_digest.empty() ? "-" : probe->f64_digest.c_str(), probe->f32_error, probe->f64_error);
      std::fflush(stdout);
    }
  }
  std::printf("%zu distinct results in float32, %zu in float64\n", f32.size(), f64.size());
  return 0;
}
