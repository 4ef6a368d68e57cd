#include "isobit/kernels/rounding/table.h"

namespace isobit::kernels::rounding {

const Steps& steps_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Steps& { return steps_for<kIsa>(); });
}

}  // namespace isobit::kernels::rounding
