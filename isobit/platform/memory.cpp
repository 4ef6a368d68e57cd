#include "isobit/platform/memory.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string>

namespace isobit::platform {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// One number; "max" and a file that is not there are no limit.
uint64_t number_in(const std::string& path) {
  std::ifstream in(path);
  std::string text;
  if (!(in >> text)) return kNoLimit;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : kNoLimit;
}

// The least limit of a group and of those it lies in.
uint64_t least_limit(const std::string& root, std::string group, const std::string& file) {
  uint64_t least = kNoLimit;
  for (;;) {
    least = std::min(least, number_in(root + group + "/" + file));
    const size_t slash = group.rfind('/');
    if (slash == std::string::npos || group.empty()) return least;
    group.resize(slash);
  }
}

// /proc/self/cgroup: "4:memory:/group" of version 1, "0::/group" of version 2.
uint64_t group_limit() {
  uint64_t least = kNoLimit;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",",
                      group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, least_limit("/sys/fs/cgroup", group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace

uint64_t available_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return 0;
  return std::min(static_cast<uint64_t>(pages) * static_cast<uint64_t>(size), group_limit());
}

}  // namespace isobit::platform
