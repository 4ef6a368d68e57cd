#include "isobit/kernels/sampling/give_back.h"

#include "isobit/base/scratch.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {
namespace {

float sum_of(const ScratchVector<float>& terms) {
  return numerics::sum_rounded(terms.data(), static_cast<int64_t>(terms.size()));
}
double sum_of(const ScratchVector<double>& terms) {
  return numerics::sum_ordered_f64(terms.data(), static_cast<int64_t>(terms.size()));
}

// The parts of each place next to each other, in the order in which they came.
class ByPlace {
 public:
  ByPlace(std::span<const GivenBack> parts, int64_t area)
      : first_(static_cast<size_t>(area) + 1, 0), parts_(parts.size()) {
    for (const GivenBack& part : parts) ++first_[static_cast<size_t>(part.place) + 1];
    for (size_t place = 0; place + 1 < first_.size(); ++place) first_[place + 1] += first_[place];
    ScratchVector<size_t> next = first_;
    for (const GivenBack& part : parts) parts_[next[static_cast<size_t>(part.place)]++] = part;
  }
  std::span<const GivenBack> of(int64_t place) const {
    const size_t begin = first_[static_cast<size_t>(place)], end = first_[static_cast<size_t>(place) + 1];
    return {parts_.data() + begin, end - begin};
  }

 private:
  ScratchVector<size_t> first_;
  ScratchVector<GivenBack> parts_;
};

template <class T>
void give(const KernelContext& ctx, std::span<const GivenBack> parts, int64_t channels, int64_t area, int64_t step,
          const T* diff_dst, T* diff_src) {
  if (channels == 0 || area == 0) return;
  const ByPlace by_place(parts, area);
  const int64_t work = 4 + 4 * static_cast<int64_t>(parts.size()) / area;
  parallel_items(ctx, channels * area, work, [&](int64_t begin, int64_t end) {
    ScratchVector<T> terms;
    for (int64_t i = begin; i < end; ++i) {
      const T* diff = diff_dst + i / area * step;
      terms.clear();
      for (const GivenBack& part : by_place.of(i % area)) {
        terms.push_back(static_cast<T>(part.weight * static_cast<double>(diff[part.from])));
      }
      diff_src[i] = sum_of(terms);
    }
  });
}

}  // namespace

void give_back(const KernelContext& ctx, std::span<const GivenBack> parts, int64_t channels, int64_t area, int64_t step,
               const float* diff_dst, float* diff_src) {
  give(ctx, parts, channels, area, step, diff_dst, diff_src);
}
void give_back(const KernelContext& ctx, std::span<const GivenBack> parts, int64_t channels, int64_t area, int64_t step,
               const double* diff_dst, double* diff_src) {
  give(ctx, parts, channels, area, step, diff_dst, diff_src);
}

}  // namespace isobit::kernels
