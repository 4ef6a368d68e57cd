// Compiled once, for the baseline machine: copies and single additions in a written order.
#include "isobit/kernels/columns/columns.h"

#include <cstring>

#include "isobit/base/status.h"
#include "isobit/kernels/movement/strided_copy.h"
#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/bits.h"

namespace isobit::kernels {
namespace {

// Walks the rows of windows of one plane, a row being all windows along the last axis.
class Walk {
 public:
  explicit Walk(std::span<const SlidingAxis> axes) : axes_(axes), tap_(axes.size(), 0), row_(axes.size() - 1, 0) {}

  int64_t places() const {
    return extents_product(axes_.size(), [&](size_t a) { return axes_[a].in; });
  }
  int64_t windows() const {
    return extents_product(axes_.size(), [&](size_t a) { return axes_[a].out; });
  }
  int64_t taps() const {
    return extents_product(axes_.size(), [&](size_t a) { return axes_[a].size; });
  }

  // f(range of the last axis, place of the plane that the first window of the row meets under this tap, matrix element
  // of that window) for every tap and row in ascending order; an empty range where the row lies on padding.
  template <class F>
  void for_each_row(F f) {
    if (windows() == 0) return;
    const SlidingAxis& last = axes_.back();
    int64_t element = 0;
    do {
      const SlidingAxis::Range range = last.windows_of(tap_.back());
      do {
        const int64_t line = line_of_row();
        const int64_t place = line * last.in + last.at(0, tap_.back());
        f(line < 0 ? SlidingAxis::Range{} : range, place, element);
        element += last.out;
      } while (next_index(row_, [&](size_t a) { return axes_[a].out; }));
    } while (next_index(tap_, [&](size_t a) { return axes_[a].size; }));
  }

 private:
  // Which line of the image (all axes but the last) the tap meets from the row, -1 for padding.
  int64_t line_of_row() const {
    int64_t line = 0;
    for (size_t a = 0; a < row_.size(); ++a) {
      const int64_t at = axes_[a].at(row_[a], tap_[a]);
      if (at < 0 || at >= axes_[a].in) return -1;
      line = line * axes_[a].in + at;
    }
    return line;
  }

  std::span<const SlidingAxis> axes_;
  ScratchVector<int64_t> tap_, row_;
};

template <class E>
void lay_out(const KernelContext& ctx, int64_t planes, std::span<const SlidingAxis> axes, const void* src,
             void* matrix) {
  if (planes == 0) return;  // there is no matrix whose size could be counted
  const Walk shape(axes);
  const int64_t places = shape.places(), elements = shape.taps() * shape.windows();
  const int64_t out = axes.back().out, stride = axes.back().stride;
  parallel_items(ctx, planes, elements, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      const E* from = static_cast<const E*>(src) + plane * places;
      E* to = static_cast<E*>(matrix) + plane * elements;
      Walk(axes).for_each_row([=](SlidingAxis::Range inside, int64_t place, int64_t element) {
        E* row = to + element;
        std::memset(row, 0, static_cast<size_t>(inside.begin) * sizeof(E));
        for (int64_t o = inside.begin; o < inside.end; ++o) row[o] = from[place + o * stride];
        std::memset(row + inside.end, 0, static_cast<size_t>(out - inside.end) * sizeof(E));
      });
    }
  });
}

template <class T>
void add_up(const KernelContext& ctx, int64_t planes, std::span<const SlidingAxis> axes, const T* matrix, T* dst) {
  if (planes == 0) return;
  const Walk shape(axes);
  const int64_t places = shape.places(), elements = shape.taps() * shape.windows(), stride = axes.back().stride;
  parallel_items(ctx, planes, elements + places, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      T* to = dst + plane * places;
      for (int64_t i = 0; i < places; ++i) to[i] = 0;
      const T* from = matrix + plane * elements;
      Walk(axes).for_each_row([=](SlidingAxis::Range inside, int64_t place, int64_t element) {
        for (int64_t o = inside.begin; o < inside.end; ++o) to[place + o * stride] += from[element + o];
      });
      for (int64_t i = 0; i < places; ++i) to[i] = numerics::canonical(to[i]);
    }
  });
}

}  // namespace

void im2col(const KernelContext& ctx, size_t element_size, int64_t planes, std::span<const SlidingAxis> axes,
            const void* src, void* matrix) {
  switch (element_size) {
    case 1:
      return lay_out<movement::U8>(ctx, planes, axes, src, matrix);
    case 2:
      return lay_out<movement::U16>(ctx, planes, axes, src, matrix);
    case 4:
      return lay_out<movement::U32>(ctx, planes, axes, src, matrix);
    case 8:
      return lay_out<movement::U64>(ctx, planes, axes, src, matrix);
    default:
      ISOBIT_CHECK(!"element_size is 1, 2, 4 or 8");
  }
}

void col2im(const KernelContext& ctx, int64_t planes, std::span<const SlidingAxis> axes, const float* matrix,
            float* dst) {
  add_up(ctx, planes, axes, matrix, dst);
}
void col2im(const KernelContext& ctx, int64_t planes, std::span<const SlidingAxis> axes, const double* matrix,
            double* dst) {
  add_up(ctx, planes, axes, matrix, dst);
}

}  // namespace isobit::kernels
