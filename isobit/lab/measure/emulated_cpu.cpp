#include "isobit/lab/measure/emulated_cpu.h"

#include <algorithm>

#include "isobit/base/text.h"
#include "isobit/platform/platform.h"

namespace isobit::lab::measure {
namespace {

// As Linux names them in /proc/cpuinfo, which under an emulator is the host's: flags that kernels are chosen by.
std::vector<std::string> flags_here() {
  std::vector<std::string> flags;
#if defined(__x86_64__)
  const auto add = [&](bool has, const char* name) {
    if (has) flags.emplace_back(name);
  };
  __builtin_cpu_init();
  add(__builtin_cpu_supports("sse2"), "sse2");
  add(__builtin_cpu_supports("sse3"), "pni");
  add(__builtin_cpu_supports("ssse3"), "ssse3");
  add(__builtin_cpu_supports("sse4.1"), "sse4_1");
  add(__builtin_cpu_supports("sse4.2"), "sse4_2");
  add(__builtin_cpu_supports("popcnt"), "popcnt");
  add(__builtin_cpu_supports("avx"), "avx");
  add(__builtin_cpu_supports("avx2"), "avx2");
  add(__builtin_cpu_supports("fma"), "fma");
  add(__builtin_cpu_supports("fma4"), "fma4");
  add(__builtin_cpu_supports("bmi"), "bmi1");
  add(__builtin_cpu_supports("bmi2"), "bmi2");
  add(__builtin_cpu_supports("avx512f"), "avx512f");
  std::ranges::sort(flags);
#endif
  return flags;
}

}  // namespace

const std::vector<EmulatedCpu>& emulated_cpus() {
  static const std::vector<EmulatedCpu> cpus = {
      {"nehalem", "qemu-x86_64", "Nehalem", "x86_64", "SSE4.2, no AVX (2008)"},
      {"sandybridge", "qemu-x86_64", "SandyBridge", "x86_64", "AVX, neither AVX2 nor FMA (2011)"},
      {"haswell", "qemu-x86_64", "Haswell", "x86_64", "AVX2 and FMA (2013)"},
      {"zen", "qemu-x86_64", "EPYC", "x86_64", "AMD's, AVX2 and FMA (2017)"},
      {"aarch64", "qemu-aarch64", "", "aarch64", "64-bit Arm, NEON"},
      {"riscv64", "qemu-riscv64", "", "riscv64", "64-bit RISC-V, no vectors"},
  };
  return cpus;
}

Expected<const EmulatedCpu*> emulated_cpu_of(std::string_view platform) {
  const size_t at = platform.find('~');
  if (at == platform.npos) return static_cast<const EmulatedCpu*>(nullptr);
  const std::string name(platform.substr(at + 1));
  const auto& cpus = emulated_cpus();
  const auto found = std::ranges::find(cpus, name, &EmulatedCpu::name);
  if (found != cpus.end()) return &*found;
  std::vector<std::string> names;
  for (const EmulatedCpu& cpu : cpus) names.push_back(cpu.name);
  return usage_error(text_of("platform '", platform, "': found '", name,
                             "' behind the ~, expected a processor that can ", "be emulated: ", join_or(names)));
}

std::string without_cpu(std::string_view platform) { return std::string(platform.substr(0, platform.find('~'))); }

std::string model_of(const EmulatedCpu& cpu) { return text_of(cpu.name, ", emulated by ", cpu.emulator); }

Machine machine_of(const EmulatedCpu& cpu) {
  return {model_of(cpu), cpu.machine, flags_here(), platform::available_threads()};
}

}  // namespace isobit::lab::measure
