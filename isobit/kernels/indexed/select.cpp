#include "isobit/kernels/indexed/select.h"

#include <algorithm>
#include <numeric>

#include "isobit/base/status.h"
#include "isobit/kernels/movement/strided_copy.h"

namespace isobit::kernels {
namespace {

// The bits of an element that say whether it is zero: all but the sign of a floating-point number.
uint64_t bits_that_count(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return 0x7fffffffu;
    case DType::kFloat64:
      return 0x7fffffffffffffffull;
    case DType::kFloat16:
    case DType::kBfloat16:
      return 0x7fffu;
    default:
      return ~uint64_t{0};
  }
}

// f(i) for each element that is not zero, ascending.
template <class E, class F>
void each_non_zero(DType dtype, int64_t n, const void* src, F&& f) {
  const auto* elements = static_cast<const E*>(src);
  const uint64_t mask = bits_that_count(dtype);
  for (int64_t i = 0; i < n; ++i) {
    if ((elements[i].bits & mask) != 0) f(i);
  }
}

template <class F>
void each_non_zero(DType dtype, int64_t n, const void* src, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return each_non_zero<movement::U8>(dtype, n, src, f);
    case 2:
      return each_non_zero<movement::U16>(dtype, n, src, f);
    case 4:
      return each_non_zero<movement::U32>(dtype, n, src, f);
    default:
      return each_non_zero<movement::U64>(dtype, n, src, f);
  }
}

template <class T>
int compared(T a, T b) {
  if (a != a || b != b) return (a != a ? 1 : 0) - (b != b ? 1 : 0);
  return (a > b ? 1 : 0) - (a < b ? 1 : 0);
}

template <class T>
class Items {
 public:
  Items(int64_t outer, int64_t items, int64_t inner, const T* src)
      : outer_(outer), items_(items), inner_(inner), src_(src) {}
  int compare(int64_t a, int64_t b) const {
    for (int64_t o = 0; o < outer_; ++o) {
      const T *x = src_ + (o * items_ + a) * inner_, *y = src_ + (o * items_ + b) * inner_;
      for (int64_t i = 0; i < inner_; ++i) {
        if (const int c = compared(x[i], y[i]); c != 0) return c;
      }
    }
    return 0;
  }

 private:
  int64_t outer_, items_, inner_;
  const T* src_;
};

template <class T>
DistinctItems distinct_of(int64_t outer, int64_t items, int64_t inner, bool sorted, const T* src) {
  const Items<T> all(outer, items, inner, src);
  const auto place = [](int64_t i) { return static_cast<size_t>(i); };
  ScratchVector<int64_t> order(place(items));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int c = all.compare(a, b);
    return c != 0 ? c < 0 : a < b;
  });
  DistinctItems found;
  found.number.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || all.compare(order[i - 1], order[i]) != 0) {
      found.first.push_back(order[i]);
      found.counts.push_back(0);
    }
    ++found.counts.back();
    found.number[place(order[i])] = static_cast<int64_t>(found.first.size()) - 1;
  }
  if (sorted) return found;
  // rank[n]: the place of the n-th in the order of values among the first occurrences.
  ScratchVector<int64_t> by_first(found.first.size()), rank(by_first.size());
  std::iota(by_first.begin(), by_first.end(), int64_t{0});
  std::sort(by_first.begin(), by_first.end(),
            [&](int64_t a, int64_t b) { return found.first[place(a)] < found.first[place(b)]; });
  DistinctItems unsorted;
  for (const int64_t n : by_first) {
    rank[place(n)] = static_cast<int64_t>(unsorted.first.size());
    unsorted.first.push_back(found.first[place(n)]);
    unsorted.counts.push_back(found.counts[place(n)]);
  }
  for (const int64_t n : found.number) unsorted.number.push_back(rank[place(n)]);
  return unsorted;
}

}  // namespace

int64_t count_non_zero(DType dtype, int64_t n, const void* src) {
  int64_t count = 0;
  each_non_zero(dtype, n, src, [&](int64_t) { ++count; });
  return count;
}

void non_zero(DType dtype, const Shape& shape, int64_t count, const void* src, int64_t* dst) {
  int64_t column = 0;
  each_non_zero(dtype, shape.elements(), src, [&](int64_t i) {
    for (int k = shape.rank(); k-- > 0;) {
      dst[k * count + column] = i % shape[k];
      i /= shape[k];
    }
    ++column;
  });
}

ScratchVector<int64_t> places_of_true(std::span<const uint8_t> condition) {
  ScratchVector<int64_t> places;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) places.push_back(static_cast<int64_t>(i));
  }
  return places;
}

DistinctItems distinct_items(DType dtype, int64_t outer, int64_t items, int64_t inner, bool sorted, const void* src) {
  if (dtype == DType::kBool) {
    const auto* bytes = static_cast<const uint8_t*>(src);
    ScratchVector<uint8_t> truth(static_cast<size_t>(outer * items * inner));
    std::transform(bytes, bytes + truth.size(), truth.begin(), [](uint8_t b) { return b != 0 ? 1 : 0; });
    return distinct_of<uint8_t>(outer, items, inner, sorted, truth.data());
  }
  DistinctItems found;
  const bool numbers = by_type(NumberTypes{}, dtype, [&]<class T>(T) {
    found = distinct_of<T>(outer, items, inner, sorted, static_cast<const T*>(src));
  });
  ISOBIT_CHECK(numbers);
  return found;
}

}  // namespace isobit::kernels
