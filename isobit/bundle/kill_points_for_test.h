// Ends a process at a chosen one of its calls that change files, so that what a kill leaves behind is a matter of that
// number and never of time. The linker leads the calls of our own code here (CMakeLists.txt, --wrap).
#pragma once

#include <cstdint>
#include <functional>

namespace isobit::bundle::testing {

// How far the chosen call gets. Of a call that writes, half of the bytes are there with kHalfway; others are not begun.
enum class Reach { kNotBegun, kHalfway };

// How the child ended: killed, or with what `work` returned.
enum class Ended { kKilled, kTrue, kFalse };

// Runs `work` in a child process, which is killed at its call number `call`, counted from 0, if it makes so many.
// Aborts if the child ends in any other way.
Ended run_until_call(uint64_t call, Reach reach, const std::function<bool()>& work);

}  // namespace isobit::bundle::testing
