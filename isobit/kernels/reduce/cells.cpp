#include "isobit/kernels/reduce/cells.h"

#include <algorithm>
#include <utility>

namespace isobit::kernels::reduce {

bool is_empty(std::span<const int64_t> dims) { return std::find(dims.begin(), dims.end(), 0) != dims.end(); }

int64_t result_count(std::span<const int64_t> dims, uint64_t axes) {
  int64_t count = 1;
  for (size_t d = 0; d < dims.size(); ++d) count *= axes >> d & 1 ? 1 : dims[d];
  return count;
}

Cells::Cells(std::span<const int64_t> dims, uint64_t axes) : results_(result_count(dims, axes)) {
  if (is_empty(dims)) return;  // the other axes may be as long as they like: nothing of their length is made
  // Neighbouring axes with the same fate are one run; axes of size 1 are none.
  ScratchVector<Run> runs[2];  // kept, reduced; innermost first
  int64_t step = 1;
  int before = -1;  // the fate of the axis inside this one
  for (size_t d = dims.size(); d-- > 0; step *= dims[d]) {
    if (dims[d] == 1) continue;
    const int reduced = static_cast<int>(axes >> d & 1);
    if (reduced == before) {
      runs[reduced].back().size *= dims[d];
    } else {
      runs[reduced].push_back({dims[d], step});
    }
    before = reduced;
  }
  kept_ = std::move(runs[0]);
  length_ = 1;
  if (!runs[1].empty()) {
    length_ = runs[1].front().size;
    step_ = runs[1].front().step;
    runs[1].erase(runs[1].begin());
  }
  int64_t count = 1;
  for (const Run& run : runs[1]) count *= run.size;
  blocks_.reserve(static_cast<size_t>(count));
  for (int64_t b = 0; b < count; ++b) {
    int64_t rest = b, at = 0;
    for (const Run& run : runs[1]) {
      at += rest % run.size * run.step;
      rest /= run.size;
    }
    blocks_.push_back(at);
  }
}

int64_t Cells::place(int64_t result) const {
  int64_t at = 0;
  for (const Run& run : kept_) {
    at += result % run.size * run.step;
    result /= run.size;
  }
  return at;
}

}  // namespace isobit::kernels::reduce
