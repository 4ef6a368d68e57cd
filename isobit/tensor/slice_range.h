// The positions that a slice takes of one axis.
#pragma once

#include <cstdint>

namespace isobit {

// The positions start, start + step, ... (count of them) of one axis. step is not 0 and may be negative.
struct SliceRange {
  int64_t start = 0;
  int64_t count = 0;
  int64_t step = 1;
};

// What ONNX Slice means by start, end and step on an axis of `dim` elements: negative positions count from the end,
// then both are clamped. REQUIRES step != 0, dim >= 0.
SliceRange resolve_slice(int64_t dim, int64_t start, int64_t end, int64_t step);

}  // namespace isobit
