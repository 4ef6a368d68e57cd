// Where no CPU has AMX.
#include "isobit/base/status.h"
#include "isobit/kernels/correct/integer/table.h"

namespace isobit::kernels::correct::integer {

bool amx_is_there() { return false; }
bool amx_available() { return false; }

Unit amx_unit() {
  ISOBIT_CHECK(!"a machine with AMX");
  return {};
}

}  // namespace isobit::kernels::correct::integer
