#include "isobit/kernels/dispatch/dispatch.h"

#include <iterator>

namespace isobit::kernels {
namespace {

constexpr Isa kAll[] = {
    Isa::kReference,
#define ISOBIT_EACH_ISA(enumerator, name) Isa::enumerator,
#include "isobit/kernels/dispatch/instruction_sets.inc"
};

}  // namespace

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return "reference";
#define ISOBIT_EACH_ISA(enumerator, name) \
  case Isa::enumerator:                   \
    return #name;
#include "isobit/kernels/dispatch/instruction_sets.inc"
  }
  return "?";
}

// __builtin_cpu_supports also asks whether the operating system saves the registers.
bool isa_available(Isa isa) {
  switch (isa) {
    case Isa::kReference:
      return true;
#define ISOBIT_EACH_BUILT_ISA(enumerator, name, runs) \
  case Isa::enumerator:                               \
    return runs;
#include "isobit/kernels/dispatch/instruction_sets.inc"
    default:
      return false;
  }
}

std::vector<Isa> all_isas() { return {std::begin(kAll), std::end(kAll)}; }

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
