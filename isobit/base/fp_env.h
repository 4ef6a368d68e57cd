// The floating-point environment every result assumes: round to nearest even, no flush to zero, no denormals-are-zero,
// and float32 and float64 operations computed in just those types.
#pragma once

#include <cfloat>
#include <string>

#include "isobit/base/status.h"

// Intermediate results in a wider type (x87) would be rounded twice.
static_assert(FLT_EVAL_METHOD == 0, "float and double must be evaluated in their own types: use SSE2, not x87");

namespace isobit {

class ThreadPool;

// Sets it on the calling thread.
void pin_fp_environment();

// Whether the calling thread has it, checked by computing (so that it holds on any ISA).
bool fp_environment_is_standard();

// What is wrong with the calling thread's, in words; "" if nothing is. Found by computing, too.
std::string fp_environment_fault();

// Checks every thread of the pool, the calling one being its caller. kUnavailable: names each thread that has another
// environment and what is wrong with it. Nothing is put right: whatever changed it may have changed the threads of a
// vendor's library as well, which cannot be asked, so what is computed from here on could not be trusted.
// Once a step: every worker is woken for it.
Status check_fp_environment(ThreadPool& pool);

}  // namespace isobit
