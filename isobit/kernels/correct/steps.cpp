#include "isobit/kernels/correct/table.h"

namespace isobit::kernels::correct {

const Steps& steps_of(Isa isa) {
  return pick(isa, []<Isa kIsa>() -> const Steps& { return steps_for<kIsa>(); });
}

}  // namespace isobit::kernels::correct
