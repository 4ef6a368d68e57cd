#include "isobit/tensor/slice_range.h"

#include <algorithm>

#include "isobit/base/status.h"

namespace isobit {

SliceRange resolve_slice(int64_t dim, int64_t start, int64_t end, int64_t step) {
  ISOBIT_CHECK(step != 0 && dim >= 0);
  // Compared before dim is added: INT64_MIN and INT64_MAX are ordinary "from the very end" values in models.
  auto position = [dim](int64_t p) { return p < -dim ? -1 : p < 0 ? p + dim : std::min(p, dim); };
  SliceRange r{0, 0, step};
  if (step > 0) {
    r.start = std::max<int64_t>(position(start), 0);
    const int64_t stop = std::max<int64_t>(position(end), 0);
    if (r.start < stop) r.count = (stop - r.start - 1) / step + 1;
  } else {
    if (dim == 0) return {0, 0, 1};
    r.start = std::clamp<int64_t>(position(start), 0, dim - 1);
    const int64_t stop = std::min(position(end), dim - 1);
    // (r.start - stop - 1) / -step without negating INT64_MIN.
    if (r.start > stop) r.count = -((r.start - stop - 1) / step) + 1;
  }
  if (r.count == 0) r.start = 0;
  // A step beyond the axis is never taken; as 1 it cannot overflow an offset.
  if (r.count <= 1) r.step = 1;
  return r;
}

}  // namespace isobit
