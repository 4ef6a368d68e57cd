#include "isobit/lab/measure/machine.h"

#include <sys/utsname.h>

#include <fstream>
#include <iterator>
#include <set>

#include "isobit/platform/platform.h"

namespace isobit::lab::measure {
namespace {

constexpr size_t kMostText = 1 << 20;

// The value of the first line "KEY<spaces>: VALUE".
std::string value_of(std::string_view text, std::string_view key) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;
    std::string_view name = line.substr(0, colon);
    while (!name.empty() && (name.back() == '\t' || name.back() == ' ')) name.remove_suffix(1);
    if (name != key) continue;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    return std::string(value);
  }
  return "";
}

}  // namespace

Machine parse_cpuinfo(std::string_view text) {
  Machine machine;
  machine.cpu = value_of(text, "model name");
  std::string flags;
  for (const char* key : {"flags", "Features", "isa"}) {
    if (flags.empty()) flags = value_of(text, key);
  }
  std::set<std::string> sorted;
  for (size_t at = 0; at < flags.size();) {
    const size_t end = std::min(flags.find(' ', at), flags.size());
    if (end > at) sorted.insert(flags.substr(at, end - at));
    at = end + 1;
  }
  machine.flags.assign(sorted.begin(), sorted.end());
  return machine;
}

const Machine& this_machine() {
  static const Machine machine = [] {
    std::ifstream file("/proc/cpuinfo");
    std::string text(kMostText, '\0');
    file.read(text.data(), kMostText);
    text.resize(static_cast<size_t>(file.gcount()));
    Machine found = parse_cpuinfo(text);
    utsname name{};
    if (uname(&name) == 0) found.architecture = name.machine;
    if (found.cpu.empty()) found.cpu = found.architecture;
    found.cores = platform::available_threads();
    return found;
  }();
  return machine;
}

}  // namespace isobit::lab::measure
