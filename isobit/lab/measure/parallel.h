// Pieces of work that each take some cores, several at a time, whose results are taken in their order.
#pragma once

#include <functional>
#include <vector>

#include "isobit/base/status.h"

namespace isobit::lab::measure {

// work(i) runs on a thread of its own as soon as work that was begun before leaves weights[i] of `cores` free (one that
// takes more runs alone); pieces are begun in order. done(i) runs on the calling thread, in order, each when work(i)
// and all before it have ended. An error of done ends it: nothing more is begun, abandon() is called so that what runs
// may end early, and the error is returned when it has. MachineCannot where a thread cannot be started.
Status in_parallel(const std::vector<int>& weights, int cores, const std::function<void(size_t)>& work,
                   const std::function<Status(size_t)>& done, const std::function<void()>& abandon);

}  // namespace isobit::lab::measure
