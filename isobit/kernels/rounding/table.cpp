#include "isobit/kernels/rounding/table.h"

namespace isobit::kernels::rounding {

// Not in the header: the units of tables.cpp must not meet a call of table() before they define it.
const Table& table_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Table& { return table<kIsa>(); });
}

}  // namespace isobit::kernels::rounding
