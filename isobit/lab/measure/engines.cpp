#include "isobit/lab/measure/engines.h"

#include <algorithm>
#include <set>

#include "isobit/base/text.h"
#include "isobit/kernels/vendor/vendor.h"
#include "isobit/lab/measure/native_worker.h"
#include "isobit/lab/worker/engine_name.h"

namespace isobit::lab::measure {
namespace {

Target target_of(const EngineInfo& info, const std::string& setting, int threads) {
  return {info.engine, setting, text_of(info.engine, setting.empty() ? "" : "@", setting, "/", threads, "t"), threads,
          info.version};
}

std::string settings_of(const EngineInfo& info) {
  std::vector<std::string> named;
  for (const std::string& s : info.settings) {
    if (!s.empty()) named.push_back(text_of(info.engine, "@", s));
  }
  return named.empty() ? info.engine : join_or(named);
}

Expected<Target> engine_target(const std::string& text, const worker::EngineName& parsed, const EngineInfo& info) {
  const auto& settings = info.settings;
  // An engine that has no nameless setting is meant with its first one.
  const std::string setting =
      parsed.setting.empty() && std::ranges::find(settings, "") == settings.end() ? settings.front() : parsed.setting;
  if (std::ranges::find(settings, setting) == settings.end()) {
    return usage_error(text_of("platform '", text, "': ", info.engine, " has no setting '", setting, "', expected ",
                               settings_of(info)));
  }
  if (!info.installed()) {
    return unavailable(text_of("platform '", text, "': ", info.engine, " is not installed: ", info.install,
                               "; or name an interpreter that has it with --python"));
  }
  return target_of(info, setting, parsed.threads == 0 ? platform::available_threads() : parsed.threads);
}

Target native_target(const NativePlatform& native) {
  return {kOwnEngine, native.arithmetic, native.text(), native.platform.threads, ISOBIT_VERSION};
}

// What it is there, "ordered/1t" for instance, is for the worker on that processor to find out: the name stays as it
// was written, but for the number of threads.
Expected<Target> emulated_target(const std::string& text, const EmulatedCpu& cpu) {
  std::string name = without_cpu(text);
  if (name.find('/') == name.npos) {
    name.insert(std::min(name.find_first_of("+:"), name.size()), text_of("/", platform::available_threads(), "t"));
  }
  const auto native = parse_native_platform(name);
  // Only that this machine lacks something says nothing of the other one.
  if (!native && native.error().code != ErrorCode::kUnavailable) return tl::unexpected(native.error());
  // Programs of other machines have no libraries and no convolution algorithms.
  const bool own = native ? native->platform.is_ordered() && native->platform.algorithm.empty() : true;
  if (!own && cpu.machine != this_machine().architecture) {
    return usage_error(text_of("platform '", text, "': on ", cpu.name, " there are only platforms of isobit's own, ",
                               "like ordered/1t~", cpu.name));
  }
  // This machine may lack the instruction set that the other one has.
  const int threads = native ? native->platform.threads : std::stoi(name.substr(name.find('/') + 1));
  Target target{kOwnEngine, native ? native->arithmetic : "", text_of(name, "~", cpu.name), threads, ISOBIT_VERSION};
  target.cpu = &cpu;
  return target;
}

}  // namespace

Expected<std::vector<Target>> targets_named(const std::vector<std::string>& names,
                                            const std::vector<EngineInfo>& engines) {
  std::vector<Target> targets;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const auto parsed = worker::parse_engine_name(without_cpu(name));
    const auto info = parsed ? std::ranges::find(engines, parsed->engine, &EngineInfo::engine) : engines.end();
    Target target;
    ISOBIT_TRY(const EmulatedCpu* cpu, emulated_cpu_of(name));
    if (cpu != nullptr && info != engines.end()) {
      return usage_error(text_of("platform '", name,
                                 "': engines of a Python run on this machine's processor alone; on ", cpu->name,
                                 " there are platforms of isobit, like ordered/1t~", cpu->name));
    }
    if (cpu != nullptr) {
      ISOBIT_TRY(target, emulated_target(name, *cpu));
    } else if (info != engines.end()) {
      ISOBIT_TRY(target, engine_target(name, *parsed, *info));
    } else {
      ISOBIT_TRY(const NativePlatform native, parse_native_platform(name));
      target = native_target(native);
    }
    target.asked_for = true;
    if (seen.insert(target.platform).second) targets.push_back(std::move(target));
  }
  return targets;
}

std::vector<Target> all_targets(const std::vector<EngineInfo>& engines) {
  std::vector<Target> targets;
  std::set<std::string> seen;
  const auto add = [&](platform::Platform p) {
    p.threads = 1;
    Target target = native_target({p, "float32"});
    if (seen.insert(target.platform).second) targets.push_back(std::move(target));
  };
  const std::vector<platform::Platform> own = platform::available_platforms();
  for (const platform::Platform& p : own) add(p);
  for (const kernels::VendorId& id : kernels::known_vendors()) {
    if (const auto p = platform::parse_platform(id.text() + "/1t")) add(*p);
  }
  for (const EngineInfo& info : engines) {
    for (const std::string& setting : info.defaults) {
      if (info.installed()) targets.push_back(target_of(info, setting, 1));
    }
  }
  return targets;
}

}  // namespace isobit::lab::measure
