#include "isobit/kernels/dispatch/dispatch.h"

namespace isobit::kernels {
namespace {

constexpr Isa kAll[] = {Isa::kReference, Isa::kPortable, Isa::kNeon, Isa::kAvx2, Isa::kAvx512};

}  // namespace

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return "reference";
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kNeon:
      return "neon";
  }
  return "?";
}

bool isa_available(Isa isa) {
  switch (isa) {
    case Isa::kReference:
    case Isa::kPortable:
      return true;
#if defined(__x86_64__)
    // __builtin_cpu_supports also asks whether the operating system saves the registers.
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::kAvx512:
      return isa_available(Isa::kAvx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512cd");
#elif defined(__aarch64__)
    case Isa::kNeon:
      return true;
#endif
    default:
      return false;
  }
}

Isa best_isa() { return available_isas().back(); }

std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (Isa isa : kAll) {
    if (isa_available(isa)) isas.push_back(isa);
  }
  return isas;
}

std::optional<Isa> parse_isa(std::string_view name) {
  for (Isa isa : kAll) {
    if (name == name_of(isa)) return isa;
  }
  return std::nullopt;
}

}  // namespace isobit::kernels
