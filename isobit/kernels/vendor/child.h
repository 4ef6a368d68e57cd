// Work that may crash, hang or change the process for good is done in a child of it.
#pragma once

#include <functional>

#include "isobit/base/bytes.h"
#include "isobit/base/status.h"

namespace isobit::kernels::vendor {

// Forks, runs `work` in a fresh thread of the child and returns what it returned. The child is a copy of this process,
// not a new program: so it runs on the same, perhaps emulated, CPU, and holds the libraries that this process holds.
// A fresh thread, because an OpenMP runtime used before the fork expects its workers to be there still.
// It ends with the thread that waits here, whatever ends that one, and unwinds nothing of it.
// Errors: what `work` returned; kUnavailable when it threw MachineCannot (whose words follow) or had no memory, when
// the child was ended by a signal (named), or by us after the time limit, ended by itself, or could not be started (its
// thread neither), or returned more than most_bytes. `what` starts those messages.
Expected<Bytes> run_in_child(const std::string& what, const std::function<Expected<Bytes>()>& work, int limit_seconds,
                             uint64_t most_bytes = 1 << 20);

}  // namespace isobit::kernels::vendor
