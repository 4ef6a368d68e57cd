// The floating-point environment every result assumes: round to nearest even, no flush to zero, no denormals-are-zero.
#pragma once

namespace isobit {

// Sets it on the calling thread.
void pin_fp_environment();

// Whether the calling thread has it, checked by computing (so that it holds on any ISA).
bool fp_environment_is_standard();

}  // namespace isobit
