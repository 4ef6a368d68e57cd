// Products by residues under every setting of a machine, for tests.
#pragma once

#include <string>
#include <vector>

#include "isobit/kernels/correct/integer/backend.h"
#include "isobit/kernels/dispatch/dispatch.h"

namespace isobit::kernels::correct::testing {

struct NamedUnit {
  std::string name;
  Isa isa;  // of everything else
  integer::Unit unit;
};

// The plain tiles of every instruction set, and the matrix unit's where there is one.
inline std::vector<NamedUnit> all_units() {
  std::vector<NamedUnit> all;
  for (const Isa isa : available_isas()) {
    if (isa != Isa::kReference) all.push_back({std::string("plain ") + name_of(isa), isa, integer::plain_unit(isa)});
  }
  if (integer::amx_is_there()) all.push_back({"amx", best_isa(), integer::amx_unit()});
  return all;
}

}  // namespace isobit::kernels::correct::testing
