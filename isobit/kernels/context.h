// What every kernel is given besides its operands: which implementation to use and the threads to use it on.
//
// Determinism class of every kernel in this room: `ordered-1`. The result is a function of the operands alone; neither
// field of KernelContext can reach a bit of it.
#pragma once

#include <span>
#include <string>

#include "isobit/base/thread_pool.h"

namespace isobit::kernels {

// kReference is the scalar specification in <op>/reference.cpp, compiled for the baseline machine.
// kPortable is the same order, blocked and vectorisable, for the baseline machine of any architecture.
enum class Isa { kReference, kPortable, kAvx2, kAvx512, kNeon };

const char* name_of(Isa isa);  // "reference", "portable", "avx2", "avx512", "neon"

struct KernelContext {
  Isa isa;
  ThreadPool* pool;  // not owned; never null
};

}  // namespace isobit::kernels
