#include "isobit/kernels/reduce/cumulative_sum.h"

#include <type_traits>

#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::kernels {
namespace {

// The sum of what was added so far.
template <class T>
class Running {
 public:
  void add(T x) { sum_ += static_cast<std::make_unsigned_t<T>>(x); }
  T value() const { return static_cast<T>(sum_); }

 private:
  std::make_unsigned_t<T> sum_ = 0;
};

// Correctly rounded at every place, so nothing is rounded on the way.
template <>
class Running<float> {
 public:
  void add(float x) { sum_.add(x); }
  float value() const { return sum_.rounded(); }

 private:
  numerics::ExactAccumulator sum_;
};

// The written order of numerics::sum_ordered_f64, of every beginning of the line.
template <>
class Running<double> {
 public:
  void add(double x) {
    chunk_ += x;
    if (++filled_ < kChunk) return;
    total_ += chunk_;
    chunk_ = 0;
    filled_ = 0;
  }
  double value() const { return numerics::canonical(filled_ == 0 ? total_ : total_ + chunk_); }

 private:
  static constexpr int kChunk = 256;
  double total_ = 0, chunk_ = 0;
  int filled_ = 0;
};

template <class T>
constexpr int64_t kWork = std::is_same_v<T, float> ? 16 : 1;  // of an element

}  // namespace

template <class T>
void cumulative_sum(const KernelContext& ctx, AxisView v, CumulativeSumForm form, const T* src, T* dst) {
  parallel_items(ctx, v.outer * v.inner, v.axis * kWork<T>, [=](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t first = line / v.inner * v.axis * v.inner + line % v.inner;
      Running<T> sum;
      for (int64_t i = 0; i < v.axis; ++i) {
        const int64_t at = first + (form.reverse ? v.axis - 1 - i : i) * v.inner;
        const T x = src[at];
        if (!form.exclusive) sum.add(x);
        dst[at] = sum.value();
        if (form.exclusive) sum.add(x);
      }
    }
  });
}

#define ISOBIT_INSTANTIATE(T) \
  template void cumulative_sum<T>(const KernelContext&, AxisView, CumulativeSumForm, const T*, T*);
ISOBIT_INSTANTIATE(float)
ISOBIT_INSTANTIATE(double)
ISOBIT_INSTANTIATE(int32_t)
ISOBIT_INSTANTIATE(int64_t)
ISOBIT_INSTANTIATE(uint32_t)
ISOBIT_INSTANTIATE(uint64_t)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
