// The gradient of a batch, a part of it at a time: less memory, and what several machines can share.
//
// Determinism: the order of every addition is fixed by the number of micro-batches alone, not by who computes which.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isobit/train/backward_pass.h"

namespace isobit::train {

// No step has more operators: to plan so many takes seconds.
inline constexpr size_t kMostStepNodes = 1 << 16;

// The pass of one micro-batch, `count` times in one graph, on a batch of `count` times as many samples. Micro-batch m
// has the samples after those of m - 1, in order. Its nodes follow those of m - 1, so that what one micro-batch needs
// is free for the next; their values are called "micro<m>/...". It reads the same parameters and constants, and the
// buffers (batch-norm statistics) as m - 1 left them. Random draws of operators that draw by element (OpDef) are those
// that the whole batch would have.
//
// Loss and gradients are sums by a binary tree over the micro-batches, divided by `count` (one rounding): two
// neighbours are added, then two of these sums, and so on; the last one of an odd number goes on as it is. Of 6:
// ((0 + 1) + (2 + 3)) + (4 + 5). It is the tree of RFC 6962. A sum comes as soon as both its parts are there, so that
// at most log2(count) + 2 gradients of a parameter are held.
//
// REQUIRES count >= 2, a static graph whose inputs are those of the pass, of the model and its state. Errors
// (kUnreadable): more operators than kMostStepNodes.
Expected<BackwardPass> of_micro_batches(BackwardPass pass, int64_t count);

}  // namespace isobit::train
