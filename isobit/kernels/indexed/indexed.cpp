#include "isobit/kernels/indexed/indexed.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <type_traits>

#include "isobit/kernels/reduce/parallel.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/exact_sum.h"

namespace isobit::kernels {
namespace {

using numerics::canonical;

constexpr int64_t kBlock = 256;

// f(row, its place) for begin <= row < end, in ascending order.
template <class F>
void each_place(const RowPlaces& places, int64_t begin, int64_t end, F&& f) {
  int64_t found[kBlock];
  while (begin < end) {
    const int64_t n = std::min(kBlock, end - begin);
    places.find(begin, begin + n, found);
    for (int64_t i = 0; i < n; ++i) f(begin + i, found[i]);
    begin += n;
  }
}

// The bytes of one row: a small number that the compiler knows, or any.
template <size_t kBytes>
struct Row {
  explicit Row(size_t) {}
  static constexpr size_t bytes() { return kBytes; }
};
template <>
struct Row<0> {
  explicit Row(size_t bytes) : bytes_(bytes) {}
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
};

template <class F>
void by_row_size(size_t bytes, F&& f) {
  switch (bytes) {
    case 1:
      return f(Row<1>(bytes));
    case 2:
      return f(Row<2>(bytes));
    case 4:
      return f(Row<4>(bytes));
    case 8:
      return f(Row<8>(bytes));
    default:
      return f(Row<0>(bytes));
  }
}

// + 0 makes of -0 the +0 that an exact zero is.
inline float sum_of_two(float a, float b) { return canonical((a + b) + 0.0f); }

template <class T>
T sum_of(const ScratchVector<T>& terms) {
  const auto n = static_cast<int64_t>(terms.size());
  if constexpr (std::is_same_v<T, float>) {
    if (n == 2) return sum_of_two(terms[0], terms[1]);
    return numerics::sum_rounded(terms.data(), n);
  } else if constexpr (std::is_same_v<T, double>) {
    return numerics::sum_ordered_f64(terms.data(), n);
  } else {
    uint64_t sum = 0;
    for (const T x : terms) sum += static_cast<uint64_t>(x);
    return static_cast<T>(sum);
  }
}

template <class T>
T product_of(const ScratchVector<T>& terms) {
  T product = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      product = canonical(product * terms[i]);
    } else {
      product = static_cast<T>(static_cast<uint64_t>(product) * static_cast<uint64_t>(terms[i]));
    }
  }
  return product;
}

// The greatest, or the least; a NaN is found first.
template <class T>
T extreme_of(const ScratchVector<T>& terms, bool greatest) {
  T extreme = terms[0];
  for (const T x : terms) {
    if constexpr (std::is_floating_point_v<T>) {
      if (x != x || extreme != extreme) {
        extreme = canonical(x + extreme);
        continue;
      }
      const int64_t a = numerics::ordinal(x), b = numerics::ordinal(extreme);
      if (greatest ? a > b : a < b) extreme = x;
    } else {
      if (greatest ? x > extreme : x < extreme) extreme = x;
    }
  }
  return extreme;
}

template <class T>
T combined(Combine how, const ScratchVector<T>& terms) {
  switch (how) {
    case Combine::kAdd:
      return sum_of(terms);
    case Combine::kMul:
      return product_of(terms);
    default:
      return extreme_of(terms, how == Combine::kMax);
  }
}

// One row alone, in one pass.
void add_one_row(int64_t n, const float* row, float* __restrict dst) {
  for (int64_t c = 0; c < n; ++c) dst[c] = sum_of_two(dst[c], row[c]);
}

// `columns` elements of the rows of src for one place, which lie `inner` apart.
template <class T>
void combine_columns(Combine how, std::span<const int64_t> rows, const T* src, int64_t inner, int64_t columns, T* dst,
                     ScratchVector<T>& terms) {
  if constexpr (std::is_same_v<T, float>) {
    if (how == Combine::kAdd && rows.size() == 1) return add_one_row(columns, src + rows[0] * inner, dst);
  }
  terms.resize(rows.size() + 1);
  for (int64_t c = 0; c < columns; ++c) {
    terms[0] = dst[c];
    for (size_t i = 0; i < rows.size(); ++i) terms[i + 1] = src[rows[i] * inner + c];
    dst[c] = combined(how, terms);
  }
}

}  // namespace

void gather_rows(const KernelContext& ctx, size_t element_size, const RowPlaces& places, const void* src, void* dst) {
  if (places.inner() == 0) return;
  by_row_size(static_cast<size_t>(places.inner()) * element_size, [&](auto row) {
    parallel_items(ctx, places.rows(), places.inner(), [&](int64_t begin, int64_t end) {
      each_place(places, begin, end, [&](int64_t r, int64_t place) {
        std::memcpy(static_cast<char*>(dst) + static_cast<size_t>(r) * row.bytes(),
                    static_cast<const char*>(src) + static_cast<size_t>(place) * element_size, row.bytes());
      });
    });
  });
}

