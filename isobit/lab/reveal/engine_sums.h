// Sums as the platforms of this program compute them: our own kernels, and inner products of product libraries.
#pragma once

#include <memory>

#include "isobit/lab/reveal/summation.h"
#include "isobit/platform/platform.h"

namespace isobit::lab::reveal {

// The summation asked for, by the float32 or float64 arithmetic of the engine, which must outlive it. Sums, means and
// softmax are our own kernels' on every platform; matrix products and convolutions are the library's. One at a time.
// Errors: kUsage as check(request), kUnavailable where the platform has no such type.
Expected<std::unique_ptr<Summation>> open_summation(const SumRequest& request, platform::Engine& engine);

}  // namespace isobit::lab::reveal
