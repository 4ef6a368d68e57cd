// Conversion. Compiled once, for the baseline machine: nothing here may depend on what an instruction does with a
// number out of range, so every such number is replaced before it is converted.
#include <cstring>
#include <type_traits>

#include "isobit/base/status.h"
#include "isobit/kernels/elementwise/truncated.h"
#include "isobit/kernels/elementwise/unary.h"
#include "isobit/numerics/bits.h"
#include "isobit/numerics/half.h"

namespace isobit::kernels {
namespace {

constexpr int64_t kCastGrain = 16384;

// A bool in memory: any byte is allowed and only 0 is false. (A C++ bool must not hold another value than 0 and 1.)
enum class Truth : uint8_t {};

template <class T>
using InMemory = std::conditional_t<std::is_same_v<T, bool>, Truth, T>;
template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;

// The integer itself, or one of 53 significant bits that is rounded to fewer as the integer would be: what is cut off
// is remembered in the last place.
template <class From>
double sticky(From x) {
  bool negative = false;
  if constexpr (std::is_signed_v<From>) negative = x < 0;
  const uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x);
  const uint64_t kept = magnitude >> 53 == 0 ? magnitude : (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
  return negative ? -static_cast<double>(kept) : static_cast<double>(kept);
}

template <class To, class From>
To narrowed(From x) {
  if constexpr (std::is_integral_v<From>) {
    return narrowed<To>(sticky(x));
  } else if constexpr (std::is_same_v<To, Float16>) {
    return numerics::rounded_to_float16(x);
  } else {
    return numerics::rounded_to_bfloat16(x);
  }
}

template <class From, class To>
To one(From x) {
  if constexpr (kIsHalf<From>) {
    return one<float, To>(numerics::widened(x));
  } else if constexpr (std::is_same_v<From, Truth>) {
    return one<uint8_t, To>(x == Truth{0} ? 0 : 1);
  } else if constexpr (std::is_same_v<To, Truth>) {
    return x == From(0) ? Truth{0} : Truth{1};
  } else if constexpr (kIsHalf<To>) {
    return narrowed<To>(x);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return truncated<To>(x);
  } else if constexpr (std::is_floating_point_v<From>) {
    return numerics::canonical(static_cast<To>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void cast_range(int64_t n, const From* src, To* dst) {
  for (int64_t i = 0; i < n; ++i) dst[i] = one<From, To>(src[i]);
}

template <class F>
void with_types(DType from, DType to, F f) {
  by_dtype(from, [&]<class From>(From) { by_dtype(to, [&]<class To>(To) { f(InMemory<From>{}, InMemory<To>{}); }); });
}

}  // namespace

void cast(const KernelContext& ctx, DType from, DType to, int64_t n, const void* src, void* dst) {
  with_types(from, to, [&]<class From, class To>(From, To) {
    const auto* in = static_cast<const From*>(src);
    auto* out = static_cast<To*>(dst);
    ctx.pool->parallel_for(n, kCastGrain, [&](int64_t begin, int64_t end) {
      if constexpr (std::is_same_v<From, To>) {
        std::memmove(out + begin, in + begin, static_cast<size_t>(end - begin) * sizeof(To));
      } else {
        cast_range(end - begin, in + begin, out + begin);
      }
    });
  });
}

}  // namespace isobit::kernels