// On one thread: rows for the same place keep their order.
void scatter_rows(const KernelContext&, size_t element_size, const RowPlaces& places, const void* src, void* dst) {
  if (places.inner() == 0) return;
  by_row_size(static_cast<size_t>(places.inner()) * element_size, [&](auto row) {
    each_place(places, 0, places.rows(), [&](int64_t r, int64_t place) {
      std::memcpy(static_cast<char*>(dst) + static_cast<size_t>(place) * element_size,
                  static_cast<const char*>(src) + static_cast<size_t>(r) * row.bytes(), row.bytes());
    });
  });
}

template <class T>
void combine_rows(const KernelContext& ctx, Combine how, const RowPlaces& places, const T* src, T* dst) {
  const int64_t rows = places.rows(), inner = places.inner();
  if (rows == 0 || inner == 0) return;
  ScratchVector<int64_t> place(static_cast<size_t>(rows)), order(place.size());
  ctx.pool->parallel_for(rows, 1 << 14,
                         [&](int64_t begin, int64_t end) { places.find(begin, end, place.data() + begin); });
  // Rows for one place next to each other, ascending.
  std::iota(order.begin(), order.end(), int64_t{0});
  const auto at = [&](int64_t i) { return place[static_cast<size_t>(order[static_cast<size_t>(i)])]; };
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const int64_t pa = place[static_cast<size_t>(a)], pb = place[static_cast<size_t>(b)];
    return pa != pb ? pa < pb : a < b;
  });
  // Long rows are cut, too: there may be few.
  constexpr int64_t kColumns = 4096;
  const int64_t blocks = (inner + kColumns - 1) / kColumns;
  parallel_items(ctx, rows * blocks, std::min(inner, kColumns), [&](int64_t begin, int64_t end) {
    ScratchVector<T> terms;
    for (int64_t item = begin; item < end; ++item) {
      // A place belongs to the first row for it.
      const int64_t first = item / blocks, column = item % blocks * kColumns;
      if (first > 0 && at(first) == at(first - 1)) continue;
      int64_t last = first + 1;
      while (last < rows && at(last) == at(first)) ++last;
      const std::span<const int64_t> those(order.data() + first, static_cast<size_t>(last - first));
      combine_columns(how, those, src + column, inner, std::min(kColumns, inner - column), dst + at(first) + column,
                      terms);
    }
  });
}

template <class Index>
void one_hot(const KernelContext& ctx, size_t element_size, const OneHotShape& s, const Index* indices,
             const void* off_on, void* dst) {
  if (s.outer == 0 || s.depth == 0 || s.inner == 0) return;
  fill(ctx, element_size, s.outer * s.depth * s.inner, off_on, dst);
  const auto* on = static_cast<const char*>(off_on) + element_size;
  ctx.pool->parallel_for(s.outer * s.inner, 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const Index index = indices[e];
      if constexpr (std::is_unsigned_v<Index>) {
        if (index >= static_cast<uint64_t>(s.depth)) continue;
      } else {
        if (index < -s.depth || index >= s.depth) continue;
      }
      const int64_t d = static_cast<int64_t>(index), outer = e / s.inner, inner = e % s.inner;
      const int64_t place = (outer * s.depth + (d < 0 ? d + s.depth : d)) * s.inner + inner;
      std::memcpy(static_cast<char*>(dst) + static_cast<size_t>(place) * element_size, on, element_size);
    }
  });
}

#define ISOBIT_INSTANTIATE(T) \
  template void combine_rows<T>(const KernelContext&, Combine, const RowPlaces&, const T*, T*);
ISOBIT_INSTANTIATE(float)
ISOBIT_INSTANTIATE(double)
#undef ISOBIT_INSTANTIATE

#define ISOBIT_INSTANTIATE(T)                                                                   \
  template void combine_rows<T>(const KernelContext&, Combine, const RowPlaces&, const T*, T*); \
  template void one_hot<T>(const KernelContext&, size_t, const OneHotShape&, const T*, const void*, void*);
ISOBIT_INSTANTIATE(int8_t)
ISOBIT_INSTANTIATE(int16_t)
ISOBIT_INSTANTIATE(int32_t)
ISOBIT_INSTANTIATE(int64_t)
ISOBIT_INSTANTIATE(uint8_t)
ISOBIT_INSTANTIATE(uint16_t)
ISOBIT_INSTANTIATE(uint32_t)
ISOBIT_INSTANTIATE(uint64_t)
#undef ISOBIT_INSTANTIATE

}  // namespace isobit::kernels
