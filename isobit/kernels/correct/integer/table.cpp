#include "isobit/kernels/correct/integer/table.h"

namespace isobit::kernels::correct::integer {

const Table& table_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Table& { return table<kIsa>(); });
}

Unit plain_unit(Isa isa) { return {"plain", table_of(isa), 30}; }

}  // namespace isobit::kernels::correct::integer
