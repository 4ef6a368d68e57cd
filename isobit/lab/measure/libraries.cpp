#include "isobit/lab/measure/libraries.h"

#include "isobit/kernels/vendor/vendor.h"
#include "isobit/lab/measure/native_worker.h"

namespace isobit::lab::measure {

std::optional<Libraries::Facts> Libraries::facts_of(const records::PlatformRecord& platform) {
  const auto version = platform.fields.find("library"), core = platform.fields.find("core");
  if (version == platform.fields.end() || core == platform.fields.end()) return {};
  return Facts{version->second, core->second};
}

bool Libraries::is_here(const Target& target, const records::PlatformRecord& platform) {
  const std::optional<Facts> recorded = facts_of(platform);
  if (!recorded || target.engine != kOwnEngine || target.cpu != nullptr) return true;
  if (!known_.contains(target.platform)) {
    std::optional<Facts> here;
    if (const auto native = parse_native_platform(target.platform)) {
      const platform::Platform& p = native->platform;
      // In a child process: a library that is opened keeps its core type until the process ends.
      const auto probe =
          kernels::probe_vendor({p.library, p.core}, {.threads = p.threads, .path = "", .large_trial = false});
      if (probe) here = Facts{probe->record.version, probe->record.core};
    }
    known_[target.platform] = std::move(here);
  }
  return known_[target.platform] == recorded;
}

void Libraries::learn(const Target& target, const records::PlatformRecord& platform) {
  if (auto facts = facts_of(platform)) known_[target.platform] = std::move(facts);
}

}  // namespace isobit::lab::measure
