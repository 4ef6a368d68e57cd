#include "isobit/kernels/correct/table.h"

namespace isobit::kernels::correct {

// Not in the header: the units of tables.cpp must not meet a call of table() before they define it.
const Table& table_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Table& { return table<kIsa>(); });
}

}  // namespace isobit::kernels::correct
