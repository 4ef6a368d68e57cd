#include "isobit/kernels/reduce/reference.h"

#include <limits>

#include "isobit/kernels/dispatch/by_isa.h"
#include "isobit/kernels/reduce/scalar.h"
#include "isobit/numerics/exact_accumulator.h"

namespace isobit::kernels::reference {
namespace {

// f(terms, result index) for every result of an axis reduction.
template <class T, class F>
void for_each_result(AxisView v, const T* src, F f) {
  std::vector<T> terms(static_cast<size_t>(v.axis));
  for (int64_t o = 0; o < v.outer; ++o) {
    for (int64_t i = 0; i < v.inner; ++i) {
      for (int64_t a = 0; a < v.axis; ++a) terms[a] = src[(o * v.axis + a) * v.inner + i];
      f(terms, o * v.inner + i);
    }
  }
}

// The same for any set of axes: elements are visited in row-major order, so each list of terms is in that order too.
template <class T, class F>
void for_each_result(std::span<const int64_t> dims, uint64_t axes, const T* src, F f) {
  int64_t results = 1, elements = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    elements *= dims[d];
    if (!(axes >> d & 1)) results *= dims[d];
  }
  std::vector<std::vector<T>> terms(static_cast<size_t>(results));
  for (int64_t e = 0; e < elements; ++e) {
    int64_t result = 0, stride = 1, rest = e;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) {
      if (axes >> d & 1) continue;
      result += rest % dims[d] * stride;
      stride *= dims[d];
    }
    terms[result].push_back(src[e]);
  }
  for (int64_t r = 0; r < results; ++r) f(terms[r], r);
}

template <class T>
T mean_of(const std::vector<T>& terms) {
  return canonical(sum_of(terms) / static_cast<T>(static_cast<int64_t>(terms.size())));
}

template <class T>
size_t place_of_max(const std::vector<T>& terms) {
  size_t best = 0;
  for (size_t i = 1; i < terms.size(); ++i) {
    if (greater(terms[i], terms[best])) best = i;
  }
  return best;
}

template <class T>
T max_of(const std::vector<T>& terms) {
  return terms.empty() ? -std::numeric_limits<T>::infinity() : canonical(terms[place_of_max(terms)]);
}

}  // namespace

template <class T>
void reduce_sum(AxisView view, const T* src, T* dst) {
  for_each_result(view, src, [dst](const std::vector<T>& terms, int64_t r) { dst[r] = sum_of(terms); });
}

template <class T>
void reduce_mean(AxisView view, const T* src, T* dst) {
  for_each_result(view, src, [dst](const std::vector<T>& terms, int64_t r) { dst[r] = mean_of(terms); });
}

template <class T>
void reduce_max(AxisView view, const T* src, T* dst) {
  for_each_result(view, src, [dst](const std::vector<T>& terms, int64_t r) { dst[r] = max_of(terms); });
}

template <class T>
void reduce_sum(std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst) {
  for_each_result(dims, axes, src, [dst](const std::vector<T>& terms, int64_t r) { dst[r] = sum_of(terms); });
}

template <class T>
void reduce_mean(std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst) {
  for_each_result(dims, axes, src, [dst](const std::vector<T>& terms, int64_t r) { dst[r] = mean_of(terms); });
}

template <class T>
void reduce_max(std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst) {
  for_each_result(dims, axes, src, [dst](const std::vector<T>& terms, int64_t r) { dst[r] = max_of(terms); });
}

template <class T>
void sum_channels(int64_t n, int64_t c, int64_t s, const T* src, T* dst) {
  const int64_t dims[] = {n, c, s};
  reduce_sum<T>(dims, 0b101, src, dst);
}

template <>
float global_sum_of_squares(std::span<const ConstPart<float>> parts) {
  numerics::ExactAccumulator sum;
  for (const ConstPart<float>& part : parts) {
    for (int64_t i = 0; i < part.n; ++i) sum.add_product(part.data[i], part.data[i]);
  }
  return sum.rounded();
}

template <>
double global_sum_of_squares(std::span<const ConstPart<double>> parts) {
  std::vector<double> squares;
  for (const ConstPart<double>& part : parts) {
    for (int64_t i = 0; i < part.n; ++i) squares.push_back(part.data[i] * part.data[i]);
  }
  return sum_of(squares);
}

template <class T>
void reduce_sum_of_squares(std::span<const int64_t> dims, uint64_t axes, const T* src, T* dst) {
  for_each_result(dims, axes, src, [dst](const std::vector<T>& terms, int64_t r) {
    const ConstPart<T> all{terms.data(), static_cast<int64_t>(terms.size())};
    dst[r] = global_sum_of_squares<T>(std::span(&all, 1));
  });
}

#define ISOBIT_INSTANTIATE(T)                                                     \
  template void reduce_sum<T>(AxisView, const T*, T*);                            \
  template void reduce_mean<T>(AxisView, const T*, T*);                           \
  template void reduce_max<T>(AxisView, const T*, T*);                            \
  template void reduce_sum<T>(std::span<const int64_t>, uint64_t, const T*, T*);  \
  template void reduce_mean<T>(std::span<const int64_t>, uint64_t, const T*, T*); \
  template void reduce_max<T>(std::span<const int64_t>, uint64_t, const T*, T*);  \
  template void sum_channels<T>(int64_t, int64_t, int64_t, const T*, T*);         \
  template void reduce_sum_of_squares<T>(std::span<const int64_t>, uint64_t, const T*, T*);
ISOBIT_FOR_FLOATS(ISOBIT_INSTANTIATE)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels::reference
